"""Claiming effects that are due: lease, fence, attempt, and the last check before anything may leave.

Picks by locking runs with SKIP LOCKED and checks in later statements. A refusal is written, never skipped
over, so that the head of the queue cannot block. Expired leases are never claimed: the reconciler closes them.
"""

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from approvals.models import DestinationRevision
from outbox.following import Fact, Movement, move
from outbox.models import Attempt, Effect
from outbox.providers.base import Sending, Target
from outbox.rechecks import reason_not_to_send
from outbox.retry import replay_fits
from outbox.states import EffectState, Step
from outbox.targets import capabilities_of, position_of, revision_of, target_of
from runs import store
from runs.authority import suspended_workflows
from runs.locks import hold_run
from runs.transactions import durable, execute, fetch_row
from runs.values import RunReading

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
SELECT e.operation_id, r.key {_CLAIMABLE} AND (%(only)s::text IS NULL OR e.operation_id = %(only)s)
{_IN_ORDER} FOR NO KEY UPDATE OF r SKIP LOCKED
"""
_IN_FLIGHT = "SELECT count(*) FROM outbox_effect WHERE destination = %s AND lease_owner IS NOT NULL"


@dataclass(frozen=True, slots=True)
class Claimed:
    """A lease on an effect: what to send, where, and under which fence."""

    operation_id: str
    run_key: str
    fence: int
    number: int
    target: Target
    adapter: str
    sending: Sending
    records_intent: bool  # whether the start must be committed before the first byte
    start_before: float  # on this process's monotonic clock: past it the effect is handed back unsent


@durable
def claim(worker: str, limit: int = 1, only: str | None = None) -> list[Claimed]:
    """Claim up to `limit` due effects for `worker`; several at once only where a replay would be safe.

    Locks: the runs of what is picked, with SKIP LOCKED. What may not be sent is cancelled, or handed to a
    person, in the same commit.
    """
    params = {"suspended": suspended_workflows(), "limit": limit, "only": only}
    claimed: list[Claimed] = []
    while not claimed and (picked := execute(_PICK, params).fetchall()):  # what was refused is not picked again
        for operation_id, key in picked:
            found = _claim_one(worker, operation_id, key, is_first=not claimed)
            if found is not None:
                claimed.append(found)
    return claimed


def _claim_one(worker: str, operation_id: str, key: str, *, is_first: bool) -> Claimed | None:
    """Check once more, in statements after the lock, and lease; or write why not."""
    effect = Effect.objects.select_related("snapshot").get(pk=operation_id)
    found = store.read(key)
    run, now = found.run, found.now
    assert run is not None
    if effect.lease_owner is not None or effect.next_at is None or effect.next_at > now:
        return None
    row = revision_of(effect)
    can = capabilities_of(row)
    if not is_first and not (can.recognises_repeats and _has_free_place(row)):
        return None
    because = reason_not_to_send(effect, run)
    at = position_of(effect, now, may_have_left=effect.may_have_left)
    if because is None and effect.next_step == Step.REPLAY and not replay_fits(can, at, now):
        because = "the provider's memory of the key ends too soon for a replay"
    if because is not None:
        _refuse(effect, run, because, now)
        return None
    records_intent = not can.recognises_repeats
    attempt = _lease(effect, run, worker, now, records_intent=records_intent)
    sending = Sending(
        operation_id=effect.operation_id,
        snapshot=effect.snapshot_id,
        idempotency_key=effect.idempotency_key,
        payload=bytes(effect.snapshot.payload or b""),
        payload_sha256=effect.payload_sha256,
        timeout=timedelta(seconds=effect.timeout_seconds),
        send_by=attempt.send_by,
    )
    return Claimed(
        operation_id=effect.operation_id,
        run_key=key,
        fence=attempt.fence,
        number=attempt.number,
        target=target_of(row),
        adapter=row.adapter,
        sending=sending,
        records_intent=records_intent,
        start_before=time.monotonic() + effect.lease_seconds - effect.timeout_seconds,
    )


def _has_free_place(row: DestinationRevision) -> bool:
    """Whether one more may be in flight to a destination, those claimed in this transaction counted in."""
    (count,) = fetch_row(_IN_FLIGHT, [row.name])
    return bool(count < row.max_in_flight)


def _refuse(effect: Effect, run: RunReading, because: str, now: datetime) -> None:
    """Nothing may have left: cancelled with the fact that differs. Something may have: a person finds out."""
    if effect.may_have_left:
        movement = Movement(EffectState.NEEDS_RECONCILIATION, Step.PERSON, None, because)
        fact = Fact("effect.settled", {"state": movement.state.value, "because": because})
    else:
        movement = Movement(EffectState.CANCELLED, Step.NONE, None, because)
        fact = Fact("effect.cancelled", {"because": because})
    move(effect, run, movement, [fact], actor="system:dispatch", now=now)


def _lease(effect: Effect, run: RunReading, worker: str, now: datetime, *, records_intent: bool) -> Attempt:
    """Lease, fence and attempt in one commit with the run's step to `dispatching`."""
    lease, timeout = timedelta(seconds=effect.lease_seconds), timedelta(seconds=effect.timeout_seconds)
    number = effect.attempts.count() + 1
    left_before = effect.may_have_left
    columns = {
        "fence": effect.fence + 1,
        "lease_owner": worker,
        "lease_expires_at": now + lease,
        "attempts_used": effect.attempts_used + 1,
        "may_have_left": True,
        "key_clock_started_at": effect.key_clock_started_at or now,
    }
    step = Step(effect.next_step)
    movement = Movement(EffectState.DISPATCHING, step, None, f"claimed by {worker}", columns)
    body = {"fence": effect.fence + 1, "attempt": number, "worker": worker, "step": step.value}
    move(effect, run, movement, [Fact("effect.claimed", body)], actor="system:dispatch", now=now)
    return Attempt.objects.create(
        effect_id=effect.pk,
        number=number,
        fence=effect.fence,
        worker=worker,
        left_before=left_before,
        started_at=now,
        send_by=now + lease - timeout,
        send_started_at=None if records_intent else now,
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
        Attempt.objects.filter(effect_id=effect.pk, number=claimed.number).update(send_started_at=now)
    return True
