"""Recording what an attempt came to, under the fence it was sent under.

An outdated worker's result is kept on its attempt as late evidence and never applied.
"""

import json
from datetime import timedelta
from typing import Any

from outbox.following import Fact, Movement, move
from outbox.leases import Claimed
from outbox.models import Attempt, Effect
from outbox.providers.base import RESPONSE_BYTES, Result
from outbox.remediations import open_remediation
from outbox.retry import Next, after_attempt
from outbox.states import EffectState, Outcome, Step
from outbox.targets import capabilities_of, position_of, revision_of
from runs import store
from runs.chain import rfc3339
from runs.locks import hold_run
from runs.store import Found
from runs.transactions import durable, execute
from runs.values import RunReading

JSON = Any

#: How long a destination is left alone that asked to wait and did not say how long.
SHORTEST_PAUSE = timedelta(seconds=1)

_PAUSE = """
INSERT INTO outbox_destinationpause AS p (destination, until, because)
VALUES (%(destination)s, %(until)s, %(because)s)
ON CONFLICT (destination) DO UPDATE SET until = excluded.until, because = excluded.because
WHERE p.until < excluded.until
"""


@durable
def record(claimed: Claimed, result: Result) -> None:
    """Record the result of an attempt and take the next step; or keep it as late evidence when the fence has moved.

    Locks: the run.
    """
    hold_run(claimed.run_key)
    found = store.read(claimed.run_key)
    effect = Effect.objects.get(pk=claimed.operation_id)
    attempt = Attempt.objects.get(effect_id=effect.pk, number=claimed.number)
    assert found.run is not None
    if effect.fence != claimed.fence or attempt.outcome is not None:
        _keep_late(effect, found.run, attempt, result, found)
        return
    settle_attempt(effect, found.run, attempt, result, found)


def settle_attempt(effect: Effect, run: RunReading, attempt: Attempt, result: Result, found: Found) -> Next:
    """Write an attempt's outcome and what is done next, in one commit. Needs the run's lock.

    Whether something may have left is cleared only by an outcome of this attempt that proves that nothing
    happened, and only if it was clear before.
    """
    now = found.now
    may_have_left = attempt.left_before or not result.outcome.proves_nothing_happened
    row = revision_of(effect)
    if result.outcome is Outcome.THROTTLED:
        effect.attempts_used -= 1  # waiting as told is not an attempt of ours
        _pause(effect.destination, result, found)
    at = position_of(effect, now, may_have_left=may_have_left)
    taken = after_attempt(result.outcome, capabilities_of(row), at, result.retry_after)
    if result.is_alarm:
        words = f"the provider says that our bytes drifted: {result.detail}"
        taken = Next(EffectState.NEEDS_RECONCILIATION, Step.PERSON, None, words)
    columns = {
        "lease_owner": None,
        "lease_expires_at": None,
        "may_have_left": may_have_left,
        "attempts_used": effect.attempts_used,
        "fence": effect.fence,
    }
    if not may_have_left:
        columns["key_clock_started_at"] = None
    facts = [Fact("attempt.recorded", _told(attempt, result))]
    if taken.state is not EffectState.DISPATCHING:
        facts.append(settling(taken))
    movement = Movement(taken.state, taken.step, taken.at, taken.because, columns)
    move(effect, run, movement, facts, actor=f"system:{attempt.worker}", now=now)
    Attempt.objects.filter(effect_id=effect.pk, number=attempt.number).update(
        finished_at=now,
        outcome=result.outcome.value,
        provider_request_id=result.provider_request_id,
        http_status=result.http_status,
        detail=result.detail,
        response=result.response[:RESPONSE_BYTES],
    )
    if taken.state is EffectState.SUCCEEDED and at.is_revoked:
        open_remediation(effect, "it happened although its approval was revoked meanwhile", "system:dispatch", now)
    return taken


def settling(taken: Next) -> Fact:
    """The ledger's word for an effect that reached a state people see."""
    kind = "effect.cancelled" if taken.state is EffectState.CANCELLED else "effect.settled"
    return Fact(kind, {"state": taken.state.value, "because": taken.because})


def _told(attempt: Attempt, result: Result) -> dict[str, JSON]:
    return {
        "attempt": attempt.number,
        "fence": attempt.fence,
        "outcome": result.outcome.value,
        "detail": result.detail,
        "provider_request_id": result.provider_request_id,
        "http_status": result.http_status,
    }


def _pause(destination: str, result: Result, found: Found) -> None:
    """A destination that asked to wait is left alone until then, by every worker; a shorter wait ends no longer one."""
    until = found.now + (result.retry_after or SHORTEST_PAUSE)
    execute(_PAUSE, {"destination": destination, "until": until, "because": result.detail})


def _keep_late(effect: Effect, run: RunReading, attempt: Attempt, result: Result, found: Found) -> None:
    """Evidence, never applied; but what was accepted after the effect had ended otherwise is a task for people."""
    if attempt.late is not None or attempt.outcome not in (None, Outcome.UNKNOWN.value, Outcome.NEVER_LEFT.value):
        return
    told = _told(attempt, result) | {"at": rfc3339(found.now)}
    state = EffectState(effect.state)
    movement = Movement(state, Step(effect.next_step), effect.next_at, effect.because, {"ended_at": effect.ended_at})
    move(effect, run, movement, [Fact("attempt.late", told)], actor=f"system:{attempt.worker}", now=found.now)
    Attempt.objects.filter(effect_id=effect.pk, number=attempt.number).update(late=json.dumps(told, ensure_ascii=False))
    if result.outcome is Outcome.ACCEPTED and (words := _against_its_end(state, attempt, result)):
        open_remediation(effect, words, "system:dispatch", found.now)


def _against_its_end(state: EffectState, attempt: Attempt, accepted: Result) -> str | None:
    """How a late acceptance contradicts the end that the effect came to, in words; None where it does not."""
    if state in (EffectState.FAILED, EffectState.CANCELLED):
        return "a late answer says that it was accepted, after it had been settled otherwise"
    others = Attempt.objects.filter(effect_id=attempt.effect_id, outcome=Outcome.ACCEPTED).exclude(
        number=attempt.number
    )
    numbers = others.values_list("provider_request_id", flat=True)
    if state is EffectState.SUCCEEDED and any(number != accepted.provider_request_id for number in numbers):
        return "a late answer says that it was accepted twice"
    return None
