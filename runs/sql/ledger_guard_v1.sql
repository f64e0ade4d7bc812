-- The ledger is append-only and gapless; a run always stands on the entry of its version; a body may only be erased.

ALTER TABLE runs_ledgerentry ADD COLUMN prev_seq integer GENERATED ALWAYS AS (NULLIF(seq - 1, 0)) STORED;

ALTER TABLE runs_ledgerentry ADD CONSTRAINT runs_ledger_predecessor
    FOREIGN KEY (run_id, prev_seq) REFERENCES runs_ledgerentry (run_id, seq);

ALTER TABLE runs_run ADD CONSTRAINT runs_run_head_in_ledger
    FOREIGN KEY (id, head_seq, version) REFERENCES runs_ledgerentry (run_id, seq, version)
    DEFERRABLE INITIALLY DEFERRED;

CREATE FUNCTION runs_ledger_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, public AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.body IS NULL
        AND (NEW.run_id, NEW.seq, NEW.version, NEW.kind, NEW.actor, NEW.command_id, NEW.at, NEW.touched,
             NEW.body_sha256, NEW.prev_hash, NEW.hash, NEW.feed_xid)
            IS NOT DISTINCT FROM
            (OLD.run_id, OLD.seq, OLD.version, OLD.kind, OLD.actor, OLD.command_id, OLD.at, OLD.touched,
             OLD.body_sha256, OLD.prev_hash, OLD.hash, OLD.feed_xid) THEN
        RETURN NEW;
    END IF;
    PERFORM public.runs_refuse('runs_ledger_frozen', 'a ledger entry never changes; its body can only be erased');
    RETURN NULL;
END
$$;

CREATE TRIGGER runs_ledger_guard BEFORE UPDATE OR DELETE ON runs_ledgerentry
    FOR EACH ROW EXECUTE FUNCTION runs_ledger_guard();
