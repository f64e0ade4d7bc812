"""The list of effects: by state, destination and age, with failures grouped by their cause."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse, QueryDict
from django.views.decorators.http import require_GET

from console.cursors import CursorType
from console.hostile import Shown
from console.lookalikes import inspect_name
from console.payloads import cut
from console.rendering import render_screen
from console.templatetags.console_ui import EFFECT_LOOKS, Look
from console.web.effect_words import STAGE_LOOKS, StageLook, stage_of
from console.web.gate import Viewer, signed_in, viewer_of
from console.web.paging import Page
from console.web.repair_plan_form import PlanForm
from outbox.models import Effect
from outbox.overview import (
    COUNTED_AT_MOST,
    GROUPED_AT_MOST,
    Cause,
    EffectFilter,
    count_by_state,
    destinations_used,
    group_failures,
    list_rows,
)
from runs.permissions import is_admin
from runs.values import Principal

PAGE_SIZE = 50
CURSOR: CursorType[datetime, str] = CursorType("effect-list", datetime, str)
FILTERS = ("state", "destination", "age", "because")
AGES = {"1h": timedelta(hours=1), "1d": timedelta(days=1), "7d": timedelta(days=7)}


class EffectFilters(forms.Form):
    """All filters of the list, as its address carries them."""

    state = forms.ChoiceField(required=False)
    destination = forms.ChoiceField(required=False)
    age = forms.ChoiceField(
        required=False,
        choices=[("", "Any age"), ("1h", "Older than 1 hour"), ("1d", "Older than 1 day"), ("7d", "Older than 7 days")],
    )
    because = forms.CharField(required=False, max_length=4000, widget=forms.HiddenInput)

    def __init__(self, destinations: Sequence[str], data: QueryDict) -> None:
        super().__init__(data, auto_id="filter-%s")
        fields: Any = self.fields  # choice fields, whose stubs do not know their choices
        states = [(state.value, look.label) for state, look in EFFECT_LOOKS.items()]
        fields["state"].choices = [("", "Any state"), *states]
        fields["destination"].choices = [("", "Every destination"), *((name, name) for name in destinations)]

    @property
    def is_narrowed(self) -> bool:
        return any(self.data.get(name) for name in FILTERS)

    def wanted(self, viewer: Viewer) -> EffectFilter:
        """The effects that are asked for, from a valid form."""
        given = self.cleaned_data
        age = AGES.get(given["age"])
        return EffectFilter(
            workflows=viewer.sees,
            state=given["state"],
            destination=given["destination"],
            because=given["because"],
            authorized_before=viewer.now - age if age else None,
        )

    def address(self, **others: str) -> str:
        """The address of the list with these filters, some of them changed."""
        kept = {name: self.data.get(name, "") for name in FILTERS} | others
        return "?" + urlencode({name: value for name, value in kept.items() if value})


@dataclass(frozen=True, slots=True)
class EffectLine:
    """An effect as a line of the list."""

    row: Effect
    look: StageLook
    sentence: Shown


@dataclass(frozen=True, slots=True)
class StateTab:
    """One state with how many effects stand in it."""

    look: Look
    count: str
    url: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class CauseLine:
    """A cause of failures, with the address of its effects."""

    cause: Cause
    look: StageLook
    url: str


@require_GET
@signed_in
def list_effects(request: HttpRequest, principal: Principal) -> HttpResponse:
    viewer = viewer_of(request)
    filters = EffectFilters(destinations_used(viewer.sees), request.GET)
    return _show(request, viewer, filters, PlanForm.drawn())


def _show(
    request: HttpRequest, viewer: Viewer, filters: EffectFilters, plan: PlanForm, status: int = 200
) -> HttpResponse:
    before = CURSOR.read(request.GET["after"]) if request.GET.get("after") else None
    found = list_rows(filters.wanted(viewer), PAGE_SIZE + 1, before) if filters.is_valid() else []
    rows = found[:PAGE_SIZE]
    context = {
        "filters": filters,
        "lines": [line_of(row) for row in rows],
        "tabs": _tabs(filters, count_by_state(viewer.sees)),
        "causes": [] if filters.is_narrowed else [_cause(filters, cause) for cause in group_failures(viewer.sees)],
        "grouped": GROUPED_AT_MOST,
        "page": _page(filters, rows, is_first=before is None, has_more=len(found) > PAGE_SIZE),
        "may_plan": is_admin(viewer.principal),
        "plan": plan,
    }
    return render_screen(request, "effects/list.html", context, status=status)


def line_of(row: Effect) -> EffectLine:
    """An effect as a line."""
    return EffectLine(row, STAGE_LOOKS[stage_of(row)], cut(inspect_name(row.snapshot.sentence), 160))


def _tabs(filters: EffectFilters, counts: Mapping[str, int]) -> list[StateTab]:
    chosen = filters.data.get("state", "")
    return [
        StateTab(look, _told(counts.get(state, 0)), filters.address(state=state, because=""), chosen == state)
        for state, look in EFFECT_LOOKS.items()
    ]


def _told(count: int) -> str:
    return f"{COUNTED_AT_MOST - 1}+" if count >= COUNTED_AT_MOST else str(count)


def _cause(filters: EffectFilters, cause: Cause) -> CauseLine:
    url = filters.address(state=cause.state, destination=cause.destination, because=cause.because)
    stage = stage_of(Effect(state=cause.state, may_have_left=cause.may_have_left))
    return CauseLine(cause, STAGE_LOOKS[stage], url)


def _page(filters: EffectFilters, rows: Sequence[Effect], *, is_first: bool, has_more: bool) -> Page:
    newest = "" if is_first else filters.address()
    older = f"{filters.address()}&after={CURSOR.write(rows[-1].authorized_at, rows[-1].pk)}" if has_more else ""
    return Page(newest, older.replace("?&", "?"), f"{len(rows)} effects, the newest first")
