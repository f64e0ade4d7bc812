"""Destinations: where effects may go and what the provider there can do; each change waits for a second admin."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from approvals.destinations import Terms, newest_revision, terms_of
from approvals.models import DestinationRevision
from approvals.registering import (
    DestinationChange,
    DestinationRequest,
    ask_change,
    ask_destination,
    list_destinations,
    list_revisions,
)
from console.people_forms import DestinationForm, NewDestinationForm
from console.rendering import render_screen
from console.web.asking import Asked, ask, onward
from console.web.gate import signed_in
from runs.errors import NotFound
from runs.permissions import is_admin, require_overseer
from runs.requests import Answer
from runs.values import Principal

MOST = 500
UNCHANGED = "Nothing differs from what is registered."


@require_GET
@signed_in
def list_all(request: HttpRequest, principal: Principal) -> HttpResponse:
    return _list(request, principal)


@require_POST
@signed_in
def create(request: HttpRequest, principal: Principal) -> HttpResponse:
    form = NewDestinationForm(request.POST)

    def act() -> Answer:
        given = form.cleaned_data
        asked = DestinationRequest(given["id"], given["name"], Terms(**form.columns()), given["reason"])
        return ask_destination(principal, asked)

    asked = ask(form, act)
    return onward(request, asked, UNCHANGED, reverse("destinations:list")) or _list(request, principal, asked)


def _list(request: HttpRequest, principal: Principal, asked: Asked | None = None) -> HttpResponse:
    require_overseer(principal)
    context = {
        "destinations": list_destinations(MOST),
        "is_admin": is_admin(principal),
        "asked": asked,
        "form": asked.form if asked else NewDestinationForm.drawn(Terms("http", "")),
    }
    return render_screen(request, "destinations/list.html", context, status=asked.status if asked else 200)


@require_GET
@signed_in
def detail(request: HttpRequest, principal: Principal, name: str) -> HttpResponse:
    require_overseer(principal)
    return _detail(request, principal, _newest(name))


@require_POST
@signed_in
def change(request: HttpRequest, principal: Principal, name: str) -> HttpResponse:
    form = DestinationForm(request.POST)

    def act() -> Answer:
        wanted = DestinationChange(form.cleaned_data["id"], form.columns(), form.cleaned_data["reason"])
        return ask_change(principal, name, wanted)

    asked = ask(form, act)
    if onwards := onward(request, asked, UNCHANGED, reverse("destinations:detail", args=[name])):
        return onwards
    require_overseer(principal)
    return _detail(request, principal, _newest(name), asked)


def _newest(name: str) -> DestinationRevision:
    row = newest_revision(name)
    if row is None:
        raise NotFound
    return row


def _detail(
    request: HttpRequest, principal: Principal, row: DestinationRevision, asked: Asked | None = None
) -> HttpResponse:
    context = {
        "destination": row,
        "is_admin": is_admin(principal),
        "asked": asked,
        "form": asked.form if asked else DestinationForm.drawn(terms_of(row)),
        "revisions": list_revisions(row.name),
    }
    return render_screen(request, "destinations/detail.html", context, status=asked.status if asked else 200)
