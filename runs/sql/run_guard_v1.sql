-- A run moves by single version steps along legal statuses, each with its ledger entry, and keeps its identity.

CREATE FUNCTION runs_status_steps() RETURNS TABLE (start text, stop text)
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    VALUES
        ('received', 'working'), ('received', 'ready_for_review'), ('received', 'cancelled'), ('received', 'expired'),
        ('working', 'ready_for_review'), ('working', 'cancelled'), ('working', 'expired'),
        ('ready_for_review', 'working'), ('ready_for_review', 'approved'),
        ('ready_for_review', 'cancelled'), ('ready_for_review', 'expired'),
        ('approved', 'dispatching'), ('approved', 'revoked'), ('approved', 'needs_reconciliation'),
        ('dispatching', 'sent'), ('dispatching', 'failed'),
        ('dispatching', 'needs_reconciliation'), ('dispatching', 'revoked'),
        ('needs_reconciliation', 'sent'), ('needs_reconciliation', 'failed'),
        ('needs_reconciliation', 'dispatching'), ('needs_reconciliation', 'revoked'),
        ('sent', 'working'), ('failed', 'working'), ('revoked', 'working')
$$;

CREATE FUNCTION runs_refuse(rule text, words text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION '%', words USING ERRCODE = '23514', CONSTRAINT = rule;
END
$$;

CREATE FUNCTION runs_run_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM public.runs_refuse('runs_run_kept', 'a run is never deleted');
    END IF;
    IF TG_OP = 'INSERT' THEN
        IF (NEW.version, NEW.input_version, NEW.head_seq, NEW.candidate_count, NEW.status) <> (1, 1, 1, 0, 'received')
            OR num_nonnulls(NEW.active_snapshot, NEW.held, NEW.effect) > 0 THEN
            PERFORM public.runs_refuse(
                'runs_run_begins', 'a run begins as received, at version 1 and entry 1, with nothing open');
        END IF;
        IF NEW.feed_xid <> pg_current_xact_id() THEN
            PERFORM public.runs_refuse('runs_feed_order', 'a run is in the feed at the transaction that wrote it');
        END IF;
        RETURN NEW;
    END IF;
    IF (NEW.id, NEW.key, NEW.workflow, NEW.created_at)
        IS DISTINCT FROM (OLD.id, OLD.key, OLD.workflow, OLD.created_at) THEN
        PERFORM public.runs_refuse('runs_run_identity', 'id, key, workflow and creation of a run never change');
    END IF;
    IF NEW.version NOT IN (OLD.version, OLD.version + 1) THEN
        PERFORM public.runs_refuse('runs_version_step', 'a version rises by exactly one');
    END IF;
    IF NEW.version = OLD.version
        AND (NEW.status, NEW.revision, NEW.input_version, NEW.active_snapshot)
            IS DISTINCT FROM (OLD.status, OLD.revision, OLD.input_version, OLD.active_snapshot)
        OR NEW.version = OLD.version AND NEW.fields IS DISTINCT FROM OLD.fields THEN
        PERFORM public.runs_refuse(
            'runs_change_needs_step', 'status, fields, revision and snapshot change with a version step');
    END IF;
    IF NEW.input_version NOT IN (OLD.input_version, NEW.version) THEN
        PERFORM public.runs_refuse('runs_input_version_step', 'the input version is the old one or the new version');
    END IF;
    IF NEW.feed_xid <> greatest(OLD.feed_xid, pg_current_xact_id()) THEN
        PERFORM public.runs_refuse(
            'runs_feed_order', 'a run moves in the feed to the transaction that wrote it, never back');
    END IF;
    IF NEW.head_seq <= OLD.head_seq THEN
        PERFORM public.runs_refuse('runs_step_needs_entry', 'every change of a run appends to its ledger');
    END IF;
    IF NEW.status <> OLD.status
        AND NOT EXISTS (
            SELECT FROM public.runs_status_steps() s WHERE s.start = OLD.status AND s.stop = NEW.status
        ) THEN
        PERFORM public.runs_refuse('runs_status_legal', format('%s may not become %s', OLD.status, NEW.status));
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER runs_run_guard BEFORE INSERT OR UPDATE OR DELETE ON runs_run
    FOR EACH ROW EXECUTE FUNCTION runs_run_guard();

ALTER TABLE runs_run SET (fillfactor = 70);
