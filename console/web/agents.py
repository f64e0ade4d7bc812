"""Agents: the programs that act here, what they may do, and their tokens, each shown once."""

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from console.people_forms import AgentForm, AskedForm, NewAgentForm
from console.rendering import render_screen
from console.web.asking import Asked, ask, onward
from console.web.gate import signed_in
from console.web.paging import Page
from runs.administration import AgentChange, get_agent
from runs.agents import (
    AgentChangeRequest,
    AgentRequest,
    alter_agent,
    create_agent,
    list_agents,
    list_changes,
    renew_token,
)
from runs.models import Agent
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
    form = NewAgentForm(request.POST)

    def act() -> Answer:
        given = form.cleaned_data
        return create_agent(principal, AgentRequest(given["id"], given["name"], form.terms(), given["reason"]))

    asked = ask(form, act)
    known = f"{form.cleaned_data.get('name')} is there already, made by this very form."
    return onward(request, asked, known, reverse("agents:list")) or _list(request, principal, asked)


def _list(request: HttpRequest, principal: Principal, asked: Asked | None = None) -> HttpResponse:
    require_overseer(principal)
    q, after = request.GET.get("q", ""), request.GET.get("after", "")
    rows = list_agents(PAGE_SIZE + 1, after=after, q=q)
    first = "?" + urlencode({"q": q})
    older = f"{first}&after={rows[PAGE_SIZE - 1].name}" if len(rows) > PAGE_SIZE else ""
    context = {
        "agents": rows[:PAGE_SIZE],
        "q": q,
        "page": Page(first if after else "", older, f"{len(rows[:PAGE_SIZE])} agents, by name"),
        "is_admin": is_admin(principal),
        "asked": asked,
        "form": (asked and asked.faulty) or NewAgentForm(),
    }
    return render_screen(request, "agents/list.html", context, status=asked.status if asked else 200)


# ---- one agent -------------------------------------------------------------------------------------------


@require_GET
@signed_in
def detail(request: HttpRequest, principal: Principal, name: str) -> HttpResponse:
    require_overseer(principal)
    return _detail(request, principal, get_agent(name))


@require_POST
@signed_in
def change(request: HttpRequest, principal: Principal, name: str) -> HttpResponse:
    form = AgentForm(request.POST)
    asked = ask(form, lambda: _altered(principal, name, form, form.change()))
    return _answered(request, principal, name, asked)


@require_POST
@signed_in
def suspend(request: HttpRequest, principal: Principal, name: str) -> HttpResponse:
    form, active = AskedForm(request.POST), request.POST.get("suspended") != "yes"
    asked = ask(form, lambda: _altered(principal, name, form, AgentChange(is_active=active)))
    return _answered(request, principal, name, asked)


@require_POST
@signed_in
def rotate(request: HttpRequest, principal: Principal, name: str) -> HttpResponse:
    form = AskedForm(request.POST)
    asked = ask(form, lambda: renew_token(principal, name, form.cleaned_data["id"], form.cleaned_data["reason"]))
    return _answered(request, principal, name, asked)


def _altered(principal: Principal, name: str, form: AskedForm, wanted: AgentChange) -> Answer:
    given = form.cleaned_data
    return alter_agent(principal, name, AgentChangeRequest(given["id"], given["reason"], wanted))


def _answered(request: HttpRequest, principal: Principal, name: str, asked: Asked) -> HttpResponse:
    require_overseer(principal)
    there = reverse("agents:detail", args=[name])
    return onward(request, asked, "In force.", there) or _detail(request, principal, get_agent(name), asked)


def _detail(request: HttpRequest, principal: Principal, agent: Agent, asked: Asked | None = None) -> HttpResponse:
    faulty = asked.faulty if asked else None
    context = {
        "agent": agent,
        "is_admin": is_admin(principal),
        "asked": asked,
        "form": faulty if isinstance(faulty, AgentForm) else AgentForm.drawn(agent),
        "other": faulty if faulty is not None and not isinstance(faulty, AgentForm) else AskedForm(),
        "changes": list_changes(agent.name),
    }
    return render_screen(request, "agents/detail.html", context, status=asked.status if asked else 200)
