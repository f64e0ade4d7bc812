"""What waits for a second admin, as a queue of the inbox: the oldest first."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from console.cursors import CursorType
from console.waiting_kinds import KINDS
from console.web.case_line import ageing
from console.web.gate import Viewer
from console.web.queues import Item
from runs.confirmations import may_confirm, overtaken_by, waiting_ref
from runs.models import WaitingStep
from runs.permissions import is_admin
from runs.waiting_list import count_steps_of_others, list_open_steps

CURSORS: CursorType[str] = CursorType("inbox-confirmations", str)

#: It gives power rather than repairing harm: what is material comes first.
RANK = 0


@dataclass(frozen=True, slots=True)
class StepLine:
    """A waiting step as a row of the inbox."""

    row: WaitingStep
    ref: str
    title: str
    void: str
    is_mine: bool  # whether this person may confirm it
    ageing: str

    @property
    def proposer(self) -> str:
        return f"user:{self.row.proposed_by.username}"


class ConfirmationQueue:
    """The queue of what a second admin confirms. Auditors see it too, to look at."""

    key = "confirmations"
    label = "Second admin"

    def is_for(self, viewer: Viewer) -> bool:
        return viewer.is_overseer

    def count(self, viewer: Viewer) -> int:
        return count_steps_of_others(viewer.principal.id) if is_admin(viewer.principal) else 0

    def items(self, viewer: Viewer, limit: int, after: str | None) -> Sequence[Item]:
        since = UUID(CURSORS.read(after)[0]) if after else None
        return [_item(viewer, row) for row in list_open_steps(limit, since)]


def _item(viewer: Viewer, row: WaitingStep) -> Item:
    line = StepLine(
        row=row,
        ref=waiting_ref(row.pk),
        title=KINDS[row.kind].title,
        void=overtaken_by(KINDS, row),
        is_mine=not may_confirm(KINDS, viewer.principal, row),
        ageing=ageing(row.proposed_at, viewer.now),
    )
    return Item(
        template="inbox/_confirmation_row.html",
        line=line,
        rank=RANK,
        since=row.proposed_at,
        place=CURSORS.write(row.pk.hex),
        mark=f"{row.pk}.{line.is_mine}.{bool(line.void)}.{line.ageing}",
    )
