"""The audit: who did what, of every run and of all authority, with filters in the address and exports of the same."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

import structlog
from django import forms
from django.http import HttpRequest, HttpResponse, QueryDict
from django.views.decorators.http import require_GET

from console.access import visible_workflows
from console.cursors import CursorType
from console.exports import csv_lines, jsonl_lines
from console.rendering import render_screen
from console.web.gate import signed_in
from console.web.paging import Page
from runs.audit import Line, Place, Stretch, Wanted, read_audit
from runs.errors import NotFound
from runs.permissions import is_admin, is_auditor
from runs.values import Principal

log = structlog.get_logger(__name__)

PAGE_SIZE = 50
#: How many lines an export reads at once, and holds at most.
BATCH, MOST_LINES = 500, 50_000

CURSOR: CursorType[int, int, int, int] = CursorType("audit", int, int, int, int)

COLUMNS = (
    "at", "actor", "kind", "subject", "workflow", "version", "seq", "command_id", "reason", "erased",
    "without_second_person", "body_sha256", "prev_hash", "hash",
)  # fmt: skip

#: What can be looked for, by the beginning of a kind.
KINDS = (
    ("", "Everything"),
    ("run.", "Runs"),
    ("command.", "Commands"),
    ("escalation.", "Escalations"),
    ("artifact.", "Artifacts"),
    ("snapshot.", "Snapshots"),
    ("decision.", "Decisions"),
    ("approval.", "Revocations"),
    ("effect.", "Effects"),
    ("attempt.", "Attempts"),
    ("lookup.", "Look-ups"),
    ("verdict.", "Verdicts"),
    ("repair.", "Repairs"),
    ("remediation.", "Remediations"),
    ("content.", "Erasures"),
    ("quarantine.", "Quarantine"),
    ("person.", "People"),
    ("agent.", "Agents"),
    ("workflow.", "Workflows and what consent rests on"),
    ("policy.", "Terms of policies"),
    ("destination.", "Destinations"),
    ("halt.", "Halt"),
)


class AuditFilters(forms.Form):
    """What somebody looks for."""

    actor = forms.CharField(
        required=False,
        max_length=170,
        label="By",
        widget=forms.TextInput(attrs={"placeholder": "user:mara", "class": "mono", "autocomplete": "off"}),
    )
    kind = forms.ChoiceField(required=False, choices=KINDS, label="What")
    run = forms.CharField(
        required=False, max_length=64, widget=forms.TextInput(attrs={"class": "mono", "autocomplete": "off"})
    )
    since = forms.DateField(required=False, label="From", widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(required=False, label="To", widget=forms.DateInput(attrs={"type": "date"}))

    def __init__(self, data: QueryDict) -> None:
        super().__init__(data, auto_id="filter-%s")

    @property
    def is_narrowed(self) -> bool:
        """Whether anything is filtered out."""
        return any(self.data.get(name) for name in self.fields)

    def wanted(self, principal: Principal) -> Wanted:
        """What this person may be told of it. Days are whole days in UTC."""
        given = self.cleaned_data
        until = given["until"]
        return Wanted(
            workflows=visible_workflows(principal),
            with_authority=is_admin(principal) or is_auditor(principal),
            actor=given["actor"],
            kind=given["kind"],
            run=given["run"],
            since=_midnight(given["since"]) if given["since"] else None,
            until=_midnight(until) + timedelta(days=1) if until else None,
        )


def _midnight(day: Any) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)


@require_GET
@signed_in
def list_lines(request: HttpRequest, principal: Principal) -> HttpResponse:
    filters = AuditFilters(request.GET)
    stretch = Stretch((), None)
    if filters.is_valid():
        stretch = read_audit(filters.wanted(principal), _place(request.GET.get("after")), PAGE_SIZE)
    query = _query(request)
    context = {
        "filters": filters,
        "lines": stretch.lines,
        "page": _page(stretch, query, is_first="after" not in request.GET),
        "query": urlencode(query),
        "goes_on": stretch.next is not None and len(stretch.lines) < PAGE_SIZE,
        "with_authority": is_admin(principal) or is_auditor(principal),
        "most_lines": MOST_LINES,
    }
    return render_screen(request, "audit/list.html", context, status=422 if filters.errors else 200)


def _place(cursor: str | None) -> Place | None:
    return Place(*CURSOR.read(cursor)) if cursor else None


def _query(request: HttpRequest) -> Mapping[str, str]:
    return {name: value for name in AuditFilters.base_fields if (value := request.GET.get(name))}


def _page(stretch: Stretch, query: Mapping[str, str], *, is_first: bool) -> Page:
    older = ""
    if stretch.next is not None:
        place = stretch.next
        cursor = CURSOR.write(place.xid, place.run, place.seq, place.change)
        older = "?" + urlencode({**query, "after": cursor})
    newest = "" if is_first else "?" + urlencode(query)
    return Page(newest, older, f"{len(stretch.lines)} shown, the newest first")


# ---- exports -----------------------------------------------------------------------------------------------


@require_GET
@signed_in
def export_csv(request: HttpRequest, principal: Principal) -> HttpResponse:
    rows = (line.as_json() for line in _exported(request, principal))
    return _file(csv_lines(COLUMNS, rows), "text/csv; charset=utf-8", "audit.csv")


@require_GET
@signed_in
def export_jsonl(request: HttpRequest, principal: Principal) -> HttpResponse:
    rows = (line.as_json() for line in _exported(request, principal))
    return _file(jsonl_lines(rows), "application/jsonl; charset=utf-8", "audit.jsonl")


def _exported(request: HttpRequest, principal: Principal) -> Iterator[Line]:
    """Every line that fits, up to `MOST_LINES`; who took how many is logged. Raises `NotFound` for a bad filter."""
    filters = AuditFilters(request.GET)
    if not filters.is_valid():
        raise NotFound
    return _lines(filters.wanted(principal), principal)


def _lines(wanted: Wanted, principal: Principal) -> Iterator[Line]:
    count, place = 0, None
    while count < MOST_LINES:
        stretch = read_audit(wanted, place, min(BATCH, MOST_LINES - count))
        yield from stretch.lines
        count += len(stretch.lines)
        place = stretch.next
        if place is None:
            break
    log.info("audit_exported", actor=principal.actor, lines=count)


def _file(lines: Iterator[str], content_type: str, name: str) -> HttpResponse:
    response = HttpResponse(lines, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
