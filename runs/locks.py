"""Every lock on a run, in one place. The run row is the only lock of the product.

Order: authority lock (shared), id of the request, run. A second run is only ever locked with SKIP LOCKED.
All functions need an open transaction and never open one.
"""

from typing import NewType

from runs.errors import CommandInProgress
from runs.transactions import execute
from runs.values import RunReading

#: A reading made while this transaction holds the lock of its run.
LockedRun = NewType("LockedRun", RunReading)

_CLAIM_ID = "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))"
_LOCK_RUN = "SELECT 1 FROM runs_run WHERE key = %s FOR NO KEY UPDATE"


def claim_id(scope: str, principal: str, request_id: str) -> None:
    """Hold the id of a request until the transaction ends. Raises `CommandInProgress` when its first delivery still runs."""
    row = execute(_CLAIM_ID, [f"{scope}\n{principal}\n{request_id}"]).fetchone()
    if not row[0]:
        raise CommandInProgress


def hold_run(key: str) -> None:
    """Wait for the lock of a run (bounded by `lock_timeout`). Read it in a later statement: this one sees an older state."""
    execute(_LOCK_RUN, [key])
