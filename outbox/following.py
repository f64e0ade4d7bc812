"""Moving an effect, and its run with it: one place that writes an effect's next state and the run's ledger together.

Needs an open transaction that holds the run's lock. The status of a run follows its effect by one pure
mapping in the same commit; a compensation moves no status.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from outbox.errors import Moved
from outbox.models import Effect
from outbox.states import RUN_STATUS, EffectState, Step
from runs import store
from runs.store import Record
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
    after, changes = _following(effect, run, movement.state, now)
    entries = [
        NewEntry(fact.kind, actor, command_id, {"effect": effect.operation_id, **fact.body}, run.version)
        for fact in facts
    ]
    if changes:
        last = entries[-1]
        told = {**last.body, "changes": changes}
        entries[-1] = replace(last, body=told, version=after.version, touched=tuple(changes))
    store.require_step(run, after, entries, record, now)
    _write(effect, movement, now)
    return store.read_by_id(run.id)


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


def _write(effect: Effect, movement: Movement, now: datetime) -> None:
    columns = {
        "state": movement.state.value,
        "next_step": movement.step.value,
        "next_at": movement.at,
        "because": movement.because,
        "version": effect.version + 1,
        "ended_at": now if movement.state.is_end else None,
        **movement.columns,
    }
    seen = Effect.objects.filter(pk=effect.pk, state=effect.state, fence=effect.fence, version=effect.version)
    if not seen.update(**columns):
        raise Moved
    for name, value in columns.items():
        setattr(effect, name, value)
