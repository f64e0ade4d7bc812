"""Claiming effects that are due: lease, fence, attempt, and the last check before anything may leave.

Picks by locking runs with SKIP LOCKED and checks in later statements. A refusal is written, never skipped
over, so that the head of the queue cannot block. Expired leases are never claimed: the reconciler closes them.
A single claim is a batch of one.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from outbox.bearings import Bearing, read_bearings
from outbox.following import Fact, Move, Movement, move_all
from outbox.models import Attempt, Effect
from outbox.providers.base import Sending, Target
from outbox.rechecks import reason_not_to_send
from outbox.retry import replay_fits
from outbox.states import EffectState, Step
from outbox.targets import target_of
from runs import store
from runs.authority import suspended_workflows
from runs.lock_classes import LockClass
from runs.locks import hold_run
from runs.many import database_clock
from runs.transactions import durable, execute

JSON = Any

#: What may be claimed now. An effect older than a restore is sent only after somebody ordered that it be sent again.
_CLAIMABLE = """
FROM outbox_effect e
JOIN runs_run r ON r.id = e.run_id
JOIN runs_installation i ON NOT i.is_halted
JOIN approvals_destinationrevision d ON d.name = e.destination AND d.revision = e.destination_revision
WHERE e.next_at <= clock_timestamp() AND e.lease_owner IS NULL AND e.next_step IN ('send', 'replay')
  AND e.state IN ('pending', 'dispatching') AND NOT e.quarantined
  AND NOT e.workflow = ANY(%(suspended)s)
  AND (e.ledger_epoch = i.ledger_epoch
       OR EXISTS (SELECT FROM outbox_repair p WHERE p.effect_id = e.operation_id AND p.repair = 'resend'))
  AND NOT EXISTS (SELECT FROM outbox_destinationpause p
                  WHERE p.destination = e.destination AND p.until > clock_timestamp())
  AND d.max_in_flight > (SELECT count(*) FROM outbox_effect b
                         WHERE b.destination = e.destination AND b.lease_owner IS NOT NULL)
"""
_IN_ORDER = "ORDER BY e.next_at, e.operation_id LIMIT %(limit)s"
_DUE = f"SELECT e.operation_id {_CLAIMABLE} {_IN_ORDER}"
_PICK = f"""
SELECT e.operation_id, e.run_id, e.destination, d.recognises_repeats
{_CLAIMABLE} AND (%(only)s::text IS NULL OR e.operation_id = %(only)s)
{_IN_ORDER} FOR NO KEY UPDATE OF r SKIP LOCKED
"""
# A plan made once for every limit would sort all that waits; one made for this limit reads the index in its order.
_PLAN_EACH = "SET LOCAL plan_cache_mode = force_custom_plan"
_PLAN_AS_EVER = "SET LOCAL plan_cache_mode = auto"
_HOLD_PLACES = f"""
SELECT pg_advisory_xact_lock({LockClass.DESTINATION.value}, hashtext(name))
FROM (SELECT unnest(%s::text[]) AS name ORDER BY 1) AS n
"""
_IN_FLIGHT = """
SELECT destination, count(*) FROM outbox_effect
WHERE destination = ANY(%s) AND lease_owner IS NOT NULL GROUP BY destination
"""
_BEGIN_ATTEMPTS = """
INSERT INTO outbox_attempt (effect_id, number, fence, worker, left_before, started_at, send_by, send_started_at, detail)
SELECT a.effect_id, a.number, a.fence, %(worker)s, a.left_before, %(now)s, a.send_by,
       CASE WHEN a.records_intent THEN NULL ELSE %(now)s::timestamptz END, ''
FROM unnest(%(effects)s::text[], %(numbers)s::int[], %(fences)s::bigint[], %(left)s::bool[],
            %(send_by)s::timestamptz[], %(intents)s::bool[])
     AS a (effect_id, number, fence, left_before, send_by, records_intent)
"""


@dataclass(frozen=True, slots=True)
class Claimed:
    """A lease on an effect: what to send, where, and under which fence."""

    operation_id: str
    run_id: int
    run_key: str
    fence: int
    number: int
    target: Target
    adapter: str
    sending: Sending
    records_intent: bool  # whether the start must be committed before the first byte


@dataclass(frozen=True, slots=True)
class _Lease:
    """A lease about to be written."""

    at: Bearing
    number: int
    send_by: datetime
    left_before: bool
    move: Move

    @property
    def records_intent(self) -> bool:
        return not self.at.can.recognises_repeats


def claim(worker: str, limit: int = 1, only: str | None = None) -> list[Claimed]:
    """Claim up to `limit` due effects for `worker`; several at once only where a replay would be safe.

    What may not be sent is cancelled, or handed to a person. Where that is all that was picked it is committed, and
    more is picked: refusals without end hold no more runs at once than one batch has.
    """
    claimed, is_all = _claim_batch(worker, limit, only)
    while not claimed and not is_all:  # what was refused is not picked again
        claimed, is_all = _claim_batch(worker, limit, only)
    return claimed


@durable
def _claim_batch(worker: str, limit: int, only: str | None) -> tuple[list[Claimed], bool]:
    """Claim of what is due first; and whether nothing was due.

    Locks: the runs of what is picked, with SKIP LOCKED; then the places at their destinations, which are counted
    one claim after another.
    """
    picked = _pick(limit, only)
    return (_claim(worker, picked), False) if picked else ([], True)


def _pick(limit: int, only: str | None) -> list[str]:
    """Lock what is due; of that, the first, and after it only what may be sent again. Of one run only one effect."""
    params = {"suspended": suspended_workflows(), "limit": limit, "only": only}
    execute(_PLAN_EACH)
    rows = execute(_PICK, params).fetchall()
    execute(_PLAN_AS_EVER)
    if not rows:
        return []
    execute(_HOLD_PLACES, [list({destination for _, _, destination, _ in rows})])
    of_runs: dict[int, str] = {}
    for operation_id, run_id, _, recognises_repeats in rows:
        if not of_runs or recognises_repeats:
            of_runs.setdefault(run_id, operation_id)
    return list(of_runs.values())


def _claim(worker: str, picked: Sequence[str]) -> list[Claimed]:
    """Check once more, in statements after the locks, and lease; or write why not. All in a few statements."""
    started = time.monotonic()  # before the database says what time it is: what is counted from here ends no later
    bearings, now = read_bearings(picked, with_snapshots=True), database_clock()
    in_flight = dict(execute(_IN_FLIGHT, [list({at.effect.destination for at in bearings})]).fetchall())
    refusals: list[Move] = []
    leases: list[_Lease] = []
    for at in bearings:
        name = at.effect.destination
        if not _is_due(at.effect, now) or in_flight.get(name, 0) >= at.destination.max_in_flight:
            continue
        because = _reason_not_to_claim(at, now)
        if because is not None:
            refusals.append(_refusal(at, because))
        elif not leases or at.can.recognises_repeats:
            leases.append(_lease(at, worker, now))
            in_flight[name] = in_flight.get(name, 0) + 1
    move_all([*refusals, *(lease.move for lease in leases)], now)
    _begin_attempts(worker, leases, now)
    return [_claimed(lease, started) for lease in leases]


def _is_due(effect: Effect, now: datetime) -> bool:
    """Whether it still is what was picked: an older snapshot picked it, and somebody may have been at it since.

    An attempt may have begun and ended since, and what is due by now be a question to the provider.
    """
    is_due = effect.lease_owner is None and effect.next_at is not None and effect.next_at <= now
    return is_due and effect.next_step in (Step.SEND, Step.REPLAY) and not effect.quarantined


def _reason_not_to_claim(at: Bearing, now: datetime) -> str | None:
    because = reason_not_to_send(at)
    position = at.position(now, may_have_left=at.effect.may_have_left)
    if because is None and at.effect.next_step == Step.REPLAY and not replay_fits(at.can, position, now):
        return "the provider's memory of the key ends too soon for a replay"
    return because


def _refusal(at: Bearing, because: str) -> Move:
    """Nothing may have left: cancelled with the fact that differs. Something may have: a person finds out."""
    if at.effect.may_have_left:
        movement = Movement(EffectState.NEEDS_RECONCILIATION, Step.PERSON, None, because)
        fact = Fact("effect.settled", {"state": movement.state.value, "because": because})
    else:
        movement = Movement(EffectState.CANCELLED, Step.NONE, None, because)
        fact = Fact("effect.cancelled", {"because": because})
    return Move(at.effect, at.run, movement, [fact], "system:dispatch")


def _lease(at: Bearing, worker: str, now: datetime) -> _Lease:
    """Lease, fence and attempt in one commit with the run's step to `dispatching`."""
    effect = at.effect
    lease, timeout = timedelta(seconds=effect.lease_seconds), timedelta(seconds=effect.timeout_seconds)
    number, step = at.attempts + 1, Step(effect.next_step)
    columns = {
        "fence": effect.fence + 1,
        "lease_owner": worker,
        "lease_expires_at": now + lease,
        "attempts_used": effect.attempts_used + 1,
        "may_have_left": True,
        "key_clock_started_at": effect.key_clock_started_at or now,
    }
    movement = Movement(EffectState.DISPATCHING, step, None, f"claimed by {worker}", columns)
    body = {"fence": effect.fence + 1, "attempt": number, "worker": worker, "step": step.value}
    told = Move(effect, at.run, movement, [Fact("effect.claimed", body)], "system:dispatch")
    return _Lease(at, number, now + lease - timeout, effect.may_have_left, told)


def _begin_attempts(worker: str, leases: Sequence[_Lease], now: datetime) -> None:
    params = {
        "worker": worker,
        "now": now,
        "effects": [lease.at.effect.pk for lease in leases],
        "numbers": [lease.number for lease in leases],
        "fences": [lease.at.effect.fence for lease in leases],
        "left": [lease.left_before for lease in leases],
        "send_by": [lease.send_by for lease in leases],
        "intents": [lease.records_intent for lease in leases],
    }
    execute(_BEGIN_ATTEMPTS, params)


def _claimed(lease: _Lease, started: float) -> Claimed:
    effect = lease.at.effect
    sending = Sending(
        operation_id=effect.operation_id,
        snapshot=effect.snapshot_id,
        idempotency_key=effect.idempotency_key,
        payload=bytes(effect.snapshot.payload or b""),
        payload_sha256=effect.payload_sha256,
        timeout=timedelta(seconds=effect.timeout_seconds),
        send_by=lease.send_by,
        start_before=started + effect.lease_seconds - effect.timeout_seconds,
    )
    return Claimed(
        operation_id=effect.operation_id,
        run_id=effect.run_id,
        run_key=lease.at.run.key,
        fence=effect.fence,
        number=lease.number,
        target=target_of(lease.at.destination),
        adapter=lease.at.destination.adapter,
        sending=sending,
        records_intent=lease.records_intent,
    )


def due_operations(limit: int) -> list[str]:
    """The operations that are due to be claimed, the longest due first. Locks nothing: a claim checks again."""
    params = {"suspended": suspended_workflows(), "limit": limit}
    return [number for (number,) in execute(_DUE, params).fetchall()]


@durable
def start_sending(claimed: Claimed) -> bool:
    """Commit the intent to send before the first byte leaves. False when the lease is gone or its time is over.

    Locks: the run. Where the provider recognises repeats the claim counts as the intent and nothing is written.
    """
    hold_run(claimed.run_key)
    now = store.read(claimed.run_key).now
    effect = Effect.objects.get(pk=claimed.operation_id)
    if effect.fence != claimed.fence or effect.lease_owner is None or now > claimed.sending.send_by:
        return False
    if claimed.records_intent:
        begun = Attempt.objects.filter(effect_id=effect.pk, number=claimed.number)
        begun.filter(send_started_at=None).update(send_started_at=now)  # not again where the commit's answer was lost
    return True
