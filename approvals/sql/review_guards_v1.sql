-- What was frozen, decided or submitted never changes; a revocation and a spending are each written once.

CREATE TRIGGER approvals_artifact_frozen BEFORE UPDATE OR DELETE ON approvals_artifact
    FOR EACH ROW EXECUTE FUNCTION runs_frozen('approvals_artifact_frozen');
CREATE TRIGGER approvals_destination_frozen BEFORE UPDATE OR DELETE ON approvals_destinationrevision
    FOR EACH ROW EXECUTE FUNCTION runs_frozen('approvals_destination_frozen');

ALTER TABLE approvals_decision ADD CONSTRAINT approvals_decision_of_manifest
    FOREIGN KEY (snapshot_id, manifest_sha256) REFERENCES approvals_snapshot (id, manifest_sha256);
ALTER TABLE approvals_decision ADD CONSTRAINT approvals_decision_in_ledger
    FOREIGN KEY (run_id, seq) REFERENCES runs_ledgerentry (run_id, seq);

CREATE FUNCTION approvals_content_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.body IS NOT NULL AND NEW.sha256 <> 'sha256:' || encode(sha256(NEW.body), 'hex') THEN
            PERFORM public.runs_refuse('approvals_content_hash', 'content is stored under its own hash');
        END IF;
        RETURN NEW;
    END IF;
    IF TG_OP = 'UPDATE' AND (NEW.sha256, NEW.size, NEW.stored_at) IS NOT DISTINCT FROM (OLD.sha256, OLD.size, OLD.stored_at)
        AND (
            -- What lies in file storage is removed there after this was committed, and then said so.
            NEW.erased_at IS NOT NULL AND NEW.body IS NULL AND (OLD.in_storage OR NOT NEW.in_storage)
            -- Somebody submitted the same bytes again.
            OR OLD.erased_at IS NOT NULL AND NEW.erased_at IS NULL AND (NEW.body IS NULL) = NEW.in_storage
                AND (NEW.in_storage OR NEW.sha256 = 'sha256:' || encode(sha256(NEW.body), 'hex'))
        ) THEN
        RETURN NEW;
    END IF;
    PERFORM public.runs_refuse(
        'approvals_content_frozen', 'content never changes; it can only be erased, and submitted again');
    RETURN NULL;
END
$$;

CREATE TRIGGER approvals_content_guard BEFORE INSERT OR UPDATE OR DELETE ON approvals_content
    FOR EACH ROW EXECUTE FUNCTION approvals_content_guard();

CREATE FUNCTION approvals_snapshot_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.manifest_sha256 <> 'sha256:' || encode(sha256(NEW.manifest), 'hex')
            OR NEW.payload_sha256 IS DISTINCT FROM 'sha256:' || encode(sha256(NEW.payload), 'hex') THEN
            PERFORM public.runs_refuse('approvals_snapshot_hash', 'manifest and payload are stored with their own hashes');
        END IF;
        RETURN NEW;
    END IF;
    IF TG_OP = 'UPDATE' AND NEW.payload IS NULL
        AND to_jsonb(NEW) - 'payload' = to_jsonb(OLD) - 'payload' THEN
        IF NOT public.runs_is_at_rest(OLD.run_id) THEN
            PERFORM public.runs_refuse(
                'approvals_payload_in_use', 'no payload is erased of a run that is at work, under review or going out');
        END IF;
        RETURN NEW;
    END IF;
    PERFORM public.runs_refuse('approvals_snapshot_frozen', 'a snapshot never changes; its payload can only be erased');
    RETURN NULL;
END
$$;

CREATE TRIGGER approvals_snapshot_guard BEFORE INSERT OR UPDATE OR DELETE ON approvals_snapshot
    FOR EACH ROW EXECUTE FUNCTION approvals_snapshot_guard();

CREATE FUNCTION approvals_decision_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    later text[] := ARRAY['revoked_at', 'revoked_by', 'revoked_seq', 'spent_by'];
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF num_nonnulls(NEW.revoked_at, NEW.spent_by) > 0
            OR NOT EXISTS (SELECT FROM public.approvals_snapshot s WHERE s.id = NEW.snapshot_id AND s.run_id = NEW.run_id)
        THEN
            PERFORM public.runs_refuse(
                'approvals_decision_begins', 'a decision begins neither revoked nor spent, on the run of its snapshot');
        END IF;
        RETURN NEW;
    END IF;
    IF TG_OP = 'DELETE' OR to_jsonb(NEW) - later <> to_jsonb(OLD) - later
        OR (OLD.revoked_at IS NOT NULL AND (NEW.revoked_at, NEW.revoked_by, NEW.revoked_seq)
            IS DISTINCT FROM (OLD.revoked_at, OLD.revoked_by, OLD.revoked_seq))
        OR (OLD.spent_by IS NOT NULL AND NEW.spent_by IS DISTINCT FROM OLD.spent_by) THEN
        PERFORM public.runs_refuse('approvals_decision_frozen', 'a decision never changes; it is revoked once and spent once');
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER approvals_decision_guard BEFORE INSERT OR UPDATE OR DELETE ON approvals_decision
    FOR EACH ROW EXECUTE FUNCTION approvals_decision_guard();

CREATE FUNCTION approvals_standing_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    moving text[] := ARRAY['used', 'spent', 'revoked_at', 'revoked_by'];
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.used <> 0 OR NEW.spent <> 0 OR NEW.revoked_at IS NOT NULL THEN
            PERFORM public.runs_refuse('approvals_standing_begins', 'a standing approval begins unused');
        END IF;
        RETURN NEW;
    END IF;
    IF TG_OP = 'DELETE' OR to_jsonb(NEW) - moving <> to_jsonb(OLD) - moving
        OR NEW.used < OLD.used OR NEW.spent < OLD.spent
        OR (OLD.revoked_at IS NOT NULL AND (NEW.used <> OLD.used OR NEW.revoked_at IS DISTINCT FROM OLD.revoked_at)) THEN
        PERFORM public.runs_refuse('approvals_standing_only_spent', 'a standing approval is spent or revoked, and nothing else');
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER approvals_standing_guard BEFORE INSERT OR UPDATE OR DELETE ON approvals_standingapproval
    FOR EACH ROW EXECUTE FUNCTION approvals_standing_guard();
