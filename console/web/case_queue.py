"""Open escalations as a queue of the inbox: for operators those they may settle, for overseers all, to look at."""

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from console.cursors import CursorType
from console.web.case_line import CaseLine, case_lines
from console.web.gate import Viewer
from console.web.queues import Item
from runs import backlog, cases
from runs.cases import QueuePlace
from runs.models import Escalation

CURSORS: CursorType[bool, datetime, str] = CursorType("inbox-escalations", bool, datetime, str)


class CaseQueue:
    """The queue of open escalations."""

    key = "escalations"
    label = "Escalations"

    def is_for(self, viewer: Viewer) -> bool:
        return bool(_shown(viewer))

    def count(self, viewer: Viewer) -> int:
        return backlog.count_open_cases(viewer.settles)

    def items(self, viewer: Viewer, limit: int, after: str | None) -> Sequence[Item]:
        rows = cases.list_open_cases(_shown(viewer), limit, after=_place(after))
        lines = case_lines(rows, viewer.now)
        mine = viewer.settles
        return [_item(row, line, is_mine=row.workflow in mine) for row, line in zip(rows, lines, strict=True)]


def _shown(viewer: Viewer) -> Collection[str]:
    """The workflows whose cases this person sees here."""
    return viewer.sees if viewer.is_overseer else viewer.settles


def _place(after: str | None) -> QueuePlace | None:
    if after is None:
        return None
    is_material, opened_at, number = CURSORS.read(after)
    return QueuePlace(is_material, opened_at, UUID(number))


def _item(row: Escalation, line: CaseLine, *, is_mine: bool) -> Item:
    return Item(
        template="inbox/_case_row.html",
        line={"case": line, "is_mine": is_mine},
        rank=int(row.is_material),
        since=row.opened_at,
        place=CURSORS.write(row.is_material, row.opened_at, row.pk.hex),
        mark=line.mark,
    )
