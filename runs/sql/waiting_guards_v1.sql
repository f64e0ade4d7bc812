-- A step that waits for a second person says for ever what was asked for, and is settled once; nobody is told twice.

CREATE FUNCTION runs_waiting_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.state <> 'open' THEN
            PERFORM public.runs_refuse('runs_waiting_begins', 'what waits for a second person begins open');
        END IF;
        RETURN NEW;
    END IF;
    IF TG_OP = 'DELETE' OR OLD.state <> 'open' OR NEW.state = 'open' THEN
        PERFORM public.runs_refuse('runs_waiting_settled', 'a waiting step is settled once and never deleted');
    END IF;
    IF (NEW.id, NEW.kind, NEW.subject, NEW.arguments, NEW.based_on, NEW.because, NEW.reason, NEW.proposed_by_id,
        NEW.proposed_at)
        IS DISTINCT FROM (OLD.id, OLD.kind, OLD.subject, OLD.arguments, OLD.based_on, OLD.because, OLD.reason,
                          OLD.proposed_by_id, OLD.proposed_at) THEN
        PERFORM public.runs_refuse('runs_waiting_identity', 'what was asked for never changes');
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER runs_waiting_guard BEFORE INSERT OR UPDATE OR DELETE ON runs_waitingstep
    FOR EACH ROW EXECUTE FUNCTION runs_waiting_guard();

CREATE FUNCTION runs_notification_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' OR OLD.sent_at IS NOT NULL
        OR (NEW.escalation_id, NEW.channel, NEW.person_id)
            IS DISTINCT FROM (OLD.escalation_id, OLD.channel, OLD.person_id) THEN
        PERFORM public.runs_refuse('runs_notification_sent', 'what was sent was sent, to whom it was meant for');
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER runs_notification_guard BEFORE UPDATE OR DELETE ON runs_notification
    FOR EACH ROW EXECUTE FUNCTION runs_notification_guard();
