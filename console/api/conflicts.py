"""`/conflicts/`: every stale command that was judged, whatever became of it."""

from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from console.access import access_conflict, visible_workflows
from console.answers import answer
from console.api.base import ApiView
from console.api.filters import chosen_word
from console.api.openapi import documented, listed, ref
from console.cursors import CursorType, PageRequest, page, read_page_request
from runs.cases import list_conflicts, tell_both_sides, tell_conflict
from runs.models import Conflict
from runs.states import Disposition
from runs.values import Principal

CURSOR: CursorType[str] = CursorType("conflicts", str)


class ConflictsView(ApiView):
    """All conflicts of runs that the caller may see."""

    @documented(
        "conflicts",
        answers={200: listed("Conflict")},
        is_list=True,
        query={"run": "Only conflicts of this run", "disposition": "Only conflicts with this disposition"},
    )
    def get(self, request: Request) -> HttpResponse:
        """Conflicts, the newest first."""
        wanted = read_page_request(request._request, "run", "disposition")
        rows = _read(self.principal, wanted)
        return answer(page(rows, wanted.limit, lambda row: CURSOR.write(row.pk.hex), tell_conflict))


def _read(principal: Principal, wanted: PageRequest) -> list[Conflict]:
    disposition = chosen_word(wanted, "disposition", Disposition)
    before = UUID(CURSOR.read(wanted.cursor)[0]) if wanted.cursor else None
    return list_conflicts(
        visible_workflows(principal),
        wanted.fetch,
        before=before,
        run=wanted.filters.get("run"),
        disposition=disposition,
    )


class ConflictView(ApiView):
    """One conflict."""

    @documented("conflicts", answers={200: ref("ConflictDetail")})
    def get(self, request: Request, conflict: str) -> HttpResponse:
        """A conflict as it was answered, with the fields it was computed from and what was proposed."""
        return answer(tell_both_sides(access_conflict(self.principal, conflict)))
