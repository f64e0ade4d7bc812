CREATE OR REPLACE FUNCTION runs_notification_guard() RETURNS trigger
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
