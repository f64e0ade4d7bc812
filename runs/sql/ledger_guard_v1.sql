-- The ledger is append-only, gapless and chained; a run always stands on its last entry; a body may only be erased.

ALTER TABLE runs_run ADD CONSTRAINT runs_run_head_in_ledger
    FOREIGN KEY (id, head_seq, version) REFERENCES runs_ledgerentry (run_id, seq, version)
    DEFERRABLE INITIALLY DEFERRED;

-- One look-up instead of a foreign key to the predecessor: it also sees the versions, the hashes and the head.
CREATE FUNCTION runs_ledger_chain() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    run record;
BEGIN
    SELECT r.head_seq, r.version, r.head_hash, r.feed_xid, p.seq AS last_seq,
           coalesce(p.version, 0) AS last_version, coalesce(p.hash, repeat('0', 64)) AS last_hash
        INTO run
        FROM public.runs_run r
        LEFT JOIN public.runs_ledgerentry p ON p.run_id = r.id AND p.seq = NEW.seq - 1
        WHERE r.id = NEW.run_id;
    IF NOT FOUND OR NEW.seq > run.head_seq THEN
        PERFORM public.runs_refuse(
            'runs_ledger_ahead', 'an entry is written with the step of its run, never ahead of it');
    END IF;
    IF NEW.seq > 1 AND run.last_seq IS NULL THEN
        PERFORM public.runs_refuse('runs_ledger_predecessor', 'an entry follows the one before it');
    END IF;
    IF NEW.version NOT IN (run.last_version, run.last_version + 1) THEN
        PERFORM public.runs_refuse('runs_ledger_version', 'from one entry to the next a version stays or rises by one');
    END IF;
    IF NEW.prev_hash <> run.last_hash OR NEW.seq = run.head_seq AND NEW.hash <> run.head_hash THEN
        PERFORM public.runs_refuse('runs_ledger_linked', 'an entry names the hash before it, and the run the last one');
    END IF;
    IF NEW.feed_xid <> run.feed_xid THEN
        PERFORM public.runs_refuse('runs_feed_order', 'an entry has the place in the feed that its run has');
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER runs_ledger_chain AFTER INSERT ON runs_ledgerentry
    FOR EACH ROW EXECUTE FUNCTION runs_ledger_chain();

-- Whether a run has come to rest: only then anything of it may be erased.
CREATE FUNCTION runs_is_at_rest(run bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM public.runs_run r
        WHERE r.id = run AND r.active_snapshot IS NULL
          AND r.status IN ('sent', 'failed', 'revoked', 'cancelled', 'expired')
    )
$$;

CREATE FUNCTION runs_ledger_guard() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' OR NEW.body IS NOT NULL
        OR (NEW.run_id, NEW.seq, NEW.version, NEW.kind, NEW.actor, NEW.command_id, NEW.at, NEW.touched,
            NEW.body_sha256, NEW.prev_hash, NEW.hash, NEW.feed_xid)
            IS DISTINCT FROM
            (OLD.run_id, OLD.seq, OLD.version, OLD.kind, OLD.actor, OLD.command_id, OLD.at, OLD.touched,
             OLD.body_sha256, OLD.prev_hash, OLD.hash, OLD.feed_xid) THEN
        PERFORM public.runs_refuse('runs_ledger_frozen', 'a ledger entry never changes; its body can only be erased');
    END IF;
    IF NOT public.runs_is_at_rest(OLD.run_id) THEN
        PERFORM public.runs_refuse(
            'runs_ledger_in_use', 'nothing is erased of a run that is at work, under review or going out');
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER runs_ledger_guard BEFORE UPDATE OR DELETE ON runs_ledgerentry
    FOR EACH ROW EXECUTE FUNCTION runs_ledger_guard();
