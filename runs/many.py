"""Many runs in one statement: for workers, whose batches would otherwise spend their time on round trips.

Needs an open transaction that holds the lock of every run, and never opens one. As in `store`, a step names the
version and the ledger head it was computed from.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from runs import store
from runs.chain import link
from runs.errors import Unavailable
from runs.transactions import execute, fetch_row
from runs.values import NewEntry, RunReading

_READ = f"SELECT {store.RUN_COLUMNS} FROM runs_run r WHERE r.id = ANY(%s)"
_LOCK_FREE = """
SELECT id FROM runs_run WHERE id = ANY(%s) ORDER BY key FOR NO KEY UPDATE SKIP LOCKED
"""
_FOLLOW = """
WITH step AS (
    UPDATE runs_run r SET
        version = g.version, status = g.status, head_seq = g.head_seq, head_hash = g.head_hash,
        updated_at = g.updated_at, feed_xid = greatest(r.feed_xid, pg_current_xact_id())
    FROM unnest(%(ids)s::bigint[], %(read_versions)s::int[], %(read_heads)s::int[], %(versions)s::int[],
                %(statuses)s::text[], %(head_seqs)s::int[], %(head_hashes)s::text[], %(updates)s::timestamptz[])
         AS g (id, read_version, read_head, version, status, head_seq, head_hash, updated_at)
    WHERE r.id = g.id AND r.version = g.read_version AND r.head_seq = g.read_head
    RETURNING r.id, r.feed_xid
), entries AS (
    INSERT INTO runs_ledgerentry (run_id, feed_xid, at, seq, version, kind, actor, command_id, touched,
                                  body, body_sha256, prev_hash, hash)
    SELECT step.id, step.feed_xid, %(at)s, e.seq, e.version, e.kind, e.actor, e.command_id,
           string_to_array(e.touched, ','), e.body, e.body_sha256, e.prev_hash, e.hash
    FROM step
    JOIN unnest(%(of)s::bigint[], %(seqs)s::int[], %(entry_versions)s::int[], %(kinds)s::text[], %(actors)s::text[],
                %(command_ids)s::text[], %(toucheds)s::text[], %(bodies)s::bytea[], %(body_hashes)s::text[],
                %(prev_hashes)s::text[], %(hashes)s::text[])
         AS e (run_id, seq, version, kind, actor, command_id, touched, body, body_sha256, prev_hash, hash)
         ON e.run_id = step.id
)
SELECT count(*) FROM step
"""


@dataclass(frozen=True, slots=True)
class Following:
    """One run that follows its effect: the run as read and as it will be, and the entries that tell of it."""

    before: RunReading
    after: RunReading
    entries: Sequence[NewEntry]


def hold_free_runs(ids: Sequence[int]) -> set[int]:
    """Lock those of these runs that nobody else holds; waits for none. Read in a later statement."""
    return {number for (number,) in execute(_LOCK_FREE, [list(ids)]).fetchall()}


def read_runs(ids: Sequence[int]) -> dict[int, RunReading]:
    """Read these runs by their numbers."""
    return {row[0]: store.reading_of(row) for row in execute(_READ, [list(ids)]).fetchall()}


def database_clock() -> datetime:
    """The time of the database, now."""
    (now,) = fetch_row("SELECT clock_timestamp()")
    at: datetime = now
    return at


def require_following(steps: Sequence[Following], now: datetime) -> None:
    """Take all steps: status, version and ledger of every run, and nothing else of it.

    Whoever holds the locks meets nothing in between: `Unavailable` where one was refused, and nothing may be kept.
    """
    linked = [
        (step, entry)
        for step in steps
        for entry in link(
            step.before.key,
            step.before.head_seq,
            step.before.head_hash,
            [(entry, secrets.token_hex(16)) for entry in step.entries],
            now,
        )
    ]
    heads = {step.before.id: entry for step, entry in linked}  # the last entry of each
    params = {
        "at": now,
        "ids": [s.before.id for s in steps], "read_versions": [s.before.version for s in steps],
        "read_heads": [s.before.head_seq for s in steps], "versions": [s.after.version for s in steps],
        "statuses": [s.after.state.status.value for s in steps], "updates": [s.after.updated_at for s in steps],
        "head_seqs": [heads[s.before.id].seq for s in steps], "head_hashes": [heads[s.before.id].hash for s in steps],
        "of": [s.before.id for s, _ in linked], "seqs": [e.seq for _, e in linked],
        "entry_versions": [e.version for _, e in linked], "kinds": [e.kind for _, e in linked],
        "actors": [e.actor for _, e in linked], "command_ids": [e.command_id for _, e in linked],
        "toucheds": [",".join(e.touched) for _, e in linked], "bodies": [e.body for _, e in linked],
        "body_hashes": [e.body_sha256 for _, e in linked], "prev_hashes": [e.prev_hash for _, e in linked],
        "hashes": [e.hash for _, e in linked],
    }  # fmt: skip
    (written,) = fetch_row(_FOLLOW, params)
    if written != len(steps):
        raise Unavailable
