"""Dispatching: claim, send outside any transaction, record. The loop every worker and `drain_outbox` run.

A batch is sent one after another. How long one turn keeps a worker is bounded, a destination that asked to wait is
left alone at once, and what is withdrawn meanwhile is not begun: all that is handed back unsent, which costs it no
attempt.
"""

import time

import stamina

from outbox.leases import Claimed, claim, start_sending
from outbox.providers import ADAPTERS
from outbox.providers.base import Result, outside
from outbox.quarantine import may_claim
from outbox.rechecks import withdrawn
from outbox.recording import HANDED_BACK, Sent, record_all
from outbox.states import Outcome
from runs.errors import Unavailable

#: How many effects are claimed at once at most, where a replay would be safe.
BATCH = 100
#: How long sends of one turn are begun: the last of them still ends within a task's limit of time.
SENDING_SECONDS = 10
#: Results wait for each other this long at most, to be recorded together; then it is seen what was withdrawn.
TOGETHER_SECONDS = 0.5
#: How long a result is kept in memory while the database is away. A worker lost meanwhile leaves an expired lease.
RECORD_FOR_SECONDS = 15


def dispatch_all(worker: str, first: str | None = None) -> int:
    """Dispatch `first` by itself, then batch after batch until nothing is due or the turn is over. Returns how many."""
    ends = time.monotonic() + SENDING_SECONDS
    attempted = dispatch_due(worker, only=first, ends=ends) if first else 0
    while time.monotonic() < ends and (count := dispatch_due(worker, BATCH, ends=ends)):
        attempted += count
    return attempted


def dispatch_due(worker: str, limit: int = 1, only: str | None = None, ends: float | None = None) -> int:
    """Claim what is due, send it, record what came of it. Returns how many were attempted.

    After `ends`, on this process's monotonic clock, and to a destination that asked to wait, nothing more of a batch
    is begun; nor what a halt, a suspension or a revocation has reached, seen at every recording.
    """
    if not may_claim():
        return 0
    claimed = claim(worker, limit, only)
    recorded_at = time.monotonic()
    ends = recorded_at + SENDING_SECONDS if ends is None else ends
    sent: list[Sent] = []
    busy: set[str] = set()
    stopped: set[str] = set()
    try:
        for place, item in enumerate(claimed):
            is_over = place > 0 and time.monotonic() > ends
            is_left = is_over or item.target.name in busy or item.operation_id in stopped
            result = HANDED_BACK if is_left else _send(item)
            if result.outcome is Outcome.THROTTLED:
                busy.add(item.target.name)
            sent.append((item, result))
            if time.monotonic() - recorded_at > TOGETHER_SECONDS:
                _record(sent)
                stopped = withdrawn([rest.operation_id for rest in claimed[place + 1 :]])
                recorded_at = time.monotonic()
    finally:  # what a provider answered is kept whatever comes of the next
        _record(sent)
    return len(claimed)


def _record(sent: list[Sent]) -> None:
    """Record results, again while the database is away: what the provider said may be known here alone."""
    for attempt in stamina.retry_context(on=Unavailable, attempts=None, timeout=RECORD_FOR_SECONDS):
        with attempt:
            record_all(sent)


def _send(claimed: Claimed) -> Result:
    """Send exactly the stored bytes, unless the time to start is over or the lease is gone."""
    if time.monotonic() > claimed.sending.start_before or not _may_start(claimed):
        return HANDED_BACK
    outside()
    return ADAPTERS[claimed.adapter].send(claimed.target, claimed.sending)


def _may_start(claimed: Claimed) -> bool:
    """Whether the intent to send is committed where it has to be. Where that cannot be known nothing is sent."""
    try:
        return not claimed.records_intent or start_sending(claimed)
    except Unavailable:
        return False
