-- An effect keeps what was approved, leaves no end, and moves only along its state table; its fence never falls.

CREATE FUNCTION outbox_effect_steps() RETURNS TABLE (start text, stop text)
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
    VALUES
        ('pending', 'dispatching'), ('pending', 'cancelled'), ('pending', 'needs_reconciliation'),
        ('dispatching', 'succeeded'), ('dispatching', 'failed'), ('dispatching', 'cancelled'),
        ('dispatching', 'needs_reconciliation'),
        ('needs_reconciliation', 'succeeded'), ('needs_reconciliation', 'failed'),
        ('needs_reconciliation', 'dispatching'), ('needs_reconciliation', 'cancelled')
$$;

CREATE FUNCTION outbox_effect_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public AS $$
DECLARE
    moving text[] := ARRAY['state', 'version', 'fence', 'may_have_left', 'ended_at'];
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM public.runs_refuse('outbox_effect_kept', 'an effect is never deleted');
    END IF;
    IF TG_OP = 'INSERT' THEN
        IF NEW.state <> 'pending' OR NEW.fence <> 0 OR NEW.may_have_left THEN
            PERFORM public.runs_refuse('outbox_effect_begins', 'an effect begins pending, unclaimed');
        END IF;
        RETURN NEW;
    END IF;
    IF to_jsonb(NEW) - moving <> to_jsonb(OLD) - moving THEN
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

CREATE TRIGGER outbox_effect_guard BEFORE INSERT OR UPDATE OR DELETE ON outbox_effect
    FOR EACH ROW EXECUTE FUNCTION outbox_effect_guard();
