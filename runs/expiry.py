"""Ending runs by their time limit, through the one mutation boundary, with the clock as the principal."""

from uuid import uuid4

from runs import authority
from runs.actions import apply_command
from runs.errors import ClearanceError
from runs.models import Run
from runs.states import CANCELLABLE
from runs.transactions import execute
from runs.values import CommandRequest, Principal

CLOCK = Principal("system", "clock")

_DUE = """
SELECT key, version FROM runs_run
WHERE workflow = %s AND status = ANY(%s) AND cycle_started_at <= clock_timestamp() - %s * interval '1 second'
ORDER BY id LIMIT %s
"""


def expire_due_runs(limit: int = 100) -> int:
    """Expire every run whose time is over, counted from its creation or its last reopening. Returns how many.

    A run that moves meanwhile is left to the next pass.
    """
    ended = 0
    for slug in Run.objects.order_by("workflow").values_list("workflow", flat=True).distinct():
        seconds = authority.policy_of(slug).run_expires_after
        statuses = [status.value for status in CANCELLABLE]
        for key, version in execute(_DUE, [slug, statuses, seconds, limit]).fetchall():
            ended += _expired(key, version, seconds)
    return ended


def _expired(key: str, version: int, seconds: int) -> bool:
    words = f"Its time limit of {seconds} s is over."
    try:
        outcome = apply_command(CLOCK, key, version, CommandRequest(f"expire-{uuid4().hex}", "expire", {}, words))
    except ClearanceError:
        return False
    return outcome.state == "committed"
