"""The records beside the ledgers, each rule as a query that gives the offending rows: where, and what is wrong."""

from runs.verify.checks import Check, query

RECORDS: tuple[Check, ...] = (
    query(
        "command-told",
        "A record that names an entry names one that its own command made, or that came with it.",
        """
        SELECT coalesce(r.key, c.run_id::text), c.command_id || ' of ' || c.principal || ' names entry ' || c.seq
        FROM runs_command c
        LEFT JOIN runs_run r ON r.id = c.run_id
        LEFT JOIN runs_ledgerentry named ON (named.run_id, named.seq) = (c.run_id, c.seq)
        WHERE c.seq IS NOT NULL
          AND (named.actor, named.command_id) IS DISTINCT FROM (c.principal, c.command_id)
          AND (named.seq IS NULL OR NOT EXISTS (
              SELECT FROM runs_ledgerentry e
              WHERE (e.run_id, e.actor, e.command_id) = (c.run_id, c.principal, c.command_id) AND e.seq < c.seq
          ))
        """,
    ),
    query(
        "entry-recorded",
        "What a command, a creation or a resolution wrote to a ledger is recorded under its id.",
        """
        SELECT coalesce(r.key, e.run_id::text), 'entry ' || e.seq || ': ' || e.command_id || ' of ' || e.actor
        FROM runs_ledgerentry e LEFT JOIN runs_run r ON r.id = e.run_id
        WHERE e.kind ~ '^(command|run|escalation)\\.' AND NOT EXISTS (
            SELECT FROM runs_command c
            WHERE (c.run_id, c.principal, c.command_id) = (e.run_id, e.actor, e.command_id) AND c.seq >= e.seq
        )
        """,
    ),
    query(
        "id-commits-once",
        "An id takes effect once at most.",
        """
        SELECT r.key, e.command_id || ' of ' || e.actor || ' at versions ' || string_agg(e.version::text, ', ')
        FROM runs_ledgerentry e JOIN runs_run r ON r.id = e.run_id
        WHERE e.kind ~ '^(command\\.(committed|merged)|run\\..*)$'
        GROUP BY r.key, e.actor, e.command_id HAVING count(*) > 1
        """,
    ),
    query(
        "answer-told",
        "What is recorded as rejected or escalated and was not resolved is told so by the ledger.",
        """
        SELECT r.key, c.command_id || ' of ' || c.principal || ' is recorded as ' || c.state
        FROM runs_command c JOIN runs_run r ON r.id = c.run_id
        WHERE c.state IN ('rejected', 'escalated') AND c.resolution IS NULL AND NOT EXISTS (
            SELECT FROM runs_ledgerentry e
            WHERE (e.run_id, e.seq, e.kind) = (c.run_id, c.seq, 'command.' || c.state)
        )
        """,
    ),
    query(
        "conflict-told",
        "A conflict that ended its command is told by an entry of the ledger.",
        """
        SELECT r.key, c.command_id || ' of ' || c.principal || ': ' || c.disposition
        FROM runs_conflict c JOIN runs_run r ON r.id = c.run_id
        WHERE c.disposition <> 'retry' AND NOT EXISTS (
            SELECT FROM runs_ledgerentry e
            WHERE (e.run_id, e.actor, e.command_id) = (c.run_id, c.principal, c.command_id)
        )
        """,
    ),
    query(
        "case-held",
        "The cases that a run holds fields for are its open escalations, of the same principal and intent.",
        """
        SELECT coalesce(case_of.key, held.key), coalesce(case_of.ref, held.ref) || ' of '
               || coalesce(case_of.principal, held.principal)
        FROM (
            SELECT r.key, 'es-' || replace(e.id::text, '-', '') AS ref, e.principal, e.intent
            FROM runs_escalation e JOIN runs_run r ON r.id = e.run_id WHERE e.state = 'open'
        ) case_of FULL JOIN (
            SELECT r.key, item ->> 0 AS ref, item ->> 1 AS principal, item ->> 2 AS intent
            FROM runs_run r, jsonb_array_elements(r.held::jsonb) item WHERE r.held IS NOT NULL
        ) held USING (key, ref, principal, intent)
        WHERE case_of IS NULL OR held IS NULL
        """,
    ),
    query(
        "case-waited-for",
        "An escalated command waits for an open case that proposes it, and an open case proposes an escalated command.",
        """
        SELECT r.key, coalesce(c.command_id || ' of ' || c.principal, e.command_id || ' of ' || e.principal)
        FROM (SELECT * FROM runs_command WHERE state = 'escalated') c
        FULL JOIN (SELECT * FROM runs_escalation WHERE state = 'open') e
            ON (e.run_id, e.principal, e.command_id) = (c.run_id, c.principal, c.command_id)
        JOIN runs_run r ON r.id = coalesce(c.run_id, e.run_id)
        WHERE c.run_id IS NULL OR e.run_id IS NULL
        """,
    ),
    query(
        "erasure-told",
        "Whatever was erased of a ledger is followed by an entry that says so.",
        """
        SELECT r.key, 'entry ' || max(e.seq) || ' was erased'
        FROM runs_ledgerentry e JOIN runs_run r ON r.id = e.run_id
        WHERE e.body IS NULL
        GROUP BY r.id, r.key HAVING NOT EXISTS (
            SELECT FROM runs_ledgerentry told
            WHERE told.run_id = r.id AND told.kind = 'content.erased' AND told.seq > max(e.seq)
        )
        """,
    ),
    query(
        "feed-order",
        "The feed shows the entries of a run in the order of its ledger, the last one where the run is.",
        """
        SELECT r.key, 'entry ' || seq
        FROM (
            SELECT run_id, seq, feed_xid,
                   lead(feed_xid) OVER (PARTITION BY run_id ORDER BY seq) AS next_xid
            FROM runs_ledgerentry
        ) e JOIN runs_run r ON r.id = e.run_id
        WHERE e.feed_xid > coalesce(e.next_xid, r.feed_xid) OR e.next_xid IS NULL AND e.feed_xid <> r.feed_xid
        """,
    ),
    query(
        "revision-stored",
        "Revisions of a workflow are numbered without a gap, hold the text that was hashed, and every run has its own.",
        """
        SELECT slug, 'revision ' || revision FROM (
            SELECT slug, revision, sha256, text, row_number() OVER (PARTITION BY slug ORDER BY revision) AS number
            FROM runs_workflowrevision
        ) w WHERE revision <> number OR sha256 <> encode(sha256(convert_to(text, 'UTF8')), 'hex')
        UNION ALL
        SELECT r.key, 'there is no revision ' || r.revision || ' of ' || r.workflow
        FROM runs_run r LEFT JOIN runs_workflowrevision w ON (w.slug, w.revision) = (r.workflow, r.revision)
        WHERE w.slug IS NULL
        """,
    ),
    query(
        "policy-versions",
        "A policy moves by single versions and its part about consent never back; every workflow has one.",
        """
        SELECT slug, 'version ' || version FROM (
            SELECT slug, version, authority_version, row_number() OVER w AS number,
                   lag(authority_version, 1, 0) OVER w AS before
            FROM runs_policyversion WINDOW w AS (PARTITION BY slug ORDER BY version)
        ) p WHERE version <> number OR authority_version NOT IN (before, before + 1)
        UNION ALL
        SELECT DISTINCT w.slug, 'it has no policy'
        FROM runs_workflowrevision w LEFT JOIN runs_policyversion p USING (slug) WHERE p.slug IS NULL
        """,
    ),
    query(
        "authority-epochs",
        "Every authority epoch since the first is the record of one change, and the last one is in force.",
        """
        SELECT 'epoch ' || epoch, CASE count(c.id) WHEN 0 THEN 'nobody is recorded for it' ELSE 'it is given twice' END
        FROM runs_installation i, generate_series(2, i.authority_epoch) AS epoch
        LEFT JOIN runs_authoritychange c USING (epoch)
        GROUP BY epoch HAVING count(c.id) <> 1
        UNION ALL
        SELECT 'epoch ' || c.epoch, 'it is not in force yet'
        FROM runs_authoritychange c, runs_installation i WHERE c.epoch > i.authority_epoch
        """,
    ),
)
