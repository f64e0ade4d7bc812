"""Effects in numbers and in lists: how many stand where, which failures share a cause, what waits for an admin.

Writes nothing and takes no locks. Every count is bounded: beyond a limit a number says no more, and counting costs.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from approvals.models import DestinationRevision
from outbox.models import OPEN, Effect, Remediation
from outbox.states import EffectState
from runs.keyset import following
from runs.transactions import execute

#: Counts stop here, and failures are grouped over so many of the newest in each of their states.
COUNTED_AT_MOST, GROUPED_AT_MOST = 500, 500
GROUPS = 12


@dataclass(frozen=True, slots=True)
class EffectFilter:
    """Which effects are asked for; what is empty narrows nothing."""

    workflows: Collection[str]
    state: str = ""
    destination: str = ""
    because: str = ""
    authorized_before: datetime | None = None

    def rows(self) -> QuerySet[Effect]:
        found = Effect.objects.filter(workflow__in=self.workflows)
        for column in ("state", "destination", "because"):
            if wanted := getattr(self, column):
                found = found.filter(**{column: wanted})
        return found.filter(authorized_at__lte=self.authorized_before) if self.authorized_before else found


def list_rows(wanted: EffectFilter, limit: int, before: tuple[datetime, str] | None = None) -> list[Effect]:
    """The effects asked for, the newest first, after the place `before`; without the bytes behind them."""
    rows = wanted.rows()
    if before:
        rows = rows.filter(following(before, ("authorized_at", "operation_id"), newest_first=True))
    return list(_without_bytes(rows).order_by("-authorized_at", "-operation_id")[:limit])


def _without_bytes(rows: QuerySet[Effect]) -> QuerySet[Effect]:
    heavy = ("run__fields", "snapshot__manifest", "snapshot__payload", "snapshot__parts")
    return rows.select_related("run", "snapshot").defer(*heavy)


def _of_each(states: Iterable[EffectState], statement: str) -> str:
    """The rows of a statement for each of these states.

    A state stands in it as a literal: of a parameter the planner does not know how seldom it is, and reads everything.
    And the newest are read, in the order of an index, because those are in memory.
    """
    return " UNION ALL ".join(f"({statement.format(state=state.value)})" for state in states)


_COUNTS = _of_each(
    EffectState,
    """
    SELECT '{state}', count(*) FROM (
        SELECT FROM outbox_effect WHERE state = '{state}' AND workflow = ANY(%(workflows)s)
        ORDER BY authorized_at DESC LIMIT %(most)s
    ) AS counted
    """,
)


def count_by_state(workflows: Collection[str]) -> Mapping[str, int]:
    """How many effects stand in each state; `COUNTED_AT_MOST` stands for as many or more."""
    return dict(execute(_COUNTS, {"workflows": list(workflows), "most": COUNTED_AT_MOST}).fetchall())


@dataclass(frozen=True, slots=True)
class Cause:
    """Effects that stand in one state for the same reason at the same destination."""

    destination: str
    state: str
    because: str
    may_have_left: bool
    count: int
    oldest_at: datetime
    newest_at: datetime


_NEWEST = _of_each(
    (EffectState.FAILED, EffectState.NEEDS_RECONCILIATION),
    """
    SELECT destination, state, because, may_have_left, authorized_at FROM outbox_effect
    WHERE state = '{state}' AND workflow = ANY(%(workflows)s) ORDER BY authorized_at DESC LIMIT %(most)s
    """,
)
_CAUSES = f"""
SELECT destination, state, because, may_have_left, count(*), min(authorized_at), max(authorized_at)
FROM ({_NEWEST}) AS newest
GROUP BY destination, state, because, may_have_left
ORDER BY may_have_left DESC, state DESC, count(*) DESC, destination, because
LIMIT %(groups)s
"""


def group_failures(workflows: Collection[str]) -> list[Cause]:
    """The causes of failures and unknown outcomes, unknown ones first, the most frequent first."""
    params = {"workflows": list(workflows), "most": GROUPED_AT_MOST, "groups": GROUPS}
    return [Cause(*row) for row in execute(_CAUSES, params).fetchall()]


def destinations_used(workflows: Collection[str]) -> list[str]:
    """The names of the destinations that effects of these workflows go to."""
    sent = Effect.objects.filter(workflow__in=workflows, destination=OuterRef("name"))
    names = DestinationRevision.objects.filter(Exists(sent), revision=1).order_by("name")
    return list(names.values_list("name", flat=True))


# ---- what waits for an admin -----------------------------------------------------------------------------


def _unknown(workflows: Collection[str]) -> QuerySet[Effect]:
    """Effects of which a person has to find something out, or that a restore put into quarantine."""
    waiting = Q(state=EffectState.NEEDS_RECONCILIATION) | Q(quarantined=True, state__in=OPEN)
    return Effect.objects.filter(waiting, workflow__in=workflows)


def list_unknown(workflows: Collection[str], limit: int, after: tuple[datetime, str] | None = None) -> list[Effect]:
    """What needs a person, the longest authorized first, after a place."""
    rows = _unknown(workflows)
    if after:
        rows = rows.filter(following(after, ("authorized_at", "operation_id")))
    return list(_without_bytes(rows).order_by("authorized_at", "operation_id")[:limit])


def count_unknown(workflows: Collection[str], most: int) -> int:
    """How many effects need a person; `most` stands for as many or more."""
    return _unknown(workflows)[:most].count()


def _open_remediations(workflows: Collection[str]) -> QuerySet[Remediation]:
    return Remediation.objects.filter(state="open", effect__workflow__in=workflows)


def list_open_remediations(
    workflows: Collection[str], limit: int, after: tuple[datetime, UUID] | None = None
) -> list[Remediation]:
    """Open remediations, the oldest first, after a place."""
    rows = _open_remediations(workflows)
    if after:
        rows = rows.filter(following(after, ("opened_at", "pk")))
    heavy = (
        "effect__run__fields",
        "effect__snapshot__manifest",
        "effect__snapshot__payload",
        "effect__snapshot__parts",
    )
    found = rows.select_related("effect__run", "effect__snapshot").defer(*heavy).prefetch_related("steps")
    return list(found.order_by("opened_at", "id")[:limit])


def count_open_remediations(workflows: Collection[str], most: int) -> int:
    """How many remediations are open; `most` stands for as many or more."""
    return _open_remediations(workflows)[:most].count()
