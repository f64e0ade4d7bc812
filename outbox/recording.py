"""Recording what an attempt came to, under the fence it was sent under.

An outdated worker's result is kept on its attempt as late evidence and never applied. A single result is a batch
of one.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from outbox.bearings import Bearing, bearings_of, read_bearings
from outbox.following import Fact, Move, Movement, move, move_all
from outbox.leases import Claimed
from outbox.models import Attempt, Effect
from outbox.providers.base import RESPONSE_BYTES, Result
from outbox.remediations import open_remediation
from outbox.retry import Next, Position, after_attempt
from outbox.states import EffectState, Outcome, Step
from runs.chain import rfc3339
from runs.locks import hold_run
from runs.many import database_clock, hold_free_runs
from runs.transactions import durable, execute
from runs.values import RunReading

JSON = Any
Sent = tuple[Claimed, Result]

#: How long a destination is left alone that asked to wait and did not say how long.
SHORTEST_PAUSE = timedelta(seconds=1)

_PAUSE = """
INSERT INTO outbox_destinationpause AS p (destination, until, because)
VALUES (%(destination)s, %(until)s, %(because)s)
ON CONFLICT (destination) DO UPDATE SET until = excluded.until, because = excluded.because
WHERE p.until < excluded.until
"""


_FINISH = """
UPDATE outbox_attempt t SET finished_at = %(now)s, outcome = a.outcome, provider_request_id = a.provider_request_id,
       http_status = a.http_status, detail = a.detail, response = a.response
FROM unnest(%(effects)s::text[], %(numbers)s::int[], %(outcomes)s::text[], %(requests)s::text[], %(statuses)s::int[],
            %(details)s::text[], %(responses)s::bytea[])
     AS a (effect_id, number, outcome, provider_request_id, http_status, detail, response)
WHERE t.effect_id = a.effect_id AND t.number = a.number
"""

#: The worker never began: others of its batch took the time, it was held up itself, or the destination asked to wait.
HANDED_BACK = Result(Outcome.NEVER_LEFT, "the worker handed it back unsent")


@dataclass(frozen=True, slots=True)
class _Settling:
    """An attempt whose result settles it, and what is done next."""

    at: Bearing
    attempt: Attempt
    result: Result
    taken: Next
    move: Move


def record(claimed: Claimed, result: Result) -> None:
    """Record the result of one attempt, as `record_all` does."""
    record_all([(claimed, result)])


def record_all(sent: list[Sent]) -> None:
    """Record results of attempts and take the next steps; late evidence only, where a fence has moved meanwhile.

    What was recorded is taken off the list, so that after `Unavailable` the same list holds what is left.
    Locks: the runs that are free, at once; then each of the others by itself, waited for. So nobody who holds one
    run keeps the results of the others from being recorded, and nobody waits for a run while holding another.
    """
    if len(sent) > 1:
        recorded = _record_free(sent)
        sent[:] = [one for one in sent if one[0].operation_id not in recorded]
    while sent:
        _record_one(*sent[0])
        del sent[0]


@durable
def _record_free(sent: Sequence[Sent]) -> set[str]:
    """Record what belongs to runs that nobody holds; returns the operations."""
    run_ids = [claimed.run_id for claimed, _ in sent]
    free = hold_free_runs(run_ids)
    _record_held([one for one in sent if one[0].run_id in free])
    return {claimed.operation_id for claimed, _ in sent if claimed.run_id in free}


@durable
def _record_one(claimed: Claimed, result: Result) -> None:
    hold_run(claimed.run_key)
    _record_held([(claimed, result)])


def _record_held(sent: Sequence[Sent]) -> None:
    bearings, now = read_bearings([claimed.operation_id for claimed, _ in sent]), database_clock()
    begun = Attempt.objects.filter(effect_id__in=[at.effect.pk for at in bearings])
    attempts = {(attempt.effect_id, attempt.number): attempt for attempt in begun}
    current: list[tuple[Bearing, Attempt, Result]] = []
    for at, (claimed, result) in zip(bearings, sent, strict=True):
        attempt = attempts[claimed.operation_id, claimed.number]
        if at.effect.fence != claimed.fence or attempt.outcome is not None:
            _keep_late(at, attempt, result, now)
        else:
            current.append((at, attempt, result))
    _settle(current, now)


def settle_attempt(effect: Effect, run: RunReading, attempt: Attempt, result: Result, now: datetime) -> None:
    """Write an attempt's outcome and what is done next, in one commit. Needs the run's lock."""
    (at,) = bearings_of([(effect, run)])
    _settle([(at, attempt, result)], now)


def _settle(results: Sequence[tuple[Bearing, Attempt, Result]], now: datetime) -> None:
    """Write outcomes and next steps of many attempts, set by set."""
    if not results:
        return
    settled = [_settling(at, attempt, result, now) for at, attempt, result in results]
    move_all([one.move for one in settled], now)
    execute(
        _FINISH,
        {
            "now": now,
            "effects": [one.attempt.effect_id for one in settled],
            "numbers": [one.attempt.number for one in settled],
            "outcomes": [one.result.outcome.value for one in settled],
            "requests": [one.result.provider_request_id for one in settled],
            "statuses": [one.result.http_status for one in settled],
            "details": [one.result.detail for one in settled],
            "responses": [one.result.response[:RESPONSE_BYTES] for one in settled],
        },
    )
    for one in settled:
        if one.result.outcome is Outcome.THROTTLED:
            _pause(one.at.effect.destination, one.result, now)
        if one.taken.state is EffectState.SUCCEEDED and one.at.revoked is not None:
            words = "it happened although its approval was revoked meanwhile"
            open_remediation(one.at.effect, words, "system:dispatch", now)


def _settling(at: Bearing, attempt: Attempt, result: Result, now: datetime) -> _Settling:
    """What an outcome makes of its effect.

    Whether something may have left is cleared only by an outcome of this attempt that proves that nothing
    happened, and only if it was clear before and no late result says otherwise of another one.
    """
    effect = at.effect
    left_otherwise = attempt.left_before or at.was_accepted_late
    may_have_left = left_otherwise or not result.outcome.proves_nothing_happened
    if result.outcome is Outcome.THROTTLED or result is HANDED_BACK:
        effect.attempts_used -= 1  # waiting as told, or for others of a batch, is not an attempt of ours
    taken = _next_step(at, result, at.position(now, may_have_left=may_have_left))
    columns = {"lease_owner": None, "lease_expires_at": None, "may_have_left": may_have_left}
    if not may_have_left:
        columns["key_clock_started_at"] = None
    facts = [Fact("attempt.recorded", _told(attempt, result))]
    if taken.state is not EffectState.DISPATCHING:
        facts.append(settling(taken))
    movement = Movement(taken.state, taken.step, taken.at, taken.because, columns)
    return _Settling(at, attempt, result, taken, Move(effect, at.run, movement, facts, f"system:{attempt.worker}"))


def _next_step(at: Bearing, result: Result, position: Position) -> Next:
    if result.is_alarm:
        words = f"the provider says that our bytes drifted: {result.detail}"
        return Next(EffectState.NEEDS_RECONCILIATION, Step.PERSON, None, words)
    return after_attempt(result.outcome, at.can, position, result.retry_after)


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


def _pause(destination: str, result: Result, now: datetime) -> None:
    """A destination that asked to wait is left alone until then, by every worker; a shorter wait ends no longer one."""
    until = now + (result.retry_after or SHORTEST_PAUSE)
    execute(_PAUSE, {"destination": destination, "until": until, "because": result.detail})


def _keep_late(at: Bearing, attempt: Attempt, result: Result, now: datetime) -> None:
    """Evidence, never applied; but what was accepted after the effect had ended otherwise is a task for people.

    What was recorded already and is told again, because the answer to the first telling was lost, is no evidence.
    """
    if attempt.late is not None or attempt.outcome not in (None, Outcome.UNKNOWN.value, Outcome.NEVER_LEFT.value):
        return
    if (attempt.outcome, attempt.detail) == (result.outcome.value, result.detail):
        return
    effect, state = at.effect, EffectState(at.effect.state)
    told = _told(attempt, result) | {"at": rfc3339(now)}
    movement, facts = _after_late(effect, result), [Fact("attempt.late", told)]
    if movement.state is not state:
        facts.append(Fact("effect.settled", {"state": movement.state.value, "because": movement.because}))
    move(effect, at.run, movement, facts, actor=f"system:{attempt.worker}", now=now)
    Attempt.objects.filter(effect_id=effect.pk, number=attempt.number).update(late=json.dumps(told, ensure_ascii=False))
    if result.outcome is Outcome.ACCEPTED and (words := _against_its_end(state, attempt, result)):
        open_remediation(effect, words, "system:dispatch", now)


def _after_late(effect: Effect, result: Result) -> Movement:
    """Where the effect stays; but what was accepted is not sent again as if nothing had left: a person looks first."""
    state = EffectState(effect.state)
    if result.outcome is Outcome.ACCEPTED and not state.is_end and not effect.may_have_left and not effect.quarantined:
        words = "a late answer says that it was accepted: somebody has to find out before it is sent again"
        return Movement(EffectState.NEEDS_RECONCILIATION, Step.PERSON, None, words, {"may_have_left": True})
    columns = {"ended_at": effect.ended_at}
    return Movement(state, Step(effect.next_step), effect.next_at, effect.because, columns)


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
