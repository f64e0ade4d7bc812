"""Retention: content is erased when its term is over, or on demand. Hashes, decisions and the chain stay.

One run is one durable transaction under its lock, and one ledger entry that tells by whom, why, which kinds and how
much. Only a run that has come to rest is touched, with nothing under review, no case and no effect open.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from approvals import blobs
from approvals import erasure as approvals
from outbox.errors import EffectInFlight
from outbox.models import OPEN, Effect
from runs import authority, store
from runs import erasure as runs
from runs.administration import By
from runs.definitions import Policy
from runs.erasure import AT_REST, KIND, Part, require_at_rest
from runs.errors import ClearanceError, NotFound
from runs.locks import hold_run
from runs.models import Run
from runs.store import Found
from runs.transactions import durable, execute
from runs.values import NewEntry, RunReading

JSON = Any

#: Who erases what is past its term.
CLOCK = By("system:retention", "The term of the policy is over.")

_RESPONSES = """
SELECT e.run_id FROM outbox_attempt a JOIN outbox_effect e ON e.operation_id = a.effect_id WHERE a.response <> ''
"""
_ERASE_RESPONSES = """
UPDATE outbox_attempt a SET response = NULL FROM outbox_effect e
WHERE e.operation_id = a.effect_id AND e.run_id = %s AND a.response <> ''
"""


def _erase_responses(run_id: int) -> None:
    execute(_ERASE_RESPONSES, [run_id])


#: Everything that is ever erased, kind by kind.
PARTS: tuple[Part, ...] = (
    *approvals.PARTS,
    Part("payload", "responses", _RESPONSES, _erase_responses),
    *runs.PARTS,
)

#: Every kind of content that is kept here.
KINDS = tuple(dict.fromkeys(part.kind for part in PARTS))


@dataclass(frozen=True, slots=True)
class Erasure:
    """What was erased of a run, or would be: how many things of each name."""

    run: str
    kinds: tuple[str, ...]
    counts: Mapping[str, int]

    def __str__(self) -> str:
        told = ", ".join(f"{things}: {number}" for things, number in self.counts.items())
        return f"{self.run}: {told or 'nothing left to erase'}"


# ---- one run ---------------------------------------------------------------------------------------------------


def erase_run(key: str, by: By) -> Erasure:
    """Erase everything of one run. Again, it erases nothing and writes nothing.

    Locks: the run, the contents of its artifacts. Raises `NotFound`, `InvalidTransition`, `EscalationOpen`,
    `EffectInFlight`.
    """
    done = _erase(key, by, only_due=False)
    blobs.remove_erased_files()
    return done


def plan_run(key: str) -> Erasure:
    """What erasing a run would do. Raises what `erase_run` raises."""
    return _plan(_erasable(store.read(key)), KINDS)


@durable
def _erase(key: str, by: By, *, only_due: bool) -> Erasure:
    hold_run(key)
    found = store.read(key)
    run = _erasable(found)
    plan = _plan(run, _kinds_due(run, found) if only_due else KINDS)
    if plan.counts:
        body = {"kinds": list(plan.kinds), "erased": dict(plan.counts), "reason": by.reason}
        store.require_step(run, run, [NewEntry(KIND, by.actor, None, body, run.version)], None, found.now)
        for part in _parts(plan.kinds):
            part.erase(run.id)
    return plan


def _erasable(found: Found) -> RunReading:
    if found.run is None:
        raise NotFound
    require_at_rest(found.run)
    effect = Effect.objects.filter(run_id=found.run.id, state__in=OPEN).first()
    if effect is not None:
        words = f"{effect.pk} is {effect.state}: nothing of {found.run.key} is erased before it has ended."
        raise EffectInFlight(words, effect=effect.pk)
    return found.run


def _plan(run: RunReading, kinds: Sequence[str]) -> Erasure:
    counts = {part.things: part.count(run.id) for part in _parts(kinds)}
    present = {things: number for things, number in counts.items() if number}
    return Erasure(run.key, tuple(kinds), present)


def _parts(kinds: Sequence[str]) -> Iterator[Part]:
    return (part for part in PARTS if part.kind in kinds)


# ---- what is due -----------------------------------------------------------------------------------------------

_DUE = """
SELECT r.key FROM runs_run r
WHERE r.workflow = %s AND r.status = ANY(%s) AND r.active_snapshot IS NULL AND r.held IS NULL
  AND r.updated_at <= clock_timestamp() - %s * interval '1 second'
  AND EXISTS (SELECT FROM ({found}) AS found WHERE found.run_id = r.id)
  AND NOT EXISTS (SELECT FROM outbox_effect o WHERE o.run_id = r.id AND o.state = ANY(%s))
"""


def plan_due() -> list[Erasure]:
    """What the terms of all policies ask to erase now, run by run."""
    plans = []
    for key in _keys_due():
        found = store.read(key)
        assert found.run is not None
        plans.append(_plan(found.run, _kinds_due(found.run, found)))
    return plans


def erase_due(by: By = CLOCK) -> list[Erasure]:
    """Erase what is past its term, counted from the last change of a run that came to rest.

    A run that moves meanwhile is left to the next pass.
    """
    done = [erased for key in _keys_due() if (erased := _erased(key, by)) and erased.counts]
    blobs.remove_erased_files()
    return done


def _erased(key: str, by: By) -> Erasure | None:
    try:
        return _erase(key, by, only_due=True)
    except ClearanceError:
        return None


def _keys_due() -> list[str]:
    """The runs that have something past its term, each once, in order."""
    keys: set[str] = set()
    for slug in Run.objects.order_by("workflow").values_list("workflow", flat=True).distinct():
        for part, seconds in _terms(authority.policy_of(slug)):
            statement = _DUE.format(found=part.found)
            rows = execute(statement, [slug, [status.value for status in AT_REST], seconds, OPEN]).fetchall()
            keys.update(key for (key,) in rows)
    return sorted(keys)


def _terms(policy: Policy) -> Iterator[tuple[Part, int]]:
    return ((part, policy.retention[part.kind]) for part in PARTS if part.kind in policy.retention)


def _kinds_due(run: RunReading, found: Found) -> list[str]:
    rested = (found.now - run.updated_at).total_seconds()
    terms = authority.policy_of(run.workflow, found.authority_epoch).retention
    return [kind for kind in KINDS if kind in terms and rested >= terms[kind]]
