"""`/standing-approvals/`: approvals given in advance, within limits."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Annotated
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from approvals import standing
from approvals.models import StandingApproval
from approvals.standing import StandingRequest, standing_ref
from console.access import visible_workflows
from console.answers import answer
from console.api.base import ApiView
from console.api.openapi import documented, listed, ref
from console.api.snapshots import NewRevocation
from console.cursors import CursorType, page, read_page_request
from console.rules import Amount, Moment, Text
from console.shapes import Evidence, Id, Name, Reason, Version
from runs.chain import rfc3339
from runs.permissions import require_no_agent
from runs.values import JSON

CURSOR: CursorType[str] = CursorType("standing-approvals", str)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewStandingApproval:
    """What a reviewer approves in advance."""

    id: Id
    workflow: Name
    action: Name
    currency: Annotated[str, Text(3, r"[A-Z]{3}", "Three capital letters.")]
    limit: Annotated[Decimal, Amount()]
    total: Annotated[Decimal, Amount()]
    uses: Version
    expires_at: Annotated[datetime, Moment()]
    reason: Reason
    evidence: Evidence = ()

    def request(self) -> StandingRequest:
        return StandingRequest(**{name: getattr(self, name) for name in self.__dataclass_fields__})


def tell(row: StandingApproval) -> dict[str, JSON]:
    """A standing approval with what is left of it."""
    return {
        "id": standing_ref(row.pk),
        "by": f"user:{row.giver.username}",
        "workflow": row.workflow,
        "action": row.action,
        "currency": row.currency,
        "limit": f"{row.limit:.2f}",
        "total": f"{row.total:.2f}",
        "spent": f"{row.spent:.2f}",
        "uses": row.uses,
        "used": row.used,
        "reason": row.reason,
        "given_at": rfc3339(row.given_at),
        "expires_at": rfc3339(row.expires_at),
        "revoked_at": None if row.revoked_at is None else rfc3339(row.revoked_at),
        "revoked_by": row.revoked_by,
    }


class StandingApprovalsView(ApiView):
    """Standing approvals of the workflows that the caller may see."""

    @documented("standing approvals", answers={200: listed("StandingApproval")}, is_list=True)
    def get(self, request: Request) -> HttpResponse:
        """Standing approvals, the newest first, whether they still hold or not."""
        wanted = read_page_request(request._request)
        rows = StandingApproval.objects.select_related("giver").filter(workflow__in=visible_workflows(self.principal))
        if wanted.cursor:
            rows = rows.filter(pk__lt=UUID(CURSOR.read(wanted.cursor)[0]))
        found = list(rows.order_by("-pk")[: wanted.fetch])
        return answer(page(found, wanted.limit, lambda row: CURSOR.write(row.pk.hex), tell))

    @documented(
        "standing approvals",
        body=NewStandingApproval,
        answers={201: ref("StandingApproval"), 200: ref("StandingApproval")},
    )
    def post(self, request: Request) -> HttpResponse:
        """Approve uses of an action in advance. People only."""
        asked = self.read(NewStandingApproval, allowed=require_no_agent).request()
        given = standing.give_standing_approval(self.principal, asked)
        return answer(tell(given.row), status=200 if given.is_replay else 201, replayed=given.is_replay)


class StandingRevocationsView(ApiView):
    """Revoking a standing approval."""

    @documented(
        "standing approvals", body=NewRevocation, answers={201: ref("StandingApproval"), 200: ref("StandingApproval")}
    )
    def post(self, request: Request, standing_approval: str) -> HttpResponse:
        """Revoke a standing approval: no use of it can be claimed any more. People only."""
        asked = self.read(NewRevocation, allowed=require_no_agent)
        revoked = standing.revoke_standing_approval(
            self.principal, standing_approval, asked.id, asked.reason, asked.evidence
        )
        return answer(tell(revoked.row), status=200 if revoked.is_replay else 201, replayed=revoked.is_replay)
