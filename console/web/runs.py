"""The runs: the list, the page of one with a form for each command, its whole ledger, and the same as raw JSON."""

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from console import metrics
from console.access import access_conflict
from console.forms import CommandForm, expected_version
from console.rendering import render_screen, unchanged, wants_fragment
from console.web import command_card, run_page
from console.web.command_card import CommandCard
from console.web.gate import Viewer, signed_in, viewer_of
from console.web.meeting import Met, meet
from console.web.paging import Page, page_number, see_other
from console.web.run_filters import RunFilters
from console.web.run_reviews import read_run_reviews
from runs import actions, backlog, cases, catalog, history, queries
from runs.definitions import Workflow
from runs.errors import ClearanceError, InputError, NotFound
from runs.models import Conflict
from runs.queries import RunSummary
from runs.values import Principal
from runs.verify_chain import verify_chain

JSON = Any

PAGE_SIZE = 50
LEDGER_PAGE_SIZE = 50


# ---- the list ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run as a line of the list."""

    run: RunSummary
    workflow: Workflow
    open_cases: int

    @property
    def waiting(self) -> str:
        """What waits for an operator, in words."""
        return "1 open conflict" if self.open_cases == 1 else f"{self.open_cases} open conflicts"


@require_GET
@signed_in
def list_runs(request: HttpRequest, principal: Principal) -> HttpResponse:
    filters = RunFilters(_workflows(viewer_of(request)), request.GET)
    found = queries.list_runs(filters.workflows, PAGE_SIZE + 1, **filters.criteria) if filters.is_valid() else []
    rows = found[:PAGE_SIZE]
    waiting = backlog.open_cases_by_run([row.id for row in rows])
    context = {
        "filters": filters,
        "lines": [_line(row, waiting.get(row.id, 0)) for row in rows],
        "has_workflows": bool(filters.titles),
        "page": filters.page(rows, has_more=len(found) > PAGE_SIZE),
    }
    return render_screen(request, "runs/list.html", context)


def _workflows(viewer: Viewer) -> dict[str, str]:
    """The titles of the workflows whose runs the person sees, by slug."""
    return {workflow.slug: workflow.title for workflow in catalog.list_workflows() if workflow.slug in viewer.sees}


def _line(run: RunSummary, open_cases: int) -> RunLine:
    return RunLine(run, catalog.definition(run.workflow, run.revision), open_cases)


# ---- one run -------------------------------------------------------------------------------------------------


@require_GET
@signed_in
def detail(request: HttpRequest, principal: Principal, key: str) -> HttpResponse:
    met = meet(principal, key)
    card = _asked_card(request, met)
    if card and wants_fragment(request):
        return _show_card(request, met, card)
    conflicts = run_page.read_conflicts(met)
    tag = run_page.page_tag(met, conflicts, form_is_old=_is_old(request, met))
    return unchanged(request, tag) or _show_page(request, met, card, conflicts, tag)


def _asked_card(request: HttpRequest, met: Met) -> CommandCard | None:
    """The command that the address asks for: its form, or with `done` what became of it."""
    name, done = request.GET.get("command"), request.GET.get("done")
    if not name:
        return None
    if not done:
        return command_card.asked(met, name)
    record = cases.get_command(met.run.id, met.principal.actor, done)
    return command_card.recorded(met, name, record, is_repeat="again" in request.GET)


def _show_page(
    request: HttpRequest, met: Met, card: CommandCard | None, conflicts: list[Conflict], tag: str = ""
) -> HttpResponse:
    context = {
        "page": run_page.read_page(met, conflicts),
        "met": met,
        "run": met.run,
        "card": card,
        "tag": tag,
        "reviews": read_run_reviews(met.run),
        "form_is_old": _is_old(request, met),
        "is_fragment": wants_fragment(request),
    }
    status = card.status if card else 200
    return render_screen(request, "runs/detail.html", context, fragment="live", tag=tag, status=status)


def _is_old(request: HttpRequest, met: Met) -> bool:
    """Whether a form that is open on the page was drawn for another version than the one now."""
    return request.GET.get("seen", met.seen) != met.seen


def _show_card(request: HttpRequest, met: Met, card: CommandCard) -> HttpResponse:
    context = {"card": card, "run": met.run, "met": met}
    response = render_screen(request, "runs/detail.html", context, fragment="command", status=card.status)
    if card.done:
        response["HX-Trigger"] = "run-moved"
    return response


@require_POST
@signed_in
def command(request: HttpRequest, principal: Principal, key: str, name: str) -> HttpResponse:
    met = meet(principal, key)
    form = CommandForm(met.command(name), met.run.state.fields, request.POST)
    card = _decided(request, met, form)
    if wants_fragment(request):
        return _show_card(request, met, card)
    if card.done:
        again = {"again": "1"} if card.done.is_repeat else {}
        address = urlencode({"command": name, "done": form.cleaned_data["id"]} | again)
        return see_other(f"{reverse('runs:detail', args=[key])}?{address}")
    return _show_page(request, met, card, run_page.read_conflicts(met))


def _decided(request: HttpRequest, met: Met, form: CommandForm) -> CommandCard:
    """What sending the form came to; with `continue_on`, only a new form for the state that was looked at."""
    if seen := request.POST.get("continue_on"):
        return command_card.drawn_again(met, form, seen)
    if not form.is_valid():
        return command_card.sent(met, form)
    expected = expected_version(form.cleaned_data["seen"], met.access.found.ledger_epoch)
    asked = form.request(hand_over="hand_over" in request.POST)
    try:
        outcome = actions.apply_command(met.principal, met.run.key, expected, asked)
        metrics.count_outcome(asked.name, outcome)
    except InputError as refusal:
        form.add_faults(refusal.errors)
        return command_card.sent(met, form)
    except ClearanceError as refusal:
        return command_card.sent(met, form, refusal)
    return command_card.answered(met, form, outcome)


# ---- its ledger, and the same as JSON ------------------------------------------------------------------------


@require_GET
@signed_in
def ledger(request: HttpRequest, principal: Principal, key: str) -> HttpResponse:
    met = meet(principal, key)
    before = page_number(request.GET.get("before"))
    timeline, older = run_page.read_timeline(met, before, LEDGER_PAGE_SIZE)
    url = reverse("runs:ledger", args=[key])
    summary = f"{len(timeline)} of {met.run.head_seq} entries, the newest first"
    page = Page(url if before else "", f"{url}?before={older}" if older else "", summary)
    context = {"run": met.run, "met": met, "timeline": timeline, "page": page}
    return render_screen(request, "runs/ledger.html", context)


@require_GET
@signed_in
def chain(request: HttpRequest, principal: Principal, key: str) -> HttpResponse:
    met = meet(principal, key)
    context = {"run": met.run, "met": met, "report": verify_chain(met.run), "at": met.access.found.now}
    return render_screen(request, "runs/chain.html", context, fragment="chain")


@require_GET
@signed_in
def raw(request: HttpRequest, principal: Principal, key: str) -> HttpResponse:
    met = meet(principal, key)
    return _show_raw(request, met, f"version {met.run.version}", queries.represent(met.run, met.workflow))


@require_GET
@signed_in
def raw_entry(request: HttpRequest, principal: Principal, key: str, seq: int) -> HttpResponse:
    met = meet(principal, key)
    return _show_raw(request, met, f"ledger entry {seq}", history.get_entry(met.run.id, seq).as_json())


@require_GET
@signed_in
def raw_conflict(request: HttpRequest, principal: Principal, key: str, ref: str) -> HttpResponse:
    met = meet(principal, key)
    conflict = access_conflict(principal, ref)
    if conflict.run_id != met.run.id:
        raise NotFound
    return _show_raw(request, met, f"conflict {ref}", cases.tell_both_sides(conflict))


def _show_raw(request: HttpRequest, met: Met, title: str, value: JSON) -> HttpResponse:
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return render_screen(request, "runs/raw.html", {"run": met.run, "title": title, "text": text})
