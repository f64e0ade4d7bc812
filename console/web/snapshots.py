"""The review card: what was frozen, how it stands, and deciding on it."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from approvals.deciding import record_shown
from approvals.reviewing import Review
from console.access import access_snapshot
from console.forms import expected_version
from console.rendering import render_screen, unchanged, wants_fragment
from console.sessions import authenticated_at
from console.web import review_form
from console.web.gate import signed_in
from console.web.paging import see_other
from console.web.review_card import findings_of, payload_of, read_review_card
from console.web.review_form import AuthorizationForm, Deciding, Done, RevocationForm
from console.web.review_progress import Progress, read_progress
from outbox import authorization
from outbox.authorization import AuthorizationRequest
from runs import steps
from runs.errors import ClearanceError, NotFound
from runs.values import Principal

PAGE = "snapshots/detail.html"


@require_GET
@signed_in
def detail(request: HttpRequest, principal: Principal, number: str) -> HttpResponse:
    review = access_snapshot(principal, number)
    if wants_fragment(request):
        return _refreshed(request, read_progress(review, authenticated_at(request)))
    return _show_page(request, review)


def _refreshed(request: HttpRequest, progress: Progress) -> HttpResponse:
    """How the snapshot stands now, for a page that shows the frozen side already."""
    drawn = [request.GET[name] for name in ("offers", "run_version", "authority_epoch") if name in request.GET]
    tag = ".".join((progress.tag, *drawn)).replace(" ", "_")
    if answer := unchanged(request, tag):
        return answer
    late = review_form.overtaken(progress, request.GET)
    context = _standing(progress, tag) | {"overtaken": late, "is_fragment": True}
    return render_screen(request, PAGE, context, fragment="standing", tag=tag)


def _show_page(request: HttpRequest, review: Review, deciding: Deciding | None = None) -> HttpResponse:
    """The whole card. That it was shown is recorded where the page holds every byte of the payload."""
    payload = payload_of(review.row)
    if payload is None or not payload.has_own_page:
        record_shown(review.principal.id, review.row.pk, review.row.manifest_sha256)
    progress = deciding.progress if deciding else read_progress(review, authenticated_at(request))
    card = read_review_card(review, payload, progress.last)
    deciding = deciding or review_form.drawn(progress, card.oddities)
    if asked := request.GET.get("done"):
        deciding = replace(deciding, done=review_form.recorded(progress, asked, is_repeat="again" in request.GET))
    context = _standing(progress, progress.tag) | {"card": card, "deciding": deciding}
    return render_screen(request, PAGE, context, status=deciding.status)


def _standing(progress: Progress, tag: str) -> dict[str, Any]:
    return {
        "progress": progress,
        "review": progress.review,
        "row": progress.review.row,
        "run": progress.review.run,
        "run_expires_at": steps.expires_at(progress.review.run, progress.review.policy),
        "tag": tag,
    }


# ---- deciding, revoking, spending ----------------------------------------------------------------------------


@require_POST
@signed_in
def decide(request: HttpRequest, principal: Principal, number: str) -> HttpResponse:
    progress = _progress(request, principal, number)
    oddities = _oddities(progress)
    form = review_form.sent(progress, oddities, request.POST)
    if not form.is_valid():
        return _answer(request, Deciding(progress, form))
    asked = form.request(progress)
    try:
        receipt = authorization.decide(principal, number, asked)
    except NotFound:
        raise
    except ClearanceError as refusal:
        now = _progress(request, principal, number)
        again = review_form.drawn(now, oddities, request.POST)
        return _answer(request, replace(again, refusal=refusal))
    return _done(request, principal, number, asked.id, Done("decide", receipt.answer, receipt.is_replay))


@require_POST
@signed_in
def revoke(request: HttpRequest, principal: Principal, number: str, ref: str) -> HttpResponse:
    progress = _progress(request, principal, number)
    if ref not in {line.ref for line in progress.decisions}:
        raise NotFound
    form = RevocationForm(request.POST, auto_id=f"{ref}-%s")
    if not form.is_valid():
        return _answer(request, _with_step(progress, form, ref))
    given = form.cleaned_data
    try:
        receipt = authorization.revoke(principal, ref, given["id"], given["reason"])
    except NotFound:
        raise
    except ClearanceError as refusal:
        now = _progress(request, principal, number)
        return _answer(request, replace(_with_step(now, form, ref), refusal=refusal))
    return _done(request, principal, number, given["id"], Done("revoke", receipt.answer, receipt.is_replay))


@require_POST
@signed_in
def authorize(request: HttpRequest, principal: Principal, number: str) -> HttpResponse:
    progress = _progress(request, principal, number)
    form = AuthorizationForm(request.POST, auto_id="authorize-%s")
    if not form.is_valid():
        return _answer(request, _with_step(progress, form))
    given, run, epoch = form.cleaned_data, progress.review.run, progress.review.found.ledger_epoch
    asked = AuthorizationRequest(given["id"], number, given["manifest_sha256"], given["reason"])
    try:
        receipt = authorization.authorize(principal, run.key, expected_version(given["seen"], epoch), asked)
    except NotFound:
        raise
    except ClearanceError as refusal:
        now = _progress(request, principal, number)
        return _answer(request, replace(_with_step(now, form), refusal=refusal))
    return _done(request, principal, number, given["id"], Done("authorize", receipt.answer, receipt.is_replay))


def _progress(request: HttpRequest, principal: Principal, number: str) -> Progress:
    return read_progress(access_snapshot(principal, number), authenticated_at(request))


def _oddities(progress: Progress) -> tuple[str, ...]:
    return findings_of(progress.review, payload_of(progress.review.row))


def _with_step(progress: Progress, form: Form, ref: str = "") -> Deciding:
    again = review_form.drawn(progress, _oddities(progress))
    return replace(again, step=form, step_of=ref)


def _done(request: HttpRequest, principal: Principal, number: str, request_id: str, done: Done) -> HttpResponse:
    """To a page: go on to the card, which tells it from the record. To htmx: the margin as it is now."""
    if not wants_fragment(request):
        address = urlencode({"done": request_id} | ({"again": "1"} if done.is_repeat else {}))
        return see_other(f"{reverse('snapshots:detail', args=[number])}?{address}")
    now = _progress(request, principal, number)
    again = review_form.drawn(now, _oddities(now))
    return _answer(request, replace(again, done=done))


def _answer(request: HttpRequest, deciding: Deciding) -> HttpResponse:
    """The margin alone to htmx, else the whole card with it."""
    progress = deciding.progress
    if not wants_fragment(request):
        return _show_page(request, progress.review, deciding)
    context = _standing(progress, progress.tag) | {"deciding": deciding, "is_fragment": True}
    response = render_screen(request, PAGE, context, fragment="decide", status=deciding.status)
    if deciding.done or deciding.refusal:
        response["HX-Trigger"] = "review-moved"
    return response
