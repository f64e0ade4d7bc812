"""An effect: what was sent and what came of it, finding out what happened, and ordering what follows."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from console.access import access_effect
from console.forms import new_id
from console.rendering import render_screen, unchanged, wants_fragment
from console.waiting_kinds import KINDS
from console.web import finding_out
from console.web.effect_case import read_effect_page
from console.web.finding_out import ConfirmForm, Done, FindingOut, RepairForm, VerdictForm
from console.web.gate import signed_in
from console.web.paging import see_other
from outbox import findings
from outbox.lookups import LookupRequest, look_up_now
from runs import confirmations
from runs.confirmations import Settling
from runs.errors import ClearanceError, NotFound
from runs.values import Principal

PAGE = "effects/detail.html"


@require_GET
@signed_in
def detail(request: HttpRequest, principal: Principal, number: str) -> HttpResponse:
    page = read_effect_page(principal, number)
    drawn = [request.GET[name] for name in ("offers", "drawn_version") if name in request.GET]
    tag = ".".join((page.tag, *drawn)).replace(" ", "_")
    if answer := unchanged(request, tag):
        return answer
    margin = FindingOut(page)
    if asked := request.GET.get("done"):
        margin = replace(margin, done=finding_out.recorded(page, asked, is_repeat="again" in request.GET))
    return _show(request, margin, fragment="live", tag=tag)


def _show(request: HttpRequest, margin: FindingOut, *, fragment: str, tag: str = "") -> HttpResponse:
    page = margin.page
    context: dict[str, Any] = {
        "page": page,
        "effect": page.effect,
        "run": page.case.run,
        "margin": margin,
        "tag": tag or page.tag,
        "lookup_id": new_id(),
        "overtaken": finding_out.overtaken(page, request.GET),
        "is_fragment": wants_fragment(request),
    }
    return render_screen(request, PAGE, context, fragment=fragment, status=margin.status, tag=tag)


# ---- finding out ---------------------------------------------------------------------------------------------


@require_POST
@signed_in
def give_verdict(request: HttpRequest, principal: Principal, number: str) -> HttpResponse:
    page = read_effect_page(principal, number)
    form = VerdictForm(request.POST, auto_id="verdict-%s")
    if not form.is_valid():
        return _answer(request, FindingOut(page, form))
    try:
        ordered = findings.give_verdict(principal, number, form.request())
    except ClearanceError as refusal:
        return _refused(request, principal, number, form, refusal)
    return _done(request, principal, number, form.cleaned_data["id"], _told("verdict", ordered))


@require_POST
@signed_in
def order_repair(request: HttpRequest, principal: Principal, number: str) -> HttpResponse:
    page = read_effect_page(principal, number)
    form = RepairForm(request.POST, auto_id="repair-%s")
    if not form.is_valid():
        return _answer(request, FindingOut(page, form))
    try:
        ordered = findings.order_repair(principal, number, form.request())
    except ClearanceError as refusal:
        return _refused(request, principal, number, form, refusal)
    return _done(request, principal, number, form.cleaned_data["id"], _told("repair", ordered))


def _told(name: str, ordered: findings.Ordered) -> Done:
    return Done(name, {"waiting": ordered.waiting, "because": ordered.because}, ordered.is_replay)


@require_POST
@signed_in
def look_up(request: HttpRequest, principal: Principal, number: str) -> HttpResponse:
    """Ask the provider now. What was typed into a verdict beside it is kept."""
    access_effect(principal, number)
    asked = request.POST.get("lookup_id") or new_id()
    try:
        found = look_up_now(principal, number, LookupRequest(asked))
    except ClearanceError as refusal:
        return _refused(request, principal, number, None, refusal)
    return _done(request, principal, number, asked, Done("look-up", {"effect": number}, found.is_replay))


@require_POST
@signed_in
def confirm(request: HttpRequest, principal: Principal, number: str, ref: str) -> HttpResponse:
    """Confirm, as a second admin, what somebody asked for about this effect."""
    page = read_effect_page(principal, number)
    if confirmations.get_step(ref).subject != number:
        raise NotFound
    form = ConfirmForm(request.POST, auto_id=f"{ref}-%s")
    if not form.is_valid():
        return _answer(request, FindingOut(page, form, about=ref))
    given = form.cleaned_data
    try:
        settled = confirmations.confirm(KINDS, principal, ref, Settling(given["id"], given["reason"]))
    except ClearanceError as refusal:
        return _refused(request, principal, number, form, refusal)
    return _done(request, principal, number, given["id"], Done("confirm", {}, settled.is_replay))


# ---- answering -----------------------------------------------------------------------------------------------


def _refused(
    request: HttpRequest, principal: Principal, number: str, form: Form | None, refusal: ClearanceError
) -> HttpResponse:
    """The effect as it is now, the refusal, and what was typed."""
    if isinstance(refusal, NotFound):
        raise refusal
    now = read_effect_page(principal, number)
    return _answer(request, FindingOut(now, form, refusal=refusal, typed=request.POST))


def _done(request: HttpRequest, principal: Principal, number: str, request_id: str, done: Done) -> HttpResponse:
    if not wants_fragment(request):
        address = urlencode({"done": request_id} | ({"again": "1"} if done.is_repeat else {}))
        return see_other(f"{reverse('effects:detail', args=[number])}?{address}")
    typed = request.POST if done.name == "look-up" else None
    return _answer(request, FindingOut(read_effect_page(principal, number), done=done, typed=typed))


def _answer(request: HttpRequest, margin: FindingOut) -> HttpResponse:
    """The margin alone to htmx, else the whole page with it."""
    response = _show(request, margin, fragment="margin")
    if wants_fragment(request) and (margin.done or margin.refusal):
        response["HX-Trigger"] = "effect-moved"
    return response
