-- Nobody's authority changes without a new epoch, in the same transaction; epochs only rise; policies and the record
-- of changes are never rewritten.

CREATE TRIGGER runs_policy_version_frozen BEFORE UPDATE OR DELETE ON runs_policyversion
    FOR EACH ROW EXECUTE FUNCTION runs_frozen('runs_policy_version_frozen');
CREATE TRIGGER runs_authority_change_frozen BEFORE UPDATE OR DELETE ON runs_authoritychange
    FOR EACH ROW EXECUTE FUNCTION runs_frozen('runs_authority_change_frozen');

CREATE FUNCTION runs_policy_version_step() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    newest record;
BEGIN
    SELECT coalesce(max(p.version), 0) AS version, coalesce(max(p.authority_version), 0) AS authority_version
        INTO newest FROM public.runs_policyversion p WHERE p.slug = NEW.slug;
    IF NEW.version <> newest.version + 1
        OR NEW.authority_version NOT IN (newest.authority_version, newest.authority_version + 1) THEN
        PERFORM public.runs_refuse(
            'runs_policy_version_step', 'a policy moves by single versions, and so does its part about consent');
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER runs_policy_version_step BEFORE INSERT ON runs_policyversion
    FOR EACH ROW EXECUTE FUNCTION runs_policy_version_step();

-- The transaction that gave the epoch: a mark for the rule below, of no use to anybody else.
ALTER TABLE runs_installation ADD COLUMN epoch_xid xid8;

CREATE FUNCTION runs_installation_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' OR NEW.authority_epoch < OLD.authority_epoch OR NEW.ledger_epoch < OLD.ledger_epoch THEN
        PERFORM public.runs_refuse('runs_epoch_rises', 'epochs only rise');
    END IF;
    IF NEW.authority_epoch > OLD.authority_epoch THEN
        NEW.epoch_xid := pg_current_xact_id();
    ELSE
        NEW.epoch_xid := OLD.epoch_xid;
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER runs_installation_guard BEFORE UPDATE OR DELETE ON runs_installation
    FOR EACH ROW EXECUTE FUNCTION runs_installation_guard();

CREATE FUNCTION runs_authority_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM public.runs_installation i WHERE i.epoch_xid = pg_current_xact_id()) THEN
        PERFORM public.runs_refuse(
            'runs_authority_needs_epoch', 'a change of authority raises the epoch in its own transaction');
    END IF;
    RETURN NULL;
END
$$;

-- Deferred, because the row may be written before the epoch.
CREATE CONSTRAINT TRIGGER runs_person_authority
    AFTER INSERT OR DELETE OR UPDATE OF username, roles, workflow_groups, is_active ON runs_person
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION runs_authority_guard();
CREATE CONSTRAINT TRIGGER runs_agent_authority
    AFTER INSERT OR DELETE OR UPDATE OF name, owner_id, token_sha256, scopes, workflows, grants, expires_at, is_active
    ON runs_agent
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION runs_authority_guard();
CREATE CONSTRAINT TRIGGER runs_policy_authority AFTER INSERT ON runs_policyversion
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION runs_authority_guard();
CREATE CONSTRAINT TRIGGER runs_halt_authority AFTER UPDATE OF is_halted ON runs_installation
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION runs_authority_guard();
