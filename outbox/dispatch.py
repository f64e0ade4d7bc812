"""Dispatching: claim, send outside any transaction, record. The loop every worker and `drain_outbox` run."""

import time

from outbox.leases import Claimed, claim, start_sending
from outbox.providers import ADAPTERS
from outbox.providers.base import Result, outside
from outbox.quarantine import may_claim
from outbox.recording import record
from outbox.states import Outcome

HANDED_BACK = Result(Outcome.NEVER_LEFT, "the worker handed it back unsent: its time to start was over")


def dispatch_due(worker: str, limit: int = 1, only: str | None = None) -> int:
    """Claim what is due, send it, record what came of it. Returns how many were attempted."""
    if not may_claim():
        return 0
    claimed = claim(worker, limit, only)
    for item in claimed:
        record(item, _send(item))
    return len(claimed)


def _send(claimed: Claimed) -> Result:
    """Send exactly the stored bytes, unless the time to start is over or the lease is gone."""
    if time.monotonic() > claimed.start_before or (claimed.records_intent and not start_sending(claimed)):
        return HANDED_BACK
    outside()
    return ADAPTERS[claimed.adapter].send(claimed.target, claimed.sending)
