"""A bulk repair: planned, looked at row by row, applied, and told row by row."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from console.forms import RequestId, new_id
from console.problems import problem_of
from console.rendering import render_screen, wants_fragment
from console.web.gate import signed_in
from console.web.paging import see_other
from console.web.repair_plan_form import REPAIRS, PlanForm
from outbox import plans
from outbox.plans import ApplicationRequest, AppliedRow, Plan, PlannedRow, RowState
from runs.errors import ClearanceError, NotFound
from runs.permissions import is_admin
from runs.values import Principal

PAGE = "effects/plan.html"


class ApplyForm(forms.Form):
    """Applying a plan that was looked at."""

    id = RequestId()


@dataclass(frozen=True, slots=True)
class PlanLine:
    """One effect of a plan: what was planned, and what applying it came to."""

    planned: PlannedRow
    applied: AppliedRow | None

    @property
    def state(self) -> RowState:
        return self.applied.state if self.applied else self.planned.state

    @property
    def because(self) -> str:
        return self.applied.because if self.applied else self.planned.because


@require_POST
@signed_in
def create(request: HttpRequest, principal: Principal) -> HttpResponse:
    form = PlanForm(request.POST)
    if not form.is_valid():
        return render_screen(request, "effects/plan_refused.html", {"form": form}, status=422)
    try:
        plan = plans.make_plan(principal, form.request())
    except NotFound:
        raise
    except ClearanceError as refusal:
        context = {"form": form, "refusal": refusal, "title": problem_of(refusal).title}
        return render_screen(request, "effects/plan_refused.html", context, status=problem_of(refusal).status)
    return see_other(reverse("repair-plans:detail", args=[plan.ref]))


@require_GET
@signed_in
def detail(request: HttpRequest, principal: Principal, ref: str) -> HttpResponse:
    plan = plans.get_plan(principal, ref)
    done = request.GET.get("done")
    applied = plans.recorded_application(principal, ref, ApplicationRequest(done)) if done else None
    return _show(request, principal, plan, applied)


@require_POST
@signed_in
def apply(request: HttpRequest, principal: Principal, ref: str) -> HttpResponse:
    plan = plans.get_plan(principal, ref)
    form = ApplyForm(request.POST)
    if not form.is_valid():
        raise NotFound
    asked = form.cleaned_data["id"]
    applied = plans.apply_plan(principal, ref, ApplicationRequest(asked))
    if not wants_fragment(request):
        return see_other(f"{reverse('repair-plans:detail', args=[ref])}?done={asked}")
    return _show(request, principal, plan, applied)


def _show(request: HttpRequest, principal: Principal, plan: Plan, applied: plans.Application | None) -> HttpResponse:
    told = {row.effect: row for row in applied.rows} if applied else {}
    lines = [PlanLine(row, told.get(row.effect)) for row in plan.rows]
    context: dict[str, Any] = {
        "plan": plan,
        "lines": lines,
        "repair": dict(REPAIRS)[plan.row.repair],
        "counts": {state.name: sum(line.state is state for line in lines) for state in RowState},
        "applied": applied,
        "may_apply": is_admin(principal),
        "apply_id": new_id(),
    }
    return render_screen(request, PAGE, context, fragment="plan")
