"""What screens and the API read about steps that wait for a second admin. Writes nothing and takes no locks."""

import json
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from runs.chain import rfc3339
from runs.confirmations import Kinds, overtaken_by, waiting_ref
from runs.models import WaitingStep

JSON = Any

#: Counts stop here: beyond it a number says no more, and counting costs.
COUNTED_AT_MOST = 100


def list_steps(limit: int, *, before: UUID | None = None, state: str | None = None) -> list[WaitingStep]:
    """Waiting steps, the newest first, those before step `before`; `state` is `open` or `settled`."""
    rows = WaitingStep.objects.select_related("proposed_by")
    if state is not None:
        rows = rows.filter(state="open") if state == "open" else rows.exclude(state="open")
    if before is not None:
        rows = rows.filter(id__lt=before)
    return list(rows.order_by("-id")[:limit])


def list_open_steps(limit: int, after: UUID | None = None) -> list[WaitingStep]:
    """What waits, the oldest first, those after step `after`."""
    rows = WaitingStep.objects.select_related("proposed_by").filter(state="open")
    if after is not None:
        rows = rows.filter(id__gt=after)
    return list(rows.order_by("id")[:limit])


def count_steps_of_others(person: int) -> int:
    """How many steps wait that this person did not ask for; `COUNTED_AT_MOST` stands for as many or more."""
    return WaitingStep.objects.filter(state="open").exclude(proposed_by_id=person)[:COUNTED_AT_MOST].count()


def confirmed_results(kind: str, subject: str) -> Iterable[tuple[WaitingStep, JSON]]:
    """The confirmed steps of a subject, each with what confirming it made."""
    rows = WaitingStep.objects.filter(kind=kind, subject=subject, state="confirmed").order_by("-id")
    return [(row, json.loads(row.result or "{}")) for row in rows]


def tell_step(kinds: Kinds, row: WaitingStep) -> dict[str, JSON]:
    """A waiting step as the API shows it. An open one that was overtaken is void, whether or not anybody tried."""
    void = overtaken_by(kinds, row) if row.state == "open" else ""
    return {
        "waiting": waiting_ref(row.pk),
        "kind": row.kind,
        "title": kinds[row.kind].title,
        "subject": row.subject,
        "state": "void" if void else row.state,
        "because": void or row.because,
        "arguments": json.loads(row.arguments),
        "based_on": row.based_on,
        "reason": row.reason,
        "proposed_by": f"user:{row.proposed_by.username}",
        "proposed_at": rfc3339(row.proposed_at),
        "settled_by": row.settled_by or None,
        "settled_reason": row.settled_reason or None,
        "settled_at": rfc3339(row.settled_at) if row.settled_at else None,
        "without_second_person": row.without_second_person,
    }
