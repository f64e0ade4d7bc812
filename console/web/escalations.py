"""An escalation: the case with both sides, and settling it; holding it, releasing it, passing it on."""

import json
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from console.access import access_case
from console.forms import new_id
from console.problems import problem_of
from console.rendering import render_screen, unchanged, wants_fragment
from console.web import deciding
from console.web.case_page import CasePage, read_case_page
from console.web.deciding import Decision
from console.web.gate import Viewer, signed_in, viewer_of
from console.web.paging import see_other
from runs import backlog, cases, claims
from runs.cases import tell_case
from runs.claims import ClaimRequest
from runs.errors import ClearanceError, NotFound
from runs.refusals import escalation_ref
from runs.values import Principal


@require_GET
@signed_in
def detail(request: HttpRequest, principal: Principal, ref: str) -> HttpResponse:
    page = read_case_page(principal, ref)
    drawn = {name: request.GET[name] for name in ("seen", "case_version", "drawn_verbs") if name in request.GET}
    tag = ".".join((page.tag, *drawn.values()))
    if answer := unchanged(request, tag):
        return answer
    moved = deciding.moved_meanwhile(page, drawn) if "seen" in drawn else None
    return _show(request, deciding.drawn(page), fragment="live", tag=tag, moved=moved)


@require_GET
@signed_in
def raw(request: HttpRequest, principal: Principal, ref: str) -> HttpResponse:
    case = access_case(principal, ref)
    text = json.dumps(tell_case(case), ensure_ascii=False, indent=2)
    return render_screen(request, "runs/raw.html", {"run": case.run, "title": f"case {ref}", "text": text})


@require_POST
@signed_in
def resolve(request: HttpRequest, principal: Principal, ref: str) -> HttpResponse:
    page = read_case_page(principal, ref)
    decision = _decided(request, page)
    if page.is_open and not decision.page.is_open and decision.refusal is None and not wants_fragment(request):
        return see_other(reverse("escalations:detail", args=[ref]))
    return _show(request, decision, fragment="settle", status=decision.status)


def _decided(request: HttpRequest, page: CasePage) -> Decision:
    if "continue_on" in request.POST:
        return deciding.drawn_again(page, request.POST)
    if "preview" in request.POST:
        return deciding.previewed(page, request.POST)
    return deciding.settled(page, request.POST)


# ---- holding -------------------------------------------------------------------------------------------------


@require_POST
@signed_in
def claim(request: HttpRequest, principal: Principal, ref: str) -> HttpResponse:
    asked = ClaimRequest(request.POST.get("id") or new_id())
    return _held(request, principal, ref, lambda: claims.claim(principal, ref, asked))


@require_POST
@signed_in
def release(request: HttpRequest, principal: Principal, ref: str) -> HttpResponse:
    return _held(request, principal, ref, lambda: claims.release(principal, ref))


@require_POST
@signed_in
def hand_over(request: HttpRequest, principal: Principal, ref: str) -> HttpResponse:
    return _held(request, principal, ref, lambda: claims.hand_over(principal, ref, request.POST.get("to", "")))


def _held(request: HttpRequest, principal: Principal, ref: str, change: Callable[[], object]) -> HttpResponse:
    """Change who holds a case, and show who does; a refusal stands there too."""
    refusal: ClearanceError | None = None
    try:
        change()
    except NotFound:
        raise
    except ClearanceError as error:
        refusal = error
    if refusal is None and not wants_fragment(request):
        return see_other(reverse("escalations:detail", args=[ref]))
    page = read_case_page(principal, ref)
    status = problem_of(refusal).status if refusal else 200
    response = _show(request, deciding.drawn(page), fragment="holder", status=status, refusal=refusal)
    response["HX-Trigger"] = "case-moved"
    return response


def _show(request: HttpRequest, decision: Decision, *, fragment: str, status: int = 200, **given: Any) -> HttpResponse:
    page = decision.page
    context = {
        "page": page,
        "case": page.case,
        "run": page.case.run,
        "decision": decision,
        "moved": given.get("moved"),
        "claim_refusal": given.get("refusal"),
        "tag": given.get("tag", page.tag),
        "typed_reason": request.POST.get("reason", "") if decision.refusal else "",
        "claim_id": new_id(),
        "operators": _others(page) if page.is_open else [],
        "next_case": None if page.is_open else _next_case(viewer_of(request)),
        "is_fragment": wants_fragment(request),
    }
    return render_screen(
        request, "escalations/detail.html", context, fragment=fragment, status=status, tag=given.get("tag", "")
    )


def _next_case(viewer: Viewer) -> str | None:
    """The case that this person would settle next."""
    first = cases.list_open_cases(viewer.settles, 1)
    return escalation_ref(first[0].pk) if first else None


def _others(page: CasePage) -> list[str]:
    """To whom the case could be passed on."""
    return [name for name in backlog.operators_of(page.case.policy) if name != page.case.operator.name]
