-- Records keep what they recorded: revisions, policies, requests and conflicts never change, answers move along their states, epochs only rise.

CREATE FUNCTION runs_frozen() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public AS $$
BEGIN
    PERFORM public.runs_refuse(TG_ARGV[0], format('rows of %s never change', TG_TABLE_NAME));
    RETURN NULL;
END
$$;

CREATE TRIGGER runs_workflow_revision_frozen BEFORE UPDATE OR DELETE ON runs_workflowrevision
    FOR EACH ROW EXECUTE FUNCTION runs_frozen('runs_workflow_revision_frozen');
CREATE TRIGGER runs_policy_version_frozen BEFORE UPDATE OR DELETE ON runs_policyversion
    FOR EACH ROW EXECUTE FUNCTION runs_frozen('runs_policy_version_frozen');
CREATE TRIGGER runs_authority_change_frozen BEFORE UPDATE OR DELETE ON runs_authoritychange
    FOR EACH ROW EXECUTE FUNCTION runs_frozen('runs_authority_change_frozen');
CREATE TRIGGER runs_request_frozen BEFORE UPDATE OR DELETE ON runs_request
    FOR EACH ROW EXECUTE FUNCTION runs_frozen('runs_request_frozen');

CREATE FUNCTION runs_conflict_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.base IS NULL AND NEW.proposal IS NULL
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
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog AS $$
    VALUES
        ('retry', 'retry'), ('retry', 'committed'), ('retry', 'merged'), ('retry', 'unchanged'),
        ('retry', 'rejected'), ('retry', 'escalated'), ('retry', 'superseded'),
        ('escalated', 'committed'), ('escalated', 'superseded'), ('escalated', 'rejected'), ('escalated', 'retry')
$$;

CREATE FUNCTION runs_command_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM public.runs_refuse('runs_command_kept', 'the record of a command is never deleted');
    END IF;
    IF (NEW.run_id, NEW.principal, NEW.command_id, NEW.name, NEW.request_sha256)
        IS DISTINCT FROM (OLD.run_id, OLD.principal, OLD.command_id, OLD.name, OLD.request_sha256) THEN
        PERFORM public.runs_refuse('runs_command_identity', 'an id stands for one request for ever');
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
LANGUAGE plpgsql SET search_path = pg_catalog, public AS $$
BEGIN
    IF TG_OP = 'DELETE' OR OLD.state = 'settled' THEN
        PERFORM public.runs_refuse('runs_escalation_settled', 'a settled escalation never changes and none is deleted');
    END IF;
    IF NEW.version < OLD.version OR (NEW.id, NEW.run_id, NEW.principal, NEW.intent, NEW.opened_at)
        IS DISTINCT FROM (OLD.id, OLD.run_id, OLD.principal, OLD.intent, OLD.opened_at) THEN
        PERFORM public.runs_refuse('runs_escalation_identity', 'an escalation keeps its run, principal and intent');
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER runs_escalation_guard BEFORE UPDATE OR DELETE ON runs_escalation
    FOR EACH ROW EXECUTE FUNCTION runs_escalation_guard();

CREATE FUNCTION runs_installation_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public AS $$
BEGIN
    IF TG_OP = 'DELETE' OR NEW.authority_epoch < OLD.authority_epoch OR NEW.ledger_epoch < OLD.ledger_epoch THEN
        PERFORM public.runs_refuse('runs_epoch_rises', 'epochs only rise');
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER runs_installation_guard BEFORE UPDATE OR DELETE ON runs_installation
    FOR EACH ROW EXECUTE FUNCTION runs_installation_guard();
