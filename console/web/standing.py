"""Standing approvals: given in advance by a reviewer, within limits; what is left of each, giving one, revoking one."""

from dataclasses import dataclass
from datetime import UTC, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from approvals import standing
from approvals.models import StandingApproval
from approvals.standing import StandingRequest, standing_ref
from console.cursors import CursorType
from console.forms import Reason, RequestId, new_id
from console.problems import problem_of
from console.rendering import render_screen
from console.web.gate import Viewer, signed_in, viewer_of
from console.web.paging import Page, see_other
from runs import authority, catalog
from runs.definitions import Workflow
from runs.errors import ClearanceError, InputError, NotFound
from runs.permissions import is_admin, is_reviewer
from runs.values import Principal

PAGE_SIZE = 50
CURSOR: CursorType[str] = CursorType("standing-list", str)
MOST_USES = 10_000


@dataclass(frozen=True, slots=True)
class StandingLine:
    """A standing approval with what is left of it, and whether it could be spent now."""

    ref: str
    row: StandingApproval
    action: str
    against: str  # why it can no longer be spent; empty while it can
    may_revoke: bool
    revoke_id: str

    @property
    def giver(self) -> str:
        return f"user:{self.row.giver.username}"


class StandingForm(forms.Form):
    """What a reviewer approves in advance."""

    id = RequestId()
    action = forms.ChoiceField(label="Action")
    currency = forms.RegexField(r"^[A-Z]{3}$", label="Currency", error_messages={"invalid": "Three capital letters."})
    limit = forms.DecimalField(label="At most per use", max_digits=14, decimal_places=2, min_value=0)
    total = forms.DecimalField(label="At most in all", max_digits=14, decimal_places=2, min_value=0)
    uses = forms.IntegerField(label="Uses", min_value=1, max_value=MOST_USES)
    expires_at = forms.DateTimeField(
        label="Valid until (UTC)",
        input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"],
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )
    reason = Reason(help_text="Shown wherever it counts as an approval.")

    def __init__(self, actions: list[tuple[str, str]], data: QueryDict | None = None, **options: Any) -> None:
        super().__init__(data, auto_id="standing-%s", **options)
        fields: Any = self.fields  # a choice field, whose stub does not know its choices
        fields["action"].choices = actions

    def request(self) -> StandingRequest:
        """What was asked for, from a valid form."""
        given = self.cleaned_data
        workflow, _, action = given["action"].partition("/")
        return StandingRequest(
            id=given["id"],
            workflow=workflow,
            action=action,
            currency=given["currency"],
            limit=given["limit"],
            total=given["total"],
            uses=given["uses"],
            expires_at=given["expires_at"].replace(tzinfo=UTC),
            reason=given["reason"],
        )


class RevokeForm(forms.Form):
    """Why a standing approval no longer stands."""

    id = RequestId()
    reason = Reason()


@require_GET
@signed_in
def list_standing(request: HttpRequest, principal: Principal) -> HttpResponse:
    return _show(request)


@require_POST
@signed_in
def give(request: HttpRequest, principal: Principal) -> HttpResponse:
    form = StandingForm(_actions(viewer_of(request)), request.POST)
    if not form.is_valid():
        return _show(request, form=form, status=422)
    try:
        standing.give_standing_approval(principal, form.request())
    except NotFound:
        raise
    except InputError as faults:
        for fault in faults.errors:
            name = fault.pointer.strip("/")
            form.add_error(name if name in form.fields else None, fault.detail)
        return _show(request, form=form, status=422)
    except ClearanceError as refusal:
        return _show(request, form=form, refusal=refusal, status=problem_of(refusal).status)
    return see_other(reverse("standing:list"))


@require_POST
@signed_in
def revoke(request: HttpRequest, principal: Principal, ref: str) -> HttpResponse:
    form = RevokeForm(request.POST)
    if not form.is_valid():
        return _show(request, revoking=ref, revoke_form=form, status=422)
    try:
        standing.revoke_standing_approval(principal, ref, form.cleaned_data["id"], form.cleaned_data["reason"])
    except NotFound:
        raise
    except ClearanceError as refusal:
        return _show(request, refusal=refusal, status=problem_of(refusal).status)
    return see_other(reverse("standing:list"))


def _show(request: HttpRequest, *, status: int = 200, **told: Any) -> HttpResponse:
    viewer = viewer_of(request)
    rows = StandingApproval.objects.select_related("giver").filter(workflow__in=viewer.sees)
    if after := request.GET.get("after"):
        rows = rows.filter(pk__lt=UUID(CURSOR.read(after)[0]))
    found = list(rows.order_by("-pk")[: PAGE_SIZE + 1])
    shown, actions = found[:PAGE_SIZE], _actions(viewer)
    workflows = {workflow.slug: workflow for workflow in catalog.list_workflows()}
    older = f"?after={CURSOR.write(shown[-1].pk.hex)}" if len(found) > PAGE_SIZE else ""
    refusal: ClearanceError | None = told.get("refusal")
    context = {
        **told,
        "lines": [_line(viewer, row, workflows[row.workflow]) for row in shown],
        "page": Page("?" if after else "", older, f"{len(shown)} shown, the newest first"),
        "form": told.get("form") or _drawn(viewer, actions),
        "may_give": bool(actions),
        "title": problem_of(refusal).title if refusal else "",
    }
    return render_screen(request, "standing/list.html", context, status=status)


def _drawn(viewer: Viewer, actions: list[tuple[str, str]]) -> StandingForm:
    until = (viewer.now + timedelta(days=7)).astimezone(UTC).replace(second=0, microsecond=0)
    return StandingForm(actions, initial={"id": new_id(), "currency": "EUR", "uses": 1, "expires_at": until})


def _actions(viewer: Viewer) -> list[tuple[str, str]]:
    """The actions that this person could approve in advance."""
    return [
        (f"{workflow.slug}/{action.name}", f"{action.title} ({workflow.title})")
        for workflow in catalog.list_workflows()
        if workflow.slug in viewer.sees
        and is_reviewer(viewer.principal, authority.policy_of(workflow.slug, viewer.epoch))
        for action in workflow.actions.values()
        if action.standing is not None
    ]


def _line(viewer: Viewer, row: StandingApproval, workflow: Workflow) -> StandingLine:
    policy = authority.policy_of(row.workflow, viewer.epoch)
    action = workflow.actions.get(row.action)
    may_revoke = is_admin(viewer.principal) or is_reviewer(viewer.principal, policy)
    against = {
        "revoked": row.revoked_at is not None,
        "expired": row.expires_at <= viewer.now,
        "used up": row.used >= row.uses or row.spent >= row.total,
        "given under an older authority of the workflow": row.authority_version != policy.authority_version,
    }
    return StandingLine(
        ref=standing_ref(row.pk),
        row=row,
        action=action.title if action else row.action,
        against=next((words for words, holds in against.items() if holds), ""),
        may_revoke=may_revoke and row.revoked_at is None,
        revoke_id=new_id(),
    )
