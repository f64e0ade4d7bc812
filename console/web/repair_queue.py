"""What admins have to see to, as a queue of the inbox: unknown outcomes first, then open remediations."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from console.cursors import CursorType
from console.web.case_line import ageing
from console.web.effect_list import EffectLine, line_of
from console.web.gate import Viewer
from console.web.queues import COUNTED_AT_MOST, Item
from console.web.remediations import RemediationLine
from console.web.remediations import line_of as remediation_line
from outbox.models import Effect, Remediation
from outbox.overview import (
    count_open_remediations,
    count_unknown,
    list_open_remediations,
    list_unknown,
)
from runs.permissions import is_admin

CURSORS: CursorType[str, datetime, str] = CursorType("inbox-repairs", str, datetime, str)

#: Nobody knows what happened: that comes before everything; a remediation ranks with what is material.
UNKNOWN_RANK, REMEDIATION_RANK = 2, 1


class RepairQueue:
    """The queue of what admins repair. Auditors see it too, to look at."""

    key = "repairs"
    label = "Repairs"

    def is_for(self, viewer: Viewer) -> bool:
        return viewer.is_overseer

    def count(self, viewer: Viewer) -> int:
        if not is_admin(viewer.principal):
            return 0
        counted = count_unknown(viewer.sees, COUNTED_AT_MOST) + count_open_remediations(viewer.sees, COUNTED_AT_MOST)
        return min(counted, COUNTED_AT_MOST)

    def items(self, viewer: Viewer, limit: int, after: str | None) -> Sequence[Item]:
        kind, at, number = CURSORS.read(after) if after else ("effect", None, "")
        found: list[Item] = []
        if kind == "effect":
            place = (at, number) if at else None
            found = [_effect_item(viewer, row) for row in list_unknown(viewer.sees, limit, place)]
        rest = limit - len(found)
        if rest > 0:
            since = (at, UUID(number)) if kind == "remediation" and at else None
            found += [_remediation_item(viewer, row) for row in list_open_remediations(viewer.sees, rest, since)]
        return found


def _effect_item(viewer: Viewer, row: Effect) -> Item:
    line: EffectLine = line_of(row)
    tone = ageing(row.authorized_at, viewer.now)
    return Item(
        template="inbox/_effect_row.html",
        line={"effect": line, "ageing": tone, "is_mine": is_admin(viewer.principal)},
        rank=UNKNOWN_RANK,
        since=row.authorized_at,
        place=CURSORS.write("effect", row.authorized_at, row.pk),
        mark=f"{row.pk}.{row.version}.{tone}",
    )


def _remediation_item(viewer: Viewer, row: Remediation) -> Item:
    line: RemediationLine = remediation_line(row)
    tone = ageing(row.opened_at, viewer.now)
    return Item(
        template="inbox/_remediation_row.html",
        line={"remediation": line, "ageing": tone, "is_mine": is_admin(viewer.principal)},
        rank=REMEDIATION_RANK,
        since=row.opened_at,
        place=CURSORS.write("remediation", row.opened_at, row.pk.hex),
        mark=f"{row.pk}.{len(row.steps.all())}.{tone}",
    )
