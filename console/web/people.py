"""People: who may sign in, with which roles and groups; creating, changing, suspending, and a new password."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from console.people_forms import AskedForm, NewPersonForm, PersonForm
from console.rendering import render_screen
from console.web.asking import Asked, ask, onward
from console.web.gate import signed_in
from console.web.paging import Page
from runs.administration import get_person
from runs.models import Agent, Person
from runs.people import (
    PersonChangeRequest,
    PersonRequest,
    alter_person,
    create_person,
    list_changes,
    list_people,
)
from runs.permissions import is_admin, require_overseer
from runs.requests import Answer
from runs.values import Principal

PAGE_SIZE = 100


@require_GET
@signed_in
def list_all(request: HttpRequest, principal: Principal) -> HttpResponse:
    return _list(request, principal)


@require_POST
@signed_in
def create(request: HttpRequest, principal: Principal) -> HttpResponse:
    form = NewPersonForm(request.POST)

    def act() -> Answer:
        given = form.cleaned_data
        asked = PersonRequest(
            given["id"], given["username"], tuple(given["roles"]), tuple(given["groups"]), given["reason"]
        )
        return create_person(principal, asked)

    asked = ask(form, act)
    known = f"{form.cleaned_data.get('username')} is there already, made by this very form."
    return onward(request, asked, known, reverse("people:list")) or _list(request, principal, asked)


def _list(request: HttpRequest, principal: Principal, asked: Asked | None = None) -> HttpResponse:
    require_overseer(principal)
    q, after = request.GET.get("q", ""), request.GET.get("after", "")
    rows = list_people(PAGE_SIZE + 1, after=after, q=q)
    first = "?" + urlencode({"q": q})
    older = f"{first}&after={rows[PAGE_SIZE - 1].username}" if len(rows) > PAGE_SIZE else ""
    context = {
        "people": rows[:PAGE_SIZE],
        "q": q,
        "page": Page(first if after else "", older, f"{len(rows[:PAGE_SIZE])} people, by name"),
        "is_admin": is_admin(principal),
        "asked": asked,
        "form": (asked and asked.faulty) or NewPersonForm(),
    }
    return render_screen(request, "people/list.html", context, status=asked.status if asked else 200)


# ---- one person ------------------------------------------------------------------------------------------


@require_GET
@signed_in
def detail(request: HttpRequest, principal: Principal, username: str) -> HttpResponse:
    require_overseer(principal)
    return _detail(request, principal, get_person(username))


@require_POST
@signed_in
def change(request: HttpRequest, principal: Principal, username: str) -> HttpResponse:
    form = PersonForm(request.POST)
    return _changed(
        request,
        principal,
        username,
        form,
        lambda given: {"roles": tuple(given["roles"]), "groups": tuple(given["groups"])},
    )


@require_POST
@signed_in
def suspend(request: HttpRequest, principal: Principal, username: str) -> HttpResponse:
    suspended = request.POST.get("suspended") == "yes"
    return _changed(request, principal, username, AskedForm(request.POST), lambda given: {"suspended": suspended})


@require_POST
@signed_in
def new_password(request: HttpRequest, principal: Principal, username: str) -> HttpResponse:
    return _changed(request, principal, username, AskedForm(request.POST), lambda given: {"new_password": True})


def _changed(
    request: HttpRequest,
    principal: Principal,
    username: str,
    form: AskedForm,
    changes: Callable[[Mapping[str, Any]], dict[str, Any]],
) -> HttpResponse:
    require_overseer(principal)

    def act() -> Answer:
        given = form.cleaned_data
        return alter_person(principal, username, PersonChangeRequest(given["id"], given["reason"], **changes(given)))

    asked = ask(form, act)
    there = reverse("people:detail", args=[username])
    return onward(request, asked, "In force.", there) or _detail(request, principal, get_person(username), asked)


def _detail(request: HttpRequest, principal: Principal, person: Person, asked: Asked | None = None) -> HttpResponse:
    faulty = asked.faulty if asked else None
    context = {
        "person": person,
        "is_admin": is_admin(principal),
        "asked": asked,
        "form": faulty if isinstance(faulty, PersonForm) else PersonForm.drawn(person),
        "other": faulty if faulty is not None and not isinstance(faulty, PersonForm) else AskedForm(),
        "agents": Agent.objects.filter(owner=person).order_by("name"),
        "changes": list_changes(person.username),
    }
    return render_screen(request, "people/detail.html", context, status=asked.status if asked else 200)
