"""`/repair-plans/`: one repair of several effects, planned row by row, looked at, and applied row by row."""

from dataclasses import asdict, dataclass
from typing import Annotated

from django.http import HttpResponse
from rest_framework.request import Request

from console.answers import answer
from console.api.base import ApiView
from console.api.openapi import documented, ref
from console.rules import Choice, Items, Text
from console.shapes import Evidence, Id, Reason
from outbox.plans import MOST_ROWS, ApplicationRequest, Plan, PlanRequest, apply_plan, get_plan, make_plan
from outbox.states import RepairKind
from runs.chain import rfc3339
from runs.permissions import require_admin
from runs.values import JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPlan:
    """Which effects are to be repaired alike."""

    id: Id
    effects: Annotated[tuple[str, ...], Items(Text(200), MOST_ROWS)]
    repair: Annotated[str, Choice(*RepairKind)]
    reason: Reason
    evidence: Evidence = ()

    def request(self) -> PlanRequest:
        return PlanRequest(self.id, self.effects, RepairKind(self.repair), self.reason, self.evidence)


class RepairPlansView(ApiView):
    """Plans of repairs."""

    @documented("effects", body=NewPlan, answers={201: ref("RepairPlan"), 200: ref("RepairPlan")})
    def post(self, request: Request) -> HttpResponse:
        """Plan a repair: what applying it would come to for every effect, on the version it is at. Admins only."""
        plan = make_plan(self.principal, self.read(NewPlan, allowed=require_admin).request())
        return answer(_tell_plan(plan), status=200 if plan.is_replay else 201, replayed=plan.is_replay)


class RepairPlanView(ApiView):
    """One plan."""

    @documented("effects", answers={200: ref("RepairPlan")})
    def get(self, request: Request, plan: str) -> HttpResponse:
        """A plan as it was made. For admins and auditors."""
        return answer(_tell_plan(get_plan(self.principal, plan)))


@dataclass(frozen=True, slots=True, kw_only=True)
class NewApplication:
    """That a plan was looked at and is to be applied."""

    id: Id
    reason: Reason | None = None
    evidence: Evidence = ()

    def request(self) -> ApplicationRequest:
        return ApplicationRequest(self.id, self.reason, self.evidence)


class ApplicationsView(ApiView):
    """Applying a plan."""

    @documented("effects", body=NewApplication, answers={201: ref("RepairsApplied"), 200: ref("RepairsApplied")})
    def post(self, request: Request, plan: str) -> HttpResponse:
        """Order the planned repair of every effect; what moved since is refused, and the others go on. Admins only."""
        asked = self.read(NewApplication, allowed=require_admin).request()
        applied = apply_plan(self.principal, plan, asked)
        told = {"plan": plan, "rows": [asdict(row) for row in applied.rows]}
        return answer(told, status=200 if applied.is_replay else 201, replayed=applied.is_replay)


def _tell_plan(plan: Plan) -> dict[str, JSON]:
    return {
        "id": plan.ref,
        "repair": plan.repair.value,
        "reason": plan.row.reason,
        "evidence": plan.row.evidence,
        "by": plan.row.by,
        "at": rfc3339(plan.row.at),
        "rows": [asdict(row) for row in plan.rows],
    }
