-- An effect and an attempt keep what may not move: a copy of the old row, with all that may move taken from the new one,
-- has to be the new one. A column that is added later is kept unless it is named here.

CREATE OR REPLACE FUNCTION outbox_effect_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    kept public.outbox_effect;
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM public.runs_refuse('outbox_effect_kept', 'an effect is never deleted');
    END IF;
    IF TG_OP = 'INSERT' THEN
        IF NEW.state <> 'pending' OR NEW.fence <> 0 OR NEW.may_have_left THEN
            PERFORM public.runs_refuse('outbox_effect_begins', 'an effect begins pending, unclaimed');
        END IF;
        IF NOT EXISTS (
            SELECT FROM public.approvals_snapshot s
            WHERE s.id = NEW.snapshot_id
              AND (s.run_id, s.action, s.compensates, s.manifest_sha256, s.payload_sha256, s.destination,
                   s.destination_revision)
                  IS NOT DISTINCT FROM (NEW.run_id, NEW.action, NEW.compensates, NEW.manifest_sha256, NEW.payload_sha256,
                                        NEW.destination, NEW.destination_revision)
        ) THEN
            PERFORM public.runs_refuse('outbox_effect_of_snapshot', 'an effect is exactly what its snapshot froze');
        END IF;
        RETURN NEW;
    END IF;
    kept := OLD;
    kept.state := NEW.state;
    kept.version := NEW.version;
    kept.fence := NEW.fence;
    kept.may_have_left := NEW.may_have_left;
    kept.attempts_used := NEW.attempts_used;
    kept.key_clock_started_at := NEW.key_clock_started_at;
    kept.lease_owner := NEW.lease_owner;
    kept.lease_expires_at := NEW.lease_expires_at;
    kept.next_step := NEW.next_step;
    kept.next_at := NEW.next_at;
    kept.because := NEW.because;
    kept.quarantined := NEW.quarantined;
    kept.ended_at := NEW.ended_at;
    IF kept IS DISTINCT FROM NEW THEN
        PERFORM public.runs_refuse('outbox_effect_frozen', 'what was authorized never changes');
    END IF;
    IF NEW.fence < OLD.fence THEN
        PERFORM public.runs_refuse('outbox_fence_rises', 'a fence never falls');
    END IF;
    IF NEW.version <= OLD.version THEN
        PERFORM public.runs_refuse('outbox_effect_version', 'every change of an effect raises its version');
    END IF;
    IF NEW.state <> OLD.state
        AND NOT EXISTS (SELECT FROM public.outbox_effect_steps() s WHERE s.start = OLD.state AND s.stop = NEW.state) THEN
        PERFORM public.runs_refuse('outbox_effect_state_legal', format('%s may not become %s', OLD.state, NEW.state));
    END IF;
    RETURN NEW;
END
$$;

CREATE OR REPLACE FUNCTION outbox_attempt_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    kept public.outbox_attempt;
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF num_nonnulls(NEW.outcome, NEW.finished_at, NEW.late) > 0
            OR NOT EXISTS (
                SELECT FROM public.outbox_effect e
                WHERE e.operation_id = NEW.effect_id AND e.fence = NEW.fence AND e.lease_owner = NEW.worker
            ) THEN
            PERFORM public.runs_refuse('outbox_attempt_of_lease', 'an attempt begins with the lease that is for it');
        END IF;
        RETURN NEW;
    END IF;
    IF TG_OP = 'DELETE' THEN
        PERFORM public.runs_refuse('outbox_attempt_frozen', 'an attempt is never deleted');
    END IF;
    kept := OLD;
    kept.late := NEW.late;
    kept.response := NEW.response;
    IF OLD.outcome IS NULL THEN
        kept.send_started_at := NEW.send_started_at;
        kept.finished_at := NEW.finished_at;
        kept.outcome := NEW.outcome;
        kept.provider_request_id := NEW.provider_request_id;
        kept.http_status := NEW.http_status;
        kept.detail := NEW.detail;
    END IF;
    IF kept IS DISTINCT FROM NEW
        OR (OLD.outcome IS NOT NULL AND NEW.response IS NOT NULL AND NEW.response IS DISTINCT FROM OLD.response)
        OR (OLD.send_started_at IS NOT NULL AND NEW.send_started_at IS DISTINCT FROM OLD.send_started_at)
        OR (OLD.late IS NOT NULL AND NEW.late IS DISTINCT FROM OLD.late) THEN
        PERFORM public.runs_refuse('outbox_attempt_frozen', 'an attempt is started once, settled once, and late at most once');
    END IF;
    RETURN NEW;
END
$$;
