"""`/confirmations/`: what waits for a second admin, and confirming it."""

from dataclasses import dataclass
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from console.answers import answer
from console.api.base import ApiView
from console.api.filters import chosen_word
from console.api.openapi import documented, listed, ref
from console.cursors import CursorType, page, read_page_request
from console.shapes import Evidence, Id, Reason
from console.waiting_kinds import KINDS
from runs.confirmations import Settling, confirm
from runs.permissions import require_admin, require_overseer
from runs.waiting_list import list_steps, tell_step

CURSOR: CursorType[str] = CursorType("confirmations", str)

STATES = ("open", "settled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """That a second admin agrees, and why."""

    id: Id
    reason: Reason
    evidence: Evidence = ()


class ConfirmationsView(ApiView):
    """All waiting steps."""

    @documented(
        "confirmations", answers={200: listed("WaitingStep")}, is_list=True, query={"state": "`open` or `settled`"}
    )  # fmt: skip
    def get(self, request: Request) -> HttpResponse:
        """Waiting steps, the newest first. One that is overtaken says so before anybody tries to confirm it."""
        require_overseer(self.principal)
        wanted = read_page_request(request._request, "state")
        state = chosen_word(wanted, "state", STATES)
        before = UUID(CURSOR.read(wanted.cursor)[0]) if wanted.cursor else None
        rows = list_steps(wanted.fetch, before=before, state=state)
        return answer(page(rows, wanted.limit, lambda row: CURSOR.write(row.pk.hex), lambda row: tell_step(KINDS, row)))


class ConfirmationView(ApiView):
    """One waiting step."""

    @documented("confirmations", body=Confirmation, answers={201: ref("Confirmed"), 200: ref("Confirmed")})
    def post(self, request: Request, waiting: str) -> HttpResponse:
        """Confirm it as a second admin. What it asks for is in force with this answer."""
        body = self.read(Confirmation, allowed=require_admin)
        settled = confirm(KINDS, self.principal, waiting, Settling(body.id, body.reason, body.evidence))
        return answer(settled.answer, status=200 if settled.is_replay else 201, replayed=settled.is_replay)
