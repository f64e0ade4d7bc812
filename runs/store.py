"""Reading a run and the one conditional step that changes it.

Needs an open transaction and never opens one. A step names the version **and** the ledger head it was
computed from; it writes the run, its ledger entries and the record of the command in one statement. Zero
rows mean that something came between, and nothing was written.
"""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runs.chain import ORIGIN, link
from runs.digest import canonical
from runs.errors import Unavailable
from runs.states import RunStatus
from runs.transactions import execute, fetch_row
from runs.values import Between, Episode, Held, NewEntry, RunReading, RunState, UnderReview

JSON = Any

#: What `reading_of` reads, in its order, of a run that the statement calls `r`.
RUN_COLUMNS = """
    r.id, r.key, r.workflow, r.revision, r.version, r.head_seq, r.head_hash, r.input_version, r.status, r.fields,
    r.active_snapshot, r.created_at, r.updated_at, r.cycle_started_at, r.consent_contract, r.consent_facts, r.held,
    r.candidate_count, r.effect
"""

_READ = f"""
SELECT i.authority_epoch, i.ledger_epoch, i.is_halted, clock_timestamp(),
       c.name, c.request_sha256, c.state, c.answer, c.resolution, c.at, e.counted, e.first_at, {RUN_COLUMNS}
FROM runs_installation i
LEFT JOIN runs_run r ON r.key = %s
LEFT JOIN runs_command c ON c.run_id = r.id AND c.principal = %s AND c.command_id = %s
LEFT JOIN runs_episode e ON e.run_id = r.id AND e.principal = %s AND e.intent = %s AND e.counted > 0
                        AND e.last_at > clock_timestamp() - interval '24 hours'
"""

_STEP = """
WITH step AS (
    UPDATE runs_run SET
        revision = %(revision)s, version = %(version)s, input_version = %(input_version)s, status = %(status)s,
        head_seq = %(head_seq)s, head_hash = %(head_hash)s, feed_xid = greatest(feed_xid, pg_current_xact_id()),
        fields = %(fields)s, active_snapshot = %(active_snapshot)s, consent_contract = %(contract)s,
        consent_facts = %(facts)s, held = %(held)s, candidate_count = %(candidate_count)s, effect = %(effect)s,
        updated_at = %(updated_at)s, cycle_started_at = %(cycle_started_at)s
    WHERE id = %(id)s AND version = %(read_version)s AND head_seq = %(read_head)s
    RETURNING id, feed_xid
), entries AS (
    INSERT INTO runs_ledgerentry (run_id, feed_xid, at, seq, version, kind, actor, command_id, touched,
                                  body, body_sha256, prev_hash, hash)
    SELECT step.id, step.feed_xid, %(at)s, e.seq, e.version, e.kind, e.actor, e.command_id,
           string_to_array(e.touched, ','), e.body, e.body_sha256, e.prev_hash, e.hash
    FROM step, unnest(%(seqs)s::int[], %(versions)s::int[], %(kinds)s::text[], %(actors)s::text[],
                      %(command_ids)s::text[], %(toucheds)s::text[], %(bodies)s::bytea[], %(body_hashes)s::text[],
                      %(prev_hashes)s::text[], %(hashes)s::text[])
         AS e (seq, version, kind, actor, command_id, touched, body, body_sha256, prev_hash, hash)
), record AS (
    INSERT INTO runs_command (run_id, principal, command_id, name, request_sha256, state, answer, seq, at)
    SELECT step.id, %(principal)s, %(recorded_id)s::text, %(name)s, %(request_sha256)s, %(state)s, %(answer)s,
           %(head_seq)s, %(at)s
    FROM step WHERE %(recorded_id)s::text IS NOT NULL
    ON CONFLICT (run_id, principal, command_id) DO UPDATE
        SET state = excluded.state, answer = excluded.answer, resolution = NULL, seq = excluded.seq, at = excluded.at
)
SELECT count(*) FROM step
"""

_CREATE = """
WITH run AS (
    INSERT INTO runs_run (key, workflow, revision, status, version, input_version, head_seq, head_hash, feed_xid,
                          fields, candidate_count, created_at, updated_at, cycle_started_at)
    VALUES (%(key)s, %(workflow)s, %(revision)s, 'received', 1, 1, 1, %(hash)s, pg_current_xact_id(), %(fields)s,
            0, %(at)s, %(at)s, %(at)s)
    ON CONFLICT (key) DO NOTHING
    RETURNING id, feed_xid
), entry AS (
    INSERT INTO runs_ledgerentry (run_id, feed_xid, at, seq, version, kind, actor, command_id, touched,
                                  body, body_sha256, prev_hash, hash)
    SELECT id, feed_xid, %(at)s, 1, 1, %(kind)s, %(actor)s, %(command_id)s, '{}',
           %(body)s, %(body_sha256)s, %(prev_hash)s, %(hash)s
    FROM run
), record AS (
    INSERT INTO runs_command (run_id, principal, command_id, name, request_sha256, state, answer, seq, at)
    SELECT id, %(actor)s, %(command_id)s::text, 'create', %(request_sha256)s, 'done', '{}', 1, %(at)s FROM run
)
SELECT id FROM run
"""

_RECORD = """
INSERT INTO runs_command (run_id, principal, command_id, name, request_sha256, state, answer, seq, at)
VALUES (%(run)s, %(principal)s, %(recorded_id)s, %(name)s, %(request_sha256)s, %(state)s, %(answer)s, NULL, %(at)s)
ON CONFLICT (run_id, principal, command_id) DO UPDATE
    SET state = excluded.state, answer = excluded.answer, resolution = NULL, at = excluded.at
"""

_BETWEEN = """
SELECT seq, version, actor, command_id, body, kind, at
FROM runs_ledgerentry WHERE run_id = %s AND version > %s AND version <= %s AND cardinality(touched) > 0
ORDER BY seq
"""

_COUNT_CONFLICT = """
INSERT INTO runs_episode AS e (run_id, principal, intent, counted, first_at, last_at)
VALUES (%(run)s, %(principal)s, %(intent)s, 1, %(now)s, %(now)s)
ON CONFLICT (run_id, principal, intent) DO UPDATE SET
    counted = CASE WHEN e.counted = 0 OR e.last_at <= excluded.last_at - interval '24 hours' THEN 1
                   ELSE e.counted + 1 END,
    first_at = CASE WHEN e.counted = 0 OR e.last_at <= excluded.last_at - interval '24 hours' THEN excluded.first_at
                    ELSE e.first_at END,
    last_at = excluded.last_at
RETURNING counted, first_at
"""
_UNCOUNT_CONFLICT = "UPDATE runs_episode SET counted = counted - 1 WHERE run_id = %s AND principal = %s AND intent = %s"
_RESOLVE = """
UPDATE runs_command SET state = %s, resolution = %s
WHERE run_id = %s AND principal = %s AND command_id = %s AND state = 'escalated'
"""
_REFUSAL_AT = """
SELECT problem FROM runs_conflict
WHERE run_id = %s AND principal = %s AND command_id = %s AND base_version = %s AND disposition = 'retry'
"""
_FIRST_BODY = "SELECT body FROM runs_ledgerentry WHERE run_id = %s AND seq = 1"
_END_EPISODE = (
    "UPDATE runs_episode SET counted = 0 WHERE run_id = %s AND principal = %s AND intent = %s AND counted > 0"
)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What an id of a principal already stands for on a run."""

    name: str
    request_sha256: str
    state: str
    answer: str
    resolution: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Found:
    """What one statement saw: the installation, the database's clock, the run, and the record of the id."""

    authority_epoch: int
    ledger_epoch: int
    is_halted: bool
    now: datetime
    run: RunReading | None
    recorded: Recorded | None
    episode: Episode


@dataclass(frozen=True, slots=True)
class Record:
    """What is recorded for an id: the request it stands for, its state and the answer."""

    principal: str
    id: str
    name: str
    request_sha256: str
    state: str
    answer: dict[str, JSON]


def read(key: str, principal: str = "", command_id: str = "", intent: str = "") -> Found:
    """Read the installation, run `key`, what `command_id` stands for and the conflicts of `intent` in one statement."""
    row = fetch_row(_READ, [key, principal, command_id, principal, intent])
    authority_epoch, ledger_epoch, is_halted, now = row[:4]
    return Found(
        authority_epoch=authority_epoch,
        ledger_epoch=ledger_epoch,
        is_halted=is_halted,
        now=now,
        run=reading_of(row[12:]) if row[12] is not None else None,
        recorded=Recorded(*row[4:10]) if row[4] is not None else None,
        episode=Episode(*row[10:12]) if row[10] is not None else Episode(),
    )


def read_by_id(run_id: int) -> RunReading:
    """Read one run by its number."""
    return reading_of(fetch_row(f"SELECT {RUN_COLUMNS} FROM runs_run r WHERE r.id = %s", [run_id]))


def reading_of(row: Sequence[Any]) -> RunReading:
    """The run in a row of `RUN_COLUMNS`."""
    number, key, workflow, revision, version, head_seq, head_hash, input_version = row[:8]
    status, fields, snapshot, created_at, updated_at, cycle_started_at, contract, facts, held, count, effect = row[8:]
    return RunReading(
        id=number,
        key=key,
        workflow=workflow,
        revision=revision,
        version=version,
        head_seq=head_seq,
        head_hash=head_hash,
        input_version=input_version,
        state=RunState(RunStatus(status), json.loads(fields), snapshot),
        created_at=created_at,
        updated_at=updated_at,
        cycle_started_at=cycle_started_at,
        under_review=UnderReview(contract, frozenset(facts)) if contract else None,
        held=_held_from(held),
        candidate_count=count,
        effect=effect,
    )


def _held_from(text: str | None) -> tuple[Held, ...]:
    if text is None:
        return ()
    items = json.loads(text)
    return tuple(
        Held(e, p, i, {name: None if of is None else tuple(of) for name, of in elements.items()})
        for e, p, i, elements in items
    )


def _held_text(held: Sequence[Held]) -> str | None:
    rows = [[item.escalation, item.principal, item.intent, dict(item.elements)] for item in held]
    return canonical(rows).decode() if rows else None


def step(
    before: RunReading, after: RunReading, entries: Sequence[NewEntry], record: Record | None, now: datetime
) -> bool:
    """Turn `before` into `after`, append `entries` and record the command, if nothing came between.

    Returns False, with nothing written, when version or ledger head are no longer those of `before`.
    """
    salted = [(entry, secrets.token_hex(16)) for entry in entries]
    linked = list(link(before.key, before.head_seq, before.head_hash, salted, now))
    review = after.under_review
    params = {
        "id": before.id, "read_version": before.version, "read_head": before.head_seq,
        "revision": after.revision, "version": after.version, "input_version": after.input_version,
        "status": after.state.status.value, "head_seq": linked[-1].seq, "head_hash": linked[-1].hash,
        "fields": canonical(after.state.fields).decode(), "active_snapshot": after.state.active_snapshot,
        "contract": review.contract if review else None, "facts": sorted(review.facts) if review else None,
        "held": _held_text(after.held), "candidate_count": after.candidate_count, "effect": after.effect,
        "updated_at": after.updated_at, "cycle_started_at": after.cycle_started_at, "at": now,
        "seqs": [e.seq for e in linked], "versions": [e.version for e in linked], "kinds": [e.kind for e in linked],
        "actors": [e.actor for e in linked], "command_ids": [e.command_id for e in linked],
        "toucheds": [",".join(e.touched) for e in linked], "bodies": [e.body for e in linked],
        "body_hashes": [e.body_sha256 for e in linked], "prev_hashes": [e.prev_hash for e in linked],
        "hashes": [e.hash for e in linked], **_recorded(record),
    }  # fmt: skip
    (written,) = fetch_row(_STEP, params)
    return bool(written)


def require_step(
    before: RunReading, after: RunReading, entries: Sequence[NewEntry], record: Record | None, now: datetime
) -> None:
    """`step` for whoever holds the run's lock: nothing can come between, so a refused step is `Unavailable`."""
    if not step(before, after, entries, record, now):
        raise Unavailable


def _recorded(record: Record | None) -> dict[str, Any]:
    if record is None:
        return dict.fromkeys(("principal", "recorded_id", "name", "request_sha256", "state", "answer"))
    return {
        "principal": record.principal,
        "recorded_id": record.id,
        "name": record.name,
        "request_sha256": record.request_sha256,
        "state": record.state,
        "answer": json.dumps(record.answer, ensure_ascii=False, separators=(",", ":")),
    }


def insert_run(
    key: str, workflow: str, revision: int, fields: dict[str, JSON], entry: NewEntry, request_sha256: str, now: datetime
) -> bool:
    """Insert a run at version 1 with its first entry and the record of its id. False when the key is taken."""
    (first,) = link(key, 0, ORIGIN, [(entry, secrets.token_hex(16))], now)
    params = {
        "key": key, "workflow": workflow, "revision": revision, "fields": canonical(fields).decode(), "at": now,
        "kind": first.kind, "actor": first.actor, "command_id": first.command_id, "body": first.body,
        "body_sha256": first.body_sha256, "prev_hash": first.prev_hash, "hash": first.hash,
        "request_sha256": request_sha256,
    }  # fmt: skip
    return execute(_CREATE, params).fetchone() is not None


def record_only(run_id: int, record: Record, now: datetime) -> None:
    """Record an answer that touches nothing of the run."""
    execute(_RECORD, {"run": run_id, "at": now, **_recorded(record)})


def entries_between(run: RunReading, base_version: int) -> tuple[Between, ...] | None:
    """The entries that changed the run after `base_version`, oldest first; None when one was erased."""
    rows = execute(_BETWEEN, [run.id, base_version, run.version]).fetchall()
    if any(row[4] is None for row in rows):
        return None
    return tuple(
        Between(seq, version, actor, command_id, json.loads(bytes(body)).get("changes", {}), kind, at)
        for seq, version, actor, command_id, body, kind, at in rows
    )


def count_conflict(run_id: int, principal: str, intent: str, now: datetime) -> Episode:
    """Count one more conflict of an intent by one upsert, and return the episode it belongs to."""
    return Episode(*fetch_row(_COUNT_CONFLICT, {"run": run_id, "principal": principal, "intent": intent, "now": now}))


def uncount_conflict(run_id: int, principal: str, intent: str) -> None:
    """Take back what this transaction counted: the conflict is judged once more."""
    execute(_UNCOUNT_CONFLICT, [run_id, principal, intent])


def end_episode(run_id: int, principal: str, intent: str) -> None:
    """End the episode of an intent: its conflicts no longer count."""
    execute(_END_EPISODE, [run_id, principal, intent])


def resolve_command(run_id: int, principal: str, command_id: str, state: str, resolution: Mapping[str, JSON]) -> None:
    """Write what became of an escalated command."""
    text = json.dumps(resolution, ensure_ascii=False)
    execute(_RESOLVE, [state, text, run_id, principal, command_id])


def refusal_at(run_id: int, principal: str, command_id: str, expected: int) -> dict[str, JSON] | None:
    """The recorded `retry` refusal of a command at one expected version."""
    row = execute(_REFUSAL_AT, [run_id, principal, command_id, expected]).fetchone()
    return json.loads(row[0]) if row else None


def fields_given_at_creation(run_id: int) -> dict[str, JSON] | None:
    """The fields that the creator of a run gave; None when they were erased."""
    (body,) = fetch_row(_FIRST_BODY, [run_id])
    if body is None:
        return None
    entry = json.loads(bytes(body))
    return {name: entry["fields"][name] for name in entry["given"]}
