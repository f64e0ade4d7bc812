"""Open escalations as a queue of the inbox: for operators those they may settle, for overseers all, to look at."""

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from console.access import visible_workflows
from console.cursors import CursorType
from console.web.case_line import CaseLine, case_lines
from console.web.queues import Item
from runs import authority, backlog, cases
from runs.cases import QueuePlace
from runs.models import Escalation
from runs.permissions import is_admin, is_auditor, is_operator
from runs.values import Principal

CURSORS: CursorType[bool, datetime, str] = CursorType("inbox-escalations", bool, datetime, str)


class CaseQueue:
    """The queue of open escalations."""

    key = "escalations"
    label = "Escalations"

    def is_for(self, principal: Principal) -> bool:
        return bool(_shown(principal))

    def count(self, principal: Principal) -> int:
        return backlog.count_open_cases(_settled(principal))

    def items(self, principal: Principal, limit: int, after: str | None) -> Sequence[Item]:
        rows = cases.list_open_cases(_shown(principal), limit, after=_place(after))
        (_, now), mine = authority.epoch_and_now(), _settled(principal)
        lines = case_lines(rows, now)
        return [_item(row, line, is_mine=row.workflow in mine) for row, line in zip(rows, lines, strict=True)]


def _shown(principal: Principal) -> Collection[str]:
    """The workflows whose cases this person sees here."""
    overseer = is_admin(principal) or is_auditor(principal)
    return visible_workflows(principal) if overseer else _settled(principal)


def _settled(principal: Principal) -> Collection[str]:
    """The workflows whose cases this person may settle."""
    epoch = authority.current_epoch()
    return [slug for slug in visible_workflows(principal) if is_operator(principal, authority.policy_of(slug, epoch))]


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
