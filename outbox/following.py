"""Moving effects, and their runs with them: one place that writes an effect's next state and the run's ledger together.

Needs an open transaction that holds the runs' locks. The status of a run follows its effect by one pure
mapping in the same commit; a compensation moves no status.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from outbox.errors import Moved
from outbox.models import Effect
from outbox.states import RUN_STATUS, EffectState, Step
from runs import many, store
from runs.many import Following
from runs.store import Record
from runs.transactions import execute
from runs.values import NewEntry, RunReading, RunState

JSON = Any


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing to be told in the ledger: its kind and what it says."""

    kind: str
    body: dict[str, JSON]


@dataclass(frozen=True, slots=True)
class Movement:
    """What changes of an effect: its new state and the columns that go with it."""

    state: EffectState
    step: Step
    at: datetime | None
    because: str
    columns: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Move:
    """One effect that is to be moved, with the run as it was read and what the ledger is told of it."""

    effect: Effect
    run: RunReading
    movement: Movement
    facts: Sequence[Fact]
    actor: str
    command_id: str | None = None

    def following(self, now: datetime) -> Following:
        """The run as it follows this effect, with its ledger entries."""
        after, changes = _following(self.effect, self.run, self.movement.state, now)
        entries = [
            NewEntry(
                fact.kind,
                self.actor,
                self.command_id,
                {"effect": self.effect.operation_id, **fact.body},
                self.run.version,
            )
            for fact in self.facts
        ]
        if changes:
            last = entries[-1]
            told = {**last.body, "changes": changes}
            entries[-1] = replace(last, body=told, version=after.version, touched=tuple(changes))
        return Following(self.run, after, entries)


def move(
    effect: Effect,
    run: RunReading,
    movement: Movement,
    facts: Sequence[Fact],
    *,
    actor: str,
    now: datetime,
    command_id: str | None = None,
    record: Record | None = None,
) -> RunReading:
    """Write the movement of `effect` and, in the same commit, its run's status and the ledger entries of `facts`.

    Conditional on the state, fence and version that were read. Raises `Moved` when the effect is no longer there.
    """
    one = Move(effect, run, movement, facts, actor, command_id)
    step = one.following(now)
    store.require_step(run, step.after, step.entries, record, now)
    _write([one], now)
    return store.read_by_id(run.id)


def move_all(moves: Sequence[Move], now: datetime) -> None:
    """The same for effects of different runs, in one statement for the runs and one for the effects."""
    if moves:
        many.require_following([one.following(now) for one in moves], now)
        _write(moves, now)


def _following(
    effect: Effect, run: RunReading, state: EffectState, now: datetime
) -> tuple[RunReading, dict[str, dict[str, JSON]]]:
    """The run as it follows its effect, and what of it changes: nothing where the effect stays where it is."""
    status = RUN_STATUS[state]
    is_its_own = effect.compensates is None and run.effect == effect.operation_id
    if not is_its_own or state == effect.state or status is run.state.status:
        return run, {}
    changes = {"status": {"from": run.state.status.value, "to": status.value}}
    moved = RunState(status, run.state.fields, run.state.active_snapshot)
    return replace(run, version=run.version + 1, state=moved, updated_at=now), changes


#: What may change of an effect, and how it is written in SQL. Its version always rises by one.
MOVING = {
    "state": "text",
    "next_step": "text",
    "next_at": "timestamptz",
    "because": "text",
    "version": "int",
    "ended_at": "timestamptz",
    "fence": "bigint",
    "lease_owner": "text",
    "lease_expires_at": "timestamptz",
    "may_have_left": "bool",
    "attempts_used": "int",
    "key_clock_started_at": "timestamptz",
    "quarantined": "bool",
}
_WRITE = f"""
UPDATE outbox_effect e SET {", ".join(f"{name} = g.{name}" for name in MOVING)}
FROM unnest(%(ids)s::text[], %(states)s::text[], %(fences)s::bigint[], %(versions)s::int[],
            {", ".join(f"%({name})s::{kind}[]" for name, kind in MOVING.items())})
     AS g (operation_id, read_state, read_fence, read_version, {", ".join(MOVING)})
WHERE e.operation_id = g.operation_id
  AND e.state = g.read_state AND e.fence = g.read_fence AND e.version = g.read_version
"""


def _write(moves: Sequence[Move], now: datetime) -> None:
    """Write every effect if it still is what was read; the effects in memory become what was written."""
    rows = [_columns(one, now) for one in moves]
    params: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in MOVING}
    params |= {
        "ids": [one.effect.pk for one in moves],
        "states": [str(one.effect.state) for one in moves],
        "fences": [one.effect.fence for one in moves],
        "versions": [one.effect.version for one in moves],
    }
    if execute(_WRITE, params).rowcount != len(moves):
        raise Moved
    for one, row in zip(moves, rows, strict=True):
        for name, value in row.items():
            setattr(one.effect, name, value)


def _columns(one: Move, now: datetime) -> dict[str, Any]:
    movement = one.movement
    return {name: getattr(one.effect, name) for name in MOVING} | {
        "state": movement.state.value,
        "next_step": movement.step.value,
        "next_at": movement.at,
        "because": movement.because,
        "version": one.effect.version + 1,
        "ended_at": now if movement.state.is_end else None,
        **movement.columns,
    }
