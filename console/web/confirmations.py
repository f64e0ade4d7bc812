"""What waits for a second admin, in one list: what would change, who asked for it and why, and confirming it."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_GET, require_POST

from console.changes import Change
from console.cursors import CursorType
from console.forms import Reason, RequestId, new_id
from console.problems import problem_of
from console.rendering import render_screen
from console.waiting_kinds import KINDS
from console.waiting_words import changes_of
from console.web.gate import signed_in
from console.web.paging import Page, see_other
from runs.confirmations import (
    Settled,
    Settling,
    asked,
    confirm,
    get_step,
    may_confirm,
    overtaken_by,
    waiting_ref,
    withdraw,
)
from runs.errors import ClearanceError, NotFound
from runs.models import WaitingStep
from runs.permissions import is_admin, require_overseer
from runs.values import Principal
from runs.waiting_list import list_steps

PAGE_SIZE = 30
CURSOR: CursorType[str] = CursorType("waiting-steps", str)

#: Where the subject of a step is told, by the beginning of its kind.
_SUBJECTS = {
    "policy": "workflows:policy",
    "person": "people:detail",
    "destination": "destinations:detail",
    "effect": "effects:detail",
}


class SettlingForm(forms.Form):
    """Why a step is confirmed or taken off the list."""

    id = RequestId()
    reason = Reason(help_text="Kept for ever with your name.")


@dataclass(frozen=True, slots=True)
class StepCard:
    """A waiting step as the list shows it."""

    row: WaitingStep
    ref: str
    title: str
    subject_url: str
    changes: list[Change]
    void: str
    cannot_confirm: str
    form: SettlingForm
    refusal: ClearanceError | None = None

    @property
    def is_open(self) -> bool:
        return self.row.state == "open"

    @property
    def proposer(self) -> str:
        return f"user:{self.row.proposed_by.username}"

    @property
    def refusal_title(self) -> str:
        return problem_of(self.refusal).title if self.refusal else ""


@require_GET
@signed_in
def list_waiting(request: HttpRequest, principal: Principal) -> HttpResponse:
    return _page(request, principal)


@require_POST
@signed_in
def confirm_step(request: HttpRequest, principal: Principal, ref: str) -> HttpResponse:
    return _settle(
        request, principal, ref, lambda asked_for: confirm(KINDS, principal, ref, asked_for), "In force now."
    )


@require_POST
@signed_in
def withdraw_step(request: HttpRequest, principal: Principal, ref: str) -> HttpResponse:
    return _settle(
        request, principal, ref, lambda asked_for: withdraw(principal, ref, asked_for), "Taken off the list."
    )  # fmt: skip


def _settle(
    request: HttpRequest, principal: Principal, ref: str, act: Callable[[Settling], Settled], done: str
) -> HttpResponse:
    require_overseer(principal)
    form = SettlingForm(request.POST, auto_id=f"{ref}-%s")
    if not form.is_valid():
        return _page(request, principal, _card(principal, get_step(ref), form), status=422)
    try:
        act(Settling(form.cleaned_data["id"], form.cleaned_data["reason"]))
    except NotFound:
        raise
    except ClearanceError as refusal:
        card = _card(principal, get_step(ref), form, refusal)
        return _page(request, principal, card, status=problem_of(refusal).status)
    messages.success(request, done)
    return see_other(reverse("confirmations:list"))


def _page(
    request: HttpRequest, principal: Principal, answered: StepCard | None = None, *, status: int = 200
) -> HttpResponse:
    """The list; with `answered` in the place of the step it is about, or above the list when that is gone."""
    require_overseer(principal)
    state = "settled" if request.GET.get("state") == "settled" else "open"
    cursor = request.GET.get("after")
    before = UUID(CURSOR.read(cursor)[0]) if cursor else None
    rows = list_steps(PAGE_SIZE + 1, before=before, state=state)
    cards = [_card(principal, row) for row in rows[:PAGE_SIZE]]
    if answered is not None:
        cards = [answered, *(card for card in cards if card.ref != answered.ref)]
    context = {
        "cards": cards,
        "state": state,
        "is_admin": is_admin(principal),
        "page": _pages(rows, state, is_first=before is None),
    }
    return render_screen(request, "confirmations/list.html", context, status=status)


def _pages(rows: list[WaitingStep], state: str, *, is_first: bool) -> Page:
    base = f"?state={state}"
    older = f"{base}&after={CURSOR.write(rows[PAGE_SIZE - 1].pk.hex)}" if len(rows) > PAGE_SIZE else ""
    return Page("" if is_first else base, older, f"{len(rows[:PAGE_SIZE])} shown, the newest first")


def _card(
    principal: Principal, row: WaitingStep, form: SettlingForm | None = None, refusal: ClearanceError | None = None
) -> StepCard:
    ref, step = waiting_ref(row.pk), asked(row)
    is_open = row.state == "open"
    return StepCard(
        row=row,
        ref=ref,
        title=KINDS[row.kind].title,
        subject_url=_subject_url(row),
        changes=changes_of(step, is_open=is_open),
        void=overtaken_by(KINDS, row) if is_open else "",
        cannot_confirm=may_confirm(KINDS, principal, row),
        form=form or SettlingForm(initial={"id": new_id()}, auto_id=f"{ref}-%s"),
        refusal=refusal,
    )


def _subject_url(row: WaitingStep) -> str:
    """The page of what the step is about; empty while there is none."""
    route = _SUBJECTS.get(row.kind.partition(".")[0])
    if route is None or row.based_on == "0":
        return ""
    try:
        return reverse(route, args=[row.subject])
    except NoReverseMatch:
        return ""
