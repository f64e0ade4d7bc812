"""Every lock on a run, in one place. The run row is the only lock of the product.

Order: authority lock (shared), id of the request, run. A second run is only ever locked with SKIP LOCKED.
All functions need an open transaction and never open one.
"""

from runs.errors import CommandInProgress
from runs.transactions import execute, fetch_row

_CLAIM_ID = "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))"
_LOCK_RUN = "SELECT 1 FROM runs_run WHERE key = %s FOR NO KEY UPDATE"


def claim_id(scope: str, principal: str, request_id: str) -> None:
    """Hold the id of a request until the transaction ends.

    Raises `CommandInProgress` when its first delivery still runs.
    """
    (is_free,) = fetch_row(_CLAIM_ID, [f"{scope}\n{principal}\n{request_id}"])
    if not is_free:
        raise CommandInProgress


def hold_run(key: str) -> None:
    """Wait for the lock of a run, bounded by `lock_timeout`. Read in a later statement: this one saw an older state."""
    execute(_LOCK_RUN, [key])
