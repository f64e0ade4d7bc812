"""What must always hold of effects, attempts and findings, checked against everything that is stored. Reads only."""

from runs.verify.checks import Check, query

#: The status of a run for each state of its effect.
_FOLLOWS = """
(VALUES ('pending', 'approved'), ('dispatching', 'dispatching'), ('succeeded', 'sent'), ('failed', 'failed'),
        ('needs_reconciliation', 'needs_reconciliation'), ('cancelled', 'revoked')) AS follows (state, status)
"""

#: Outcomes of an attempt that leave open whether it did something.
_LEFT_OPEN = "(t.outcome IS NULL OR t.outcome IN ('accepted', 'unknown'))"

EFFECTS: tuple[Check, ...] = (
    query(
        "effect-of-snapshot",
        "An effect equals its snapshot in run, action, hashes, destination and what it compensates.",
        """
        SELECT e.operation_id, e.snapshot_id
        FROM outbox_effect e LEFT JOIN approvals_snapshot s ON s.id = e.snapshot_id
        WHERE (s.run_id, s.action, s.manifest_sha256, s.payload_sha256, s.destination, s.destination_revision,
               s.compensates)
              IS DISTINCT FROM (e.run_id, e.action, e.manifest_sha256, e.payload_sha256, e.destination,
                                e.destination_revision, e.compensates)
        """,
    ),
    query(
        "effect-approved",
        "Nothing was authorized without as many people as needed whose approvals of these bytes counted then.",
        """
        SELECT e.operation_id, count(DISTINCT d.person_id) || ' approvals'
        FROM outbox_effect e
        LEFT JOIN approvals_decision d ON d.id = ANY(e.approvals)
            AND (d.snapshot_id, d.manifest_sha256, d.verdict) = (e.snapshot_id, e.manifest_sha256, 'approve')
            AND d.spent_by = e.operation_id AND d.seq < e.authorized_seq
            AND (d.revoked_seq IS NULL OR d.revoked_seq > e.authorized_seq)
            AND (d.expires_at IS NULL OR d.expires_at > e.authorized_at)
        GROUP BY e.operation_id
        HAVING count(DISTINCT d.person_id) <> cardinality(e.approvals)
            OR count(DISTINCT d.authority_version) <> 1
            OR count(DISTINCT d.person_id) < coalesce((
                SELECT min((p.terms::jsonb ->> 'quorum')::int) FROM runs_policyversion p
                WHERE (p.slug, p.authority_version) = (e.workflow, min(d.authority_version))
            ), 1)
        """,
    ),
    query(
        "approval-spent-once",
        "What spent an approval is an effect that names it.",
        """
        SELECT 'd-' || replace(d.id::text, '-', ''), d.spent_by
        FROM approvals_decision d LEFT JOIN outbox_effect e ON e.operation_id = d.spent_by
        WHERE d.spent_by IS NOT NULL AND (e.operation_id IS NULL OR NOT d.id = ANY(e.approvals))
        """,
    ),
    query(
        "effect-told",
        "An effect is authorized by the entry of the ledger that it names, and no other authorizes.",
        """
        SELECT e.operation_id, 'entry ' || e.authorized_seq
        FROM outbox_effect e LEFT JOIN runs_ledgerentry l ON (l.run_id, l.seq) = (e.run_id, e.authorized_seq)
        WHERE (l.kind, l.version, l.actor) IS DISTINCT FROM ('effect.authorized', e.authorized_version, e.authorized_by)
        UNION ALL
        SELECT r.key, 'entry ' || l.seq || ' authorizes nothing'
        FROM runs_ledgerentry l JOIN runs_run r ON r.id = l.run_id
        WHERE l.kind = 'effect.authorized' AND NOT EXISTS (
            SELECT FROM outbox_effect e WHERE (e.run_id, e.authorized_seq) = (l.run_id, l.seq)
        )
        """,
    ),
    query(
        "run-follows-effect",
        "The status of a run is that of its effect; a compensation moves none.",
        f"""
        SELECT r.key, r.status || ' while ' || coalesce(r.effect || ' is ' || e.state, 'it has no effect')
        FROM runs_run r
        LEFT JOIN outbox_effect e ON e.operation_id = r.effect
        LEFT JOIN {_FOLLOWS} ON follows.state = e.state
        WHERE r.status IN ('approved', 'dispatching', 'sent', 'failed', 'needs_reconciliation', 'revoked')
              AND (r.status IS DISTINCT FROM follows.status OR e.run_id <> r.id OR e.compensates IS NOT NULL)
           OR r.status IN ('received', 'working', 'ready_for_review', 'cancelled', 'expired')
              AND e.state NOT IN ('succeeded', 'failed', 'cancelled')
           OR r.effect IS NULL AND EXISTS (
              SELECT FROM outbox_effect o WHERE o.run_id = r.id AND o.compensates IS NULL)
        """,
    ),
    query(
        "effect-goes-on",
        "What is not at an end has a lease not long over, a next step with its time, or waits for a person.",
        """
        SELECT operation_id, state || ', ' || next_step || coalesce(', leased to ' || lease_owner, '')
        FROM outbox_effect
        WHERE state IN ('pending', 'dispatching') AND NOT quarantined
              AND (lease_owner IS NULL AND (next_at IS NULL OR next_step NOT IN ('send', 'replay', 'look-up'))
                   OR lease_expires_at < clock_timestamp() - interval '10 minutes')
           OR state = 'needs_reconciliation' AND (next_step, next_at) IS DISTINCT FROM ('person', NULL)
              AND NOT quarantined
           OR state IN ('succeeded', 'failed', 'cancelled')
              AND (next_step <> 'none' OR next_at IS NOT NULL OR ended_at IS NULL OR quarantined)
        """,
    ),
)

ATTEMPTS: tuple[Check, ...] = (
    query(
        "attempt-fences",
        "Attempts are numbered without a gap under rising fences, none above its effect's; a lease has its attempt.",
        """
        SELECT t.effect_id, 'attempt ' || t.number
        FROM (
            SELECT *, row_number() OVER w AS place, lag(fence, 1, 0::bigint) OVER w AS before FROM outbox_attempt
            WINDOW w AS (PARTITION BY effect_id ORDER BY number)
        ) t JOIN outbox_effect e ON e.operation_id = t.effect_id
        WHERE t.number <> t.place OR t.fence <= t.before OR t.fence > e.fence
        UNION ALL
        SELECT e.operation_id, 'its lease has no attempt'
        FROM outbox_effect e
        WHERE e.lease_owner IS NOT NULL AND NOT EXISTS (
            SELECT FROM outbox_attempt t
            WHERE (t.effect_id, t.fence, t.worker) = (e.operation_id, e.fence, e.lease_owner) AND t.outcome IS NULL
        )
        """,
    ),
    query(
        "attempt-settled",
        "An attempt without an outcome is under way, or its effect was quarantined with it.",
        """
        SELECT t.effect_id, 'attempt ' || t.number
        FROM outbox_attempt t JOIN outbox_effect e ON e.operation_id = t.effect_id
        WHERE t.outcome IS NULL AND NOT (e.lease_owner IS NOT NULL AND e.fence = t.fence)
          AND NOT EXISTS (SELECT FROM runs_ledgerentry l WHERE l.run_id = e.run_id AND l.kind = 'quarantine.set')
        """,
    ),
    query(
        "attempt-told",
        "Every attempt was claimed by an entry of the ledger.",
        """
        SELECT r.key, count(*) || ' claims are told'
        FROM runs_run r JOIN runs_ledgerentry l ON l.run_id = r.id AND l.kind = 'effect.claimed'
        GROUP BY r.id, r.key HAVING count(*) <> (
            SELECT count(*) FROM outbox_attempt t JOIN outbox_effect e ON e.operation_id = t.effect_id
            WHERE e.run_id = r.id
        )
        UNION ALL
        SELECT t.effect_id, 'attempt ' || t.number || ' is not told'
        FROM outbox_attempt t JOIN outbox_effect e ON e.operation_id = t.effect_id
        WHERE NOT EXISTS (SELECT FROM runs_ledgerentry l WHERE l.run_id = e.run_id AND l.kind = 'effect.claimed')
        """,
    ),
    query(
        "no-attempt-after-revocation",
        "No attempt started after an approval of its effect was revoked.",
        """
        SELECT t.effect_id, 'attempt ' || t.number
        FROM outbox_attempt t JOIN outbox_effect e ON e.operation_id = t.effect_id
        JOIN approvals_decision d ON d.id = ANY(e.approvals)
        WHERE t.started_at > d.revoked_at
        """,
    ),
    query(
        "no-blind-repeat",
        "Where repeats are not recognised, nothing that may have left was sent again without a verdict and an order.",
        f"""
        SELECT t.effect_id, 'attempt ' || n.number || ' follows attempt ' || t.number
        FROM outbox_attempt t
        JOIN outbox_attempt n ON (n.effect_id, n.number) = (t.effect_id, t.number + 1)
        JOIN outbox_effect e ON e.operation_id = t.effect_id
        JOIN approvals_destinationrevision d ON (d.name, d.revision) = (e.destination, e.destination_revision)
        WHERE (NOT d.recognises_repeats OR d.adapter = 'smtp') AND {_LEFT_OPEN} AND NOT EXISTS (
            SELECT FROM outbox_verdict v JOIN outbox_repair o ON o.effect_id = v.effect_id
            WHERE v.effect_id = t.effect_id AND v.verdict = 'did_not_happen' AND o.repair = 'resend'
              AND v.at > t.started_at AND o.at >= v.at AND o.at <= n.started_at
        )
        """,
    ),
)

ENDS: tuple[Check, ...] = (
    query(
        "success-proven",
        "What succeeded was accepted, is known to the provider, or was found by a person to have happened.",
        """
        SELECT e.operation_id, e.because FROM outbox_effect e
        WHERE e.state = 'succeeded'
          AND NOT EXISTS (SELECT FROM outbox_attempt t WHERE t.effect_id = e.operation_id AND t.outcome = 'accepted')
          AND NOT EXISTS (SELECT FROM outbox_lookup k WHERE k.effect_id = e.operation_id AND k.answer = 'found')
          AND NOT EXISTS (SELECT FROM outbox_verdict v WHERE v.effect_id = e.operation_id AND v.verdict = 'happened')
        """,
    ),
    query(
        "nothing-proven",
        "What failed or was cancelled certainly did nothing, or a person found that it did not happen.",
        f"""
        SELECT e.operation_id, e.because FROM outbox_effect e
        WHERE e.state IN ('failed', 'cancelled') AND (e.may_have_left OR EXISTS (
            SELECT FROM outbox_attempt t
            WHERE t.effect_id = e.operation_id AND {_LEFT_OPEN} AND NOT EXISTS (
                SELECT FROM outbox_verdict v
                WHERE v.effect_id = t.effect_id AND v.verdict = 'did_not_happen' AND v.at > t.started_at
            )
        ))
        """,
    ),
    query(
        "remediation-opened",
        "Whatever happened although its approval was revoked has a task for people.",
        """
        SELECT DISTINCT e.operation_id, 'd-' || replace(d.id::text, '-', '')
        FROM outbox_effect e JOIN approvals_decision d ON d.id = ANY(e.approvals)
        WHERE e.state = 'succeeded' AND d.revoked_at IS NOT NULL
          AND NOT EXISTS (SELECT FROM outbox_remediation m WHERE m.effect_id = e.operation_id)
        """,
    ),
    query(
        "second-person",
        "Whoever confirmed a verdict or a repair did not give it.",
        """
        SELECT effect_id, 'verdict ' || id FROM outbox_verdict WHERE confirmed_by = by
        UNION ALL
        SELECT effect_id, 'repair ' || id FROM outbox_repair WHERE confirmed_by = by
        """,
    ),
)

#: Every check of this app, in the order in which it is made.
INVARIANTS: tuple[Check, ...] = (*EFFECTS, *ATTEMPTS, *ENDS)
