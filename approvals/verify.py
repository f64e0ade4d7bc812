"""What must always hold of contents, snapshots and decisions, checked against everything that is stored. Reads only."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from approvals import blobs
from approvals.errors import HashMismatch
from approvals.manifest import facts_sha256
from runs.digest import tagged
from runs.errors import NotFound
from runs.transactions import execute
from runs.verify.checks import Check, Violation, query, stream

JSON = Any

# ---- frozen bytes ----------------------------------------------------------------------------------------

_CONTENTS = "SELECT sha256, body, in_storage FROM approvals_content WHERE erased_at IS NULL ORDER BY sha256"


def _find_altered_contents(tally: Counter[str]) -> Iterator[Violation]:
    for sha256, body, in_storage in stream(_CONTENTS):
        tally["contents"] += 1
        if in_storage:
            try:
                blobs.read(sha256)
            except (HashMismatch, NotFound) as refusal:
                yield Violation("content-hash", sha256, refusal.detail)
        elif body is None or tagged(body) != sha256:
            yield Violation("content-hash", sha256, "The stored bytes have another hash.")


_SNAPSHOTS = """
SELECT s.id, s.manifest, s.manifest_sha256, s.payload, s.payload_sha256, s.facts_sha256, r.key, s.run_version, s.action,
       s.contract, s.destination, s.destination_revision, s.proposed_by, s.compensates
FROM approvals_snapshot s JOIN runs_run r ON r.id = s.run_id ORDER BY s.id
"""
_ARTIFACTS = "SELECT id, content_id FROM approvals_artifact WHERE id = ANY(%s)"


def _find_altered_snapshots(tally: Counter[str]) -> Iterator[Violation]:
    for number, manifest, manifest_sha256, payload, payload_sha256, *columns in stream(_SNAPSHOTS):
        tally["snapshots"] += 1
        if tagged(manifest) != manifest_sha256:
            yield Violation("frozen-bytes", number, "Its manifest has another hash.")
            continue
        if payload is None:
            tally["erased payloads"] += 1
        elif tagged(payload) != payload_sha256:
            yield Violation("frozen-bytes", number, "Its payload has another hash.")
        told = json.loads(manifest)
        if names := _differing(told, number, payload_sha256, columns):
            yield Violation("manifest-members", number, f"Its manifest tells another {', '.join(names)}.")
        yield from _altered_artifacts(number, told)


def _differing(told: Mapping[str, JSON], number: str, payload_sha256: str, columns: list[JSON]) -> list[str]:
    """The members in which a manifest differs from the columns beside it."""
    facts, key, version, action, contract, destination, revision, proposer, of = columns
    pairs = {
        "snapshot": (told["snapshot"], number),
        "run": (told["run"], key),
        "run_version": (told["run_version"], version),
        "action": (told["action"], action),
        "contract": (told["contract"], contract),
        "proposed_by": (told["proposed_by"], proposer),
        "of": (told.get("of"), of),
        "payload": (told["payload"]["sha256"], payload_sha256),
        "destination": ((told["destination"]["name"], told["destination"]["revision"]), (destination, revision)),
        "facts": ((told["facts"]["sha256"], facts_sha256(told["facts"]["values"])), (facts, facts)),
    }
    return [name for name, (first, second) in pairs.items() if first != second]


def _altered_artifacts(number: str, told: Mapping[str, JSON]) -> Iterator[Violation]:
    named = {item["id"]: item["sha256"] for item in told["artifacts"]}
    if not named:
        return
    stored = dict(execute(_ARTIFACTS, [list(named)]).fetchall())
    for artifact, sha256 in named.items():
        if stored.get(artifact) != sha256:
            yield Violation("frozen-bytes", number, f"{artifact} is not what it froze.")


FROZEN: tuple[Check, ...] = (
    Check({"content-hash": "Content that was not erased has the hash it is kept under."}, _find_altered_contents),
    Check(
        {
            "frozen-bytes": "Manifests, unerased payloads and named artifacts have the hashes that were frozen.",
            "manifest-members": "A manifest tells what stands beside it: run, version, action, destination and so on.",
        },
        _find_altered_snapshots,
    ),
)

# ---- records ---------------------------------------------------------------------------------------------

RECORDS: tuple[Check, ...] = (
    query(
        "pointer",
        "A run points at no snapshot, or at one of its own that is not from its future, in a status that is for it.",
        """
        SELECT r.key, coalesce(r.active_snapshot, 'it points at nothing') || ' while it is ' || r.status
        FROM runs_run r LEFT JOIN approvals_snapshot s ON s.id = r.active_snapshot
        WHERE r.active_snapshot IS NOT NULL
              AND (s.run_id IS DISTINCT FROM r.id OR s.run_version > r.version OR s.contract <> r.consent_contract
                   OR s.compensates IS NULL AND r.status <> 'ready_for_review'
                   OR s.contract = 'exact' AND s.run_version <> r.version)
           OR r.active_snapshot IS NULL AND r.status = 'ready_for_review'
        """,
    ),
    query(
        "candidates",
        "The candidates of a run are numbered without a gap, each frozen by the step of its version.",
        """
        SELECT r.key, coalesce(s.id, 'candidate ' || r.candidate_count || ' is missing')
        FROM runs_run r LEFT JOIN (
            SELECT *, row_number() OVER (PARTITION BY run_id ORDER BY candidate) AS number,
                   count(*) OVER (PARTITION BY run_id) AS total FROM approvals_snapshot
        ) s ON s.run_id = r.id
        WHERE s.candidate <> s.number OR coalesce(s.total, 0) <> r.candidate_count OR s.id IS NOT NULL AND NOT EXISTS (
            SELECT FROM runs_ledgerentry e
            WHERE (e.run_id, e.version) = (s.run_id, s.run_version)
              AND e.kind IN ('snapshot.frozen', 'escalation.resolved')
        )
        """,
    ),
    query(
        "decision-of-manifest",
        "A decision names the hash of its snapshot's manifest, and the run of its snapshot.",
        """
        SELECT 'd-' || replace(d.id::text, '-', ''), d.snapshot_id
        FROM approvals_decision d LEFT JOIN approvals_snapshot s ON s.id = d.snapshot_id
        WHERE (s.manifest_sha256, s.run_id) IS DISTINCT FROM (d.manifest_sha256, d.run_id)
        """,
    ),
    query(
        "decision-told",
        "Every decision and every revocation is told by the entry of the ledger that it names, and no other is.",
        """
        SELECT 'd-' || replace(d.id::text, '-', ''), 'entry ' || d.seq || ' of run number ' || d.run_id
        FROM approvals_decision d JOIN runs_person p ON p.id = d.person_id
        LEFT JOIN runs_ledgerentry e ON (e.run_id, e.seq) = (d.run_id, d.seq)
        LEFT JOIN runs_ledgerentry v ON (v.run_id, v.seq) = (d.run_id, d.revoked_seq)
        WHERE (e.kind, e.actor) IS DISTINCT FROM
              (CASE d.verdict WHEN 'approve' THEN 'decision.approved' ELSE 'decision.denied' END, 'user:' || p.username)
           OR d.revoked_seq IS NOT NULL
              AND ((v.kind, v.actor) IS DISTINCT FROM ('approval.revoked', d.revoked_by) OR d.revoked_seq <= d.seq)
        UNION ALL
        SELECT r.key, 'entry ' || e.seq || ' tells a decision that there is not'
        FROM runs_ledgerentry e JOIN runs_run r ON r.id = e.run_id
        WHERE e.kind IN ('decision.approved', 'decision.denied') AND NOT EXISTS (
            SELECT FROM approvals_decision d WHERE (d.run_id, d.seq) = (e.run_id, e.seq)
        )
        """,
    ),
    query(
        "decision-shown",
        "Whoever decided had been shown exactly these bytes before.",
        """
        SELECT 'd-' || replace(d.id::text, '-', ''), d.snapshot_id
        FROM approvals_decision d
        WHERE d.standing_approval_id IS NULL AND NOT EXISTS (
            SELECT FROM approvals_shown w
            WHERE (w.snapshot_id, w.person_id, w.manifest_sha256) = (d.snapshot_id, d.person_id, d.manifest_sha256)
              AND w.first_at <= d.decided_at
        )
        """,
    ),
    query(
        "four-eyes",
        "Under strict separation nobody approved what they took part in.",
        """
        SELECT 'd-' || replace(d.id::text, '-', ''), d.snapshot_id
        FROM approvals_decision d
        JOIN approvals_snapshot s ON s.id = d.snapshot_id
        JOIN runs_run r ON r.id = d.run_id
        WHERE d.verdict = 'approve'
          AND s.parts::jsonb @> jsonb_build_array(jsonb_build_object('person_id', d.person_id))
          AND (SELECT p.terms::jsonb ->> 'separation' FROM runs_policyversion p
               WHERE (p.slug, p.authority_version) = (r.workflow, d.authority_version)
               ORDER BY p.version DESC LIMIT 1) IS DISTINCT FROM 'relaxed'
        """,
    ),
    query(
        "standing-spent",
        "A standing approval was used as often as it gave an approval, never by its own giver twice for one snapshot.",
        """
        SELECT 'sa-' || replace(a.id::text, '-', ''), 'used ' || a.used || ', given ' || count(d.id)
        FROM approvals_standingapproval a LEFT JOIN approvals_decision d ON d.standing_approval_id = a.id
        GROUP BY a.id HAVING a.used <> count(d.id) OR count(DISTINCT d.snapshot_id) <> count(d.id)
            OR bool_or(d.person_id <> a.giver_id)
        """,
    ),
)

#: Every check of this app, in the order in which it is made.
INVARIANTS: tuple[Check, ...] = (*FROZEN, *RECORDS)
