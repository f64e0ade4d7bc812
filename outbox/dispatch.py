"""Dispatching: claim, send outside any transaction, record. The loop every worker and `drain_outbox` run."""

import time

import stamina

from outbox.leases import Claimed, claim, start_sending
from outbox.providers import ADAPTERS
from outbox.providers.base import Result, outside
from outbox.quarantine import may_claim
from outbox.recording import record
from outbox.states import Outcome
from runs.errors import Unavailable

#: How long a result is kept in memory while the database is away. A worker lost meanwhile leaves an expired lease.
RECORD_FOR_SECONDS = 15

HANDED_BACK = Result(Outcome.NEVER_LEFT, "the worker handed it back unsent: its time to start was over")


def dispatch_due(worker: str, limit: int = 1, only: str | None = None) -> int:
    """Claim what is due, send it, record what came of it. Returns how many were attempted."""
    if not may_claim():
        return 0
    claimed = claim(worker, limit, only)
    for item in claimed:
        _record(item, _send(item))
    return len(claimed)


def _record(claimed: Claimed, result: Result) -> None:
    """Record a result, again while the database is away: what the provider said may be known here alone."""
    for attempt in stamina.retry_context(on=Unavailable, attempts=None, timeout=RECORD_FOR_SECONDS):
        with attempt:
            record(claimed, result)


def _send(claimed: Claimed) -> Result:
    """Send exactly the stored bytes, unless the time to start is over or the lease is gone."""
    if time.monotonic() > claimed.start_before or (claimed.records_intent and not start_sending(claimed)):
        return HANDED_BACK
    outside()
    return ADAPTERS[claimed.adapter].send(claimed.target, claimed.sending)
