"""Remediations: what is done about a send that should not stand, step by step."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from console.cursors import CursorType
from console.forms import Reason, RequestId, new_id
from console.hostile import Shown
from console.lookalikes import inspect_name
from console.payloads import cut
from console.problems import problem_of
from console.rendering import render_screen, wants_fragment
from console.web.finding_out import LONGEST_EVIDENCE, Written
from console.web.gate import signed_in, viewer_of
from console.web.paging import Page, see_other
from outbox import remediations
from outbox.models import Remediation
from outbox.overview import list_open_remediations
from outbox.remediations import RemediationStepKind, StepRequest, get_remediation, remediation_ref
from outbox.targets import declares, revision_of
from runs.errors import ClearanceError, NotFound
from runs.permissions import is_admin
from runs.values import Principal

PAGE, PAGE_SIZE = "remediations/detail.html", 50
CURSOR: CursorType[datetime, str] = CursorType("remediation-list", datetime, str)

#: What can be done, in words, in the order in which it is usually tried.
STEPS = {
    RemediationStepKind.PROVIDER_CANCEL: "Ask the provider to cancel",
    RemediationStepKind.NOTIFIED: "Somebody was told",
    RemediationStepKind.COMPENSATED: "It was compensated",
    RemediationStepKind.CORRECTED: "A corrected version went out",
    RemediationStepKind.CLOSED: "Close: nothing more is to be done",
}


class StepForm(forms.Form):
    """One step, with evidence."""

    id = RequestId()
    step = forms.ChoiceField(
        choices=[(kind.value, words) for kind, words in STEPS.items()],
        error_messages={"required": "Choose what was done.", "invalid_choice": "This is no choice."},
    )
    evidence = Written(
        LONGEST_EVIDENCE,
        "Say what was done and where that can be seen.",
        label="Evidence",
        widget=forms.Textarea(attrs={"rows": 2, "placeholder": "What was done, and where that can be seen"}),
    )
    reason = Reason(label="Why")

    def __init__(self, data: QueryDict | None = None, **options: Any) -> None:
        super().__init__(data, auto_id="step-%s", **options)
        self.fields["reason"].widget.attrs["rows"] = 1

    def request(self) -> StepRequest:
        """What was asked for, from a valid form."""
        given = self.cleaned_data
        return StepRequest(given["id"], RemediationStepKind(given["step"]), given["evidence"], given["reason"])


@dataclass(frozen=True, slots=True)
class StepChoice:
    """A step that could be taken, or why it cannot."""

    kind: RemediationStepKind
    title: str
    because: str


@dataclass(frozen=True, slots=True)
class RemediationLine:
    """A remediation as a line of the list."""

    ref: str
    row: Remediation
    sentence: Shown


@require_GET
@signed_in
def list_remediations(request: HttpRequest, principal: Principal) -> HttpResponse:
    after = None
    if cursor := request.GET.get("after"):
        at, number = CURSOR.read(cursor)
        after = (at, UUID(number))
    found = list_open_remediations(viewer_of(request).sees, PAGE_SIZE + 1, after)
    rows = found[:PAGE_SIZE]
    more = f"?after={CURSOR.write(rows[-1].opened_at, rows[-1].pk.hex)}" if len(found) > PAGE_SIZE else ""
    page = Page("?" if after else "", more, f"{len(rows)} open, the oldest first")
    return render_screen(request, "remediations/list.html", {"lines": [line_of(row) for row in rows], "page": page})


def line_of(row: Remediation) -> RemediationLine:
    """A remediation as a line."""
    return RemediationLine(remediation_ref(row.pk), row, cut(inspect_name(row.effect.snapshot.sentence), 160))


@require_GET
@signed_in
def detail(request: HttpRequest, principal: Principal, ref: str) -> HttpResponse:
    return _show(request, principal, ref)


@require_POST
@signed_in
def take_step(request: HttpRequest, principal: Principal, ref: str) -> HttpResponse:
    get_remediation(principal, ref)
    form = StepForm(request.POST)
    if not form.is_valid():
        return _show(request, principal, ref, form=form, status=422)
    try:
        remediations.take_step(principal, ref, form.request())
    except NotFound:
        raise
    except ClearanceError as refusal:
        return _show(request, principal, ref, form=form, refusal=refusal, status=problem_of(refusal).status)
    if not wants_fragment(request):
        return see_other(reverse("remediations:detail", args=[ref]))
    return _show(request, principal, ref, done=True)


def _show(request: HttpRequest, principal: Principal, ref: str, *, status: int = 200, **told: Any) -> HttpResponse:
    row = get_remediation(principal, ref)
    form = told.get("form")
    if form is None or not form.errors:
        typed = {name: form[name].value() for name in ("step", "evidence", "reason")} if form else {}
        form = StepForm(initial={**typed, "id": new_id()})
    refusal: ClearanceError | None = told.get("refusal")
    context = {
        "ref": ref,
        "row": row,
        "effect": row.effect,
        "run": row.effect.run,
        "sentence": cut(inspect_name(row.effect.snapshot.sentence), 240),
        "steps": list(row.steps.order_by("id")),
        "titles": STEPS,
        "choices": _choices(row),
        "form": form,
        "refusal": refusal,
        "title": problem_of(refusal).title if refusal else "",
        "done": told.get("done", False),
        "may_act": is_admin(principal) and row.state == "open",
    }
    return render_screen(request, PAGE, context, fragment="remediation", status=status)


def _choices(row: Remediation) -> list[StepChoice]:
    destination = revision_of(row.effect)
    can_cancel = declares(destination, "cancel_url")
    because = (
        {} if can_cancel else {RemediationStepKind.PROVIDER_CANCEL: f"{destination.name} declares no way to cancel."}
    )
    return [StepChoice(kind, title, because.get(kind, "")) for kind, title in STEPS.items()]
