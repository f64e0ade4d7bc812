"""The policy of a workflow: what it says, its history, and a form to change it for admins."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from console.access import access_workflow
from console.changes import Change, told_changes
from console.forms import expected_version
from console.policy_form import PolicyForm
from console.problems import problem_of
from console.rendering import render_screen
from console.web.gate import signed_in
from console.web.paging import see_other
from console.web.workflows import frame
from runs import authority, policies
from runs.definitions import Policy, Workflow
from runs.errors import ClearanceError, InputError, VersionConflict
from runs.policies import PastPolicy, PolicyRequest, change_policy, list_history, past_policy
from runs.policy_terms import write_terms
from runs.requests import Answer
from runs.values import Principal, version_tag
from runs.waiting_list import confirmed_results

#: Versions in the history of the page.
VERSIONS = 50


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """One version of a policy in its history."""

    past: PastPolicy
    changes: tuple[Change, ...]
    confirmed_by: str


@require_GET
@signed_in
def show(request: HttpRequest, principal: Principal, slug: str) -> HttpResponse:
    workflow, policy = access_workflow(principal, slug)
    return _page(request, principal, workflow, policy, PolicyForm.drawn(workflow, policy, _seen(policy)))


@require_POST
@signed_in
def change(request: HttpRequest, principal: Principal, slug: str) -> HttpResponse:
    workflow, policy = access_workflow(principal, slug)
    form = PolicyForm(workflow, request.POST)
    if "continue_on" in request.POST:
        again = PolicyForm.drawn(workflow, policy, _seen(policy), _touched(form, policy, slug))
        return _page(request, principal, workflow, policy, again)
    if not form.is_valid():
        return _page(request, principal, workflow, policy, form, status=422)
    try:
        answer = _change(principal, slug, form)
    except InputError as refusal:
        form.add_faults(refusal.errors)
        return _page(request, principal, workflow, policy, form, status=422)
    except VersionConflict as refusal:
        return _page(request, principal, workflow, policy, form, refusal=refusal, moved=_moved(slug, form, policy))
    except ClearanceError as refusal:
        return _page(request, principal, workflow, policy, form, refusal=refusal)
    return _done(request, slug, answer)


def _seen(policy: Policy) -> str:
    return version_tag(authority.ledger_epoch(), policy.version).strip('"')


def _base(slug: str, form: PolicyForm) -> Policy | None:
    """The policy that the form was drawn for, if it still can be told."""
    version = expected_version(form.cleaned_data["seen"], authority.ledger_epoch())
    return past_policy(slug, version)


def _change(principal: Principal, slug: str, form: PolicyForm) -> Answer:
    given, base = form.cleaned_data, _base(slug, form)
    changes = form.terms() if base is None else form.changes(base)
    expected = base.version if base else 0
    return change_policy(principal, slug, PolicyRequest(given["id"], expected, changes, given["reason"]))


def _moved(slug: str, form: PolicyForm, policy: Policy) -> tuple[Change, ...]:
    """What others changed since the form was drawn."""
    base = _base(slug, form)
    return () if base is None else tuple(told_changes(write_terms(base), write_terms(policy)))


def _touched(form: PolicyForm, policy: Policy, slug: str) -> Mapping[str, Any]:
    """What this person had changed in the form, to be kept on the newer version of the policy."""
    form.is_valid()
    base = _base(slug, form) if "seen" in form.cleaned_data else None
    drawn = PolicyForm.drawn(form.workflow, base or policy, "1.1").initial
    return {name: value for name, value in form.typed().items() if _differs(value, drawn.get(name))}


def _differs(typed: Any, drawn: Any) -> bool:
    shown = "\n".join(drawn) if isinstance(drawn, list) else "" if drawn is None else drawn
    return str(typed).replace("\r\n", "\n").strip() != str(shown)


def _done(request: HttpRequest, slug: str, answer: Answer) -> HttpResponse:
    if answer.waiting is None:
        messages.success(request, f"In force, as version {answer.made['version']}.")
    else:
        messages.warning(request, answer.because)
    return see_other(reverse("workflows:policy", args=[slug]))


def _page(
    request: HttpRequest,
    principal: Principal,
    workflow: Workflow,
    policy: Policy,
    form: PolicyForm,
    *,
    status: int = 200,
    refusal: ClearanceError | None = None,
    moved: tuple[Change, ...] = (),
) -> HttpResponse:
    context = {
        **frame(principal, workflow, policy, "policy"),
        "form": form,
        "terms": policies.tell_policy(workflow.slug, policy),
        "history": _history(workflow.slug),
        "refusal": refusal,
        "title": problem_of(refusal).title if refusal else "",
        "moved": moved,
    }
    return render_screen(
        request, "workflows/policy.html", context, status=problem_of(refusal).status if refusal else status
    )


def _history(slug: str) -> list[HistoryLine]:
    confirmed = {result.get("version"): row for row, result in confirmed_results(policies.KIND, slug)}
    return [
        HistoryLine(past, tuple(_told(past.changed)), _confirmed_by(confirmed, past.row.version))
        for past in list_history(slug, VERSIONS)
    ]


def _confirmed_by(confirmed: Mapping[Any, Any], version: int) -> str:
    return confirmed[version].settled_by if version in confirmed else ""


def _told(changed: Mapping[str, Mapping[str, Any]]) -> list[Change]:
    sides = ({member: change[side] for member, change in changed.items()} for side in ("from", "to"))
    return told_changes(*sides)
