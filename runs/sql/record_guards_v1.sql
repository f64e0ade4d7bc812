-- Records keep what they recorded: revisions never change, answers move along their states, a conflict can only be
-- erased, a settled escalation stays settled.

CREATE FUNCTION runs_frozen() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM public.runs_refuse(TG_ARGV[0], format('rows of %s never change', TG_TABLE_NAME));
    RETURN NULL;
END
$$;

CREATE TRIGGER runs_workflow_revision_frozen BEFORE UPDATE OR DELETE ON runs_workflowrevision
    FOR EACH ROW EXECUTE FUNCTION runs_frozen('runs_workflow_revision_frozen');
CREATE TRIGGER runs_request_frozen BEFORE UPDATE OR DELETE ON runs_request
    FOR EACH ROW EXECUTE FUNCTION runs_frozen('runs_request_frozen');

CREATE FUNCTION runs_workflow_revision_step() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.revision <> 1 + coalesce(
        (SELECT max(r.revision) FROM public.runs_workflowrevision r WHERE r.slug = NEW.slug), 0) THEN
        PERFORM public.runs_refuse('runs_workflow_revision_step', 'revisions of a workflow are numbered without a gap');
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER runs_workflow_revision_step BEFORE INSERT ON runs_workflowrevision
    FOR EACH ROW EXECUTE FUNCTION runs_workflow_revision_step();

-- Whether the answer `after` is the answer `before` without some of its values, and says that it was erased.
CREATE FUNCTION runs_only_erased(before text, after text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN coalesce(after::jsonb -> 'erased' = 'true', false) AND NOT before::jsonb ? 'erased'
        AND after::jsonb - 'erased' <@ before::jsonb;
EXCEPTION WHEN data_exception THEN
    RETURN false;
END
$$;

CREATE FUNCTION runs_conflict_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.base IS NULL AND NEW.proposal IS NULL
        AND (NEW.problem IN (OLD.problem, '') OR public.runs_only_erased(OLD.problem, NEW.problem))
        AND (NEW.id, NEW.run_id, NEW.workflow, NEW.revision, NEW.principal, NEW.command_id, NEW.name, NEW.intent,
             NEW.base_version, NEW.current_version, NEW.disposition, NEW.rule, NEW.fields_touched, NEW.at)
            IS NOT DISTINCT FROM
            (OLD.id, OLD.run_id, OLD.workflow, OLD.revision, OLD.principal, OLD.command_id, OLD.name, OLD.intent,
             OLD.base_version, OLD.current_version, OLD.disposition, OLD.rule, OLD.fields_touched, OLD.at) THEN
        RETURN NEW;
    END IF;
    PERFORM public.runs_refuse('runs_conflict_frozen', 'a conflict never changes; its copies can only be erased');
    RETURN NULL;
END
$$;

CREATE TRIGGER runs_conflict_guard BEFORE UPDATE OR DELETE ON runs_conflict
    FOR EACH ROW EXECUTE FUNCTION runs_conflict_guard();

CREATE FUNCTION runs_command_steps() RETURNS TABLE (start text, stop text)
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    VALUES
        ('retry', 'retry'), ('retry', 'committed'), ('retry', 'merged'), ('retry', 'unchanged'),
        ('retry', 'rejected'), ('retry', 'escalated'), ('retry', 'superseded'),
        ('escalated', 'committed'), ('escalated', 'superseded'), ('escalated', 'rejected'), ('escalated', 'retry')
$$;

-- An answer without an entry touched nothing of the run.
ALTER TABLE runs_command ADD CONSTRAINT runs_command_tells_entry
    CHECK (seq IS NOT NULL OR state IN ('unchanged', 'retry', 'done'));

-- Not to the run's own row: that would lock it with every record.
ALTER TABLE runs_command ADD CONSTRAINT runs_command_in_ledger
    FOREIGN KEY (run_id, seq) REFERENCES runs_ledgerentry (run_id, seq);

CREATE FUNCTION runs_command_begins() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.state = 'superseded' OR NOT EXISTS (SELECT FROM public.runs_run r WHERE r.id = NEW.run_id) THEN
        PERFORM public.runs_refuse('runs_command_begins', 'a record begins with an answer, for a run that exists');
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER runs_command_begins BEFORE INSERT ON runs_command
    FOR EACH ROW WHEN (NEW.seq IS NULL OR NEW.state = 'superseded') EXECUTE FUNCTION runs_command_begins();

CREATE FUNCTION runs_command_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM public.runs_refuse('runs_command_kept', 'the record of a command is never deleted');
    END IF;
    IF (NEW.run_id, NEW.principal, NEW.command_id, NEW.name, NEW.request_sha256)
        IS DISTINCT FROM (OLD.run_id, OLD.principal, OLD.command_id, OLD.name, OLD.request_sha256) THEN
        PERFORM public.runs_refuse('runs_command_identity', 'an id stands for one request for ever');
    END IF;
    IF (NEW.state, NEW.resolution, NEW.seq, NEW.at)
            IS NOT DISTINCT FROM (OLD.state, OLD.resolution, OLD.seq, OLD.at)
        AND public.runs_only_erased(OLD.answer, NEW.answer) AND public.runs_is_at_rest(OLD.run_id) THEN
        RETURN NEW;
    END IF;
    IF NOT EXISTS (SELECT FROM public.runs_command_steps() s WHERE s.start = OLD.state AND s.stop = NEW.state) THEN
        PERFORM public.runs_refuse('runs_command_state_legal', format('%s may not become %s', OLD.state, NEW.state));
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER runs_command_guard BEFORE UPDATE OR DELETE ON runs_command
    FOR EACH ROW EXECUTE FUNCTION runs_command_guard();

CREATE FUNCTION runs_escalation_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF (NEW.state, NEW.version) <> ('open', 1) THEN
            PERFORM public.runs_refuse('runs_escalation_begins', 'an escalation begins open, at version 1');
        END IF;
        RETURN NEW;
    END IF;
    IF TG_OP = 'DELETE' OR OLD.state = 'settled' THEN
        PERFORM public.runs_refuse('runs_escalation_settled', 'a settled escalation never changes and none is deleted');
    END IF;
    IF (NEW.id, NEW.run_id, NEW.workflow, NEW.principal, NEW.intent, NEW.opened_at)
        IS DISTINCT FROM (OLD.id, OLD.run_id, OLD.workflow, OLD.principal, OLD.intent, OLD.opened_at) THEN
        PERFORM public.runs_refuse('runs_escalation_identity', 'an escalation keeps its run, principal and intent');
    END IF;
    IF NEW.version <> OLD.version + (NEW.conflict_id <> OLD.conflict_id)::int
        OR NEW.conflict_id = OLD.conflict_id AND NEW.command_id <> OLD.command_id THEN
        PERFORM public.runs_refuse(
            'runs_escalation_version_step', 'a newer proposal is a version further, nothing else is');
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER runs_escalation_guard BEFORE INSERT OR UPDATE OR DELETE ON runs_escalation
    FOR EACH ROW EXECUTE FUNCTION runs_escalation_guard();
