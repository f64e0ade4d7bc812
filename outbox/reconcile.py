"""The reconciler: closes expired leases and asks providers about unknown outcomes. Two at once do no harm.

Sweeps are conditional on state and fence; whoever comes second finds nothing to do.
"""

from dataclasses import dataclass

from outbox.errors import EffectInFlight, Moved
from outbox.following import Fact, Movement, move
from outbox.lookups import ask, record_lookup
from outbox.models import Attempt, Effect
from outbox.providers.base import Result
from outbox.recording import settle_attempt
from outbox.states import EffectState, Outcome, Step
from runs import store
from runs.errors import InvalidTransition, Unavailable
from runs.locks import hold_run
from runs.transactions import durable, execute

ACTOR = "system:reconciler"

_EXPIRED = """
SELECT operation_id FROM outbox_effect
WHERE lease_owner IS NOT NULL AND lease_expires_at < clock_timestamp() ORDER BY lease_expires_at LIMIT %s
"""
_TO_LOOK_UP = """
SELECT operation_id FROM outbox_effect
WHERE next_step = 'look-up' AND state = 'dispatching' AND lease_owner IS NULL AND next_at <= clock_timestamp()
  AND NOT quarantined
ORDER BY next_at LIMIT %s
"""


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass did."""

    closed: int
    asked: int


def reconcile(limit: int = 100) -> Pass:
    """Close every expired lease and ask about every outcome that is due, at most `limit` of each."""
    closed = close_expired_leases(limit)
    asked = sum(look_up_due(number) for number in due_lookups(limit))
    return Pass(closed, asked)


def close_expired_leases(limit: int = 100) -> int:
    """Close the leases whose time is over; returns how many. Calls no provider."""
    return sum(_closed(number) for number in expired_leases(limit))


def expired_leases(limit: int = 100) -> list[str]:
    """The operations whose lease is over, the longest over first."""
    return _operations(_EXPIRED, limit)


def due_lookups(limit: int = 100) -> list[str]:
    """The operations whose outcome is to be asked about now."""
    return _operations(_TO_LOOK_UP, limit)


@durable
def _operations(statement: str, limit: int) -> list[str]:
    return [number for (number,) in execute(statement, [limit]).fetchall()]


def _closed(operation_id: str) -> bool:
    try:
        return close_expired(operation_id)
    except (Moved, Unavailable):  # somebody else is at it; the next pass looks again
        return False


@durable
def close_expired(operation_id: str) -> bool:
    """Close an expired lease: `never-left` where no intent to send was recorded, else `unknown`. Locks: the run."""
    key = Effect.objects.values_list("run__key", flat=True).get(pk=operation_id)
    hold_run(key)
    found = store.read(key)
    effect = Effect.objects.get(pk=operation_id)
    if effect.lease_owner is None or effect.lease_expires_at is None or effect.lease_expires_at >= found.now:
        return False
    assert found.run is not None
    attempt = Attempt.objects.get(effect_id=effect.pk, fence=effect.fence)
    effect.fence += 1
    Effect.objects.filter(pk=effect.pk, version=effect.version).update(fence=effect.fence, version=effect.version + 1)
    effect.version += 1
    if attempt.send_started_at is None:
        result = Result(Outcome.NEVER_LEFT, "its worker was lost before it started to send")
    else:
        result = Result(Outcome.UNKNOWN, "its worker was lost while it may have been sending")
    settle_attempt(effect, found.run, attempt, result, found.now)
    return True


def look_up_due(operation_id: str) -> bool:
    """Ask about one outcome, and record the answer. What cannot be asked any more goes to a person.

    False where somebody else is at it; the next pass looks again.
    """
    try:
        question, known = ask(operation_id)
        record_lookup(question, known, ACTOR)
    except InvalidTransition as refusal:
        _hand_to_person(operation_id, refusal.detail)
    except (EffectInFlight, Moved, Unavailable):
        return False
    return True


@durable
def _hand_to_person(operation_id: str, because: str) -> None:
    key = Effect.objects.values_list("run__key", flat=True).get(pk=operation_id)
    hold_run(key)
    found = store.read(key)
    effect = Effect.objects.get(pk=operation_id)
    if effect.state != EffectState.DISPATCHING or effect.next_step != Step.LOOK_UP or effect.lease_owner is not None:
        return
    assert found.run is not None
    movement = Movement(EffectState.NEEDS_RECONCILIATION, Step.PERSON, None, because)
    fact = Fact("effect.settled", {"state": movement.state.value, "because": because})
    move(effect, found.run, movement, [fact], actor=ACTOR, now=found.now)
