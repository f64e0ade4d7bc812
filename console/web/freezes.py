"""Putting a candidate under review by hand, on the page of its action."""

from dataclasses import replace

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from console import metrics
from console.forms import expected_version
from console.rendering import render_screen
from console.web import freeze_page
from console.web.freeze_page import FreezeForm, Freezing, read_freeze_page
from console.web.gate import signed_in
from console.web.meeting import meet
from console.web.paging import see_other
from outbox.authorization import freeze_snapshot
from runs.errors import ClearanceError, InputError, NotFound
from runs.values import Principal


@require_http_methods(["GET", "POST"])
@signed_in
def freeze(request: HttpRequest, principal: Principal, key: str, action: str) -> HttpResponse:
    """GET shows what would be frozen; only POST freezes."""
    page = read_freeze_page(meet(principal, key), action, request.POST.get("of") or request.GET.get("of", ""))
    if request.method != "POST":
        return _show(request, freeze_page.drawn(page))
    form = FreezeForm(page, request.POST)
    if not form.is_valid():
        return _show(request, Freezing(page, form))
    expected = expected_version(form.cleaned_data["seen"], page.met.access.found.ledger_epoch)
    try:
        outcome = freeze_snapshot(principal, key, expected, form.request())
    except NotFound:
        raise
    except InputError as faults:
        form.add_error(None, " ".join(fault.detail for fault in faults.errors) or faults.detail)
        return _show(request, Freezing(page, form))
    except ClearanceError as refusal:
        now = read_freeze_page(meet(principal, key), action, page.of)
        return _show(request, replace(freeze_page.drawn(now, request.POST), refusal=refusal))
    metrics.count_outcome(f"freeze:{action}", outcome)
    if outcome.is_refusal:
        now = read_freeze_page(meet(principal, key), action, page.of)
        return _show(request, replace(freeze_page.drawn(now, request.POST), moved=outcome.answer))
    return see_other(reverse("snapshots:detail", args=[outcome.answer["snapshot"]]))


def _show(request: HttpRequest, freezing: Freezing) -> HttpResponse:
    page = freezing.page
    context = {"page": page, "freezing": freezing, "met": page.met, "run": page.met.run}
    return render_screen(request, "snapshots/freeze.html", context, status=freezing.status)
