"""The people, agents and destinations of the demo. Their secrets are generated, and kept 0600 beside the data.

Seeding again changes nothing that is there; what lost its secret gets a new one.
"""

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.conf import settings

from approvals.destinations import Terms, register_destination
from approvals.models import StandingApproval
from approvals.standing import StandingRequest, give_standing_approval
from console.home import Home
from console.parts import sandbox_port
from runs import authority
from runs.administration import (
    AgentTerms,
    By,
    authority_change,
    create_agent,
    create_person,
    rotate_token,
    set_person,
)
from runs.models import Agent, Person
from runs.states import Role
from runs.values import Principal

JSON = Any

FILE = "demo.json"
SEEDING = By("cli:demo", "The demo needs somebody to act.", without_second_person=True)

OPERATORS = ("refund-operators", "report-operators")
REVIEWERS = ("refund-reviewers", "report-reviewers")


@dataclass(frozen=True, slots=True)
class DemoPerson:
    """Somebody to sign in as."""

    username: str
    role: Role
    groups: tuple[str, ...] = ()


PEOPLE = (
    DemoPerson("mara", Role.OPERATOR, OPERATORS),
    DemoPerson("lena", Role.REVIEWER, REVIEWERS),
    DemoPerson("jonas", Role.ADMIN),
    DemoPerson("eva", Role.ADMIN),
    DemoPerson("otto", Role.AUDITOR),
)
#: Nobody signs in as these: a script that corrects records, so that there is somebody to clash with, and one that
#: approves a report, so that there is something whose outcome nobody knows.
SCRIPTED = (
    DemoPerson("demo-operator", Role.OPERATOR, OPERATORS),
    DemoPerson("demo-reviewer", Role.REVIEWER, ("report-reviewers",)),
)

#: The agents' owner reviews nothing, so that the reviewer may decide on what they propose.
OWNER = "jonas"
BOTH = ("refund", "report")
AGENTS = {
    "classifier": AgentTerms(
        OWNER, BOTH, ("refund:classify", "refund:note", "refund:assign", "report:research", "report:note")
    ),
    "pricing": AgentTerms(
        OWNER, BOTH, ("refund:amount", "refund:note", "refund:pay", "report:calculate", "report:coordinate")
    ),
    "intake": AgentTerms(
        OWNER, BOTH, ("refund:intake", "refund:note", "refund:cancel", "report:coordinate", "report:cancel")
    ),
}

DESTINATIONS = ("payments", "payments-recall", "customer-reports")
#: Short, so that whoever tries the demo may soon find that a report did not arrive.
SETTLE_AFTER_SECONDS = 60

#: Small refunds are approved in advance, so that some go all the way without anybody at the console.
SMALL_REFUND = Decimal("10.00")
SMALL_REFUNDS = 1000


def seed(home: Path) -> None:
    """Make whatever of the demo is missing, and note its secrets in `home`."""
    kept = read(home) or {}
    known = (*kept.get("people", ()), *kept.get("scripted", ()))
    passwords = {person["username"]: person["password"] for person in known}
    people = [{"username": who.username, "password": _person(who, passwords)} for who in PEOPLE]
    scripted = [{"username": who.username, "password": _person(who, passwords)} for who in SCRIPTED]
    tokens = {name: _agent(name, terms, kept.get("agents", {})) for name, terms in AGENTS.items()}
    _destinations()
    _approve_small_refunds()
    made = {
        "people": people,
        "agent": {"name": "classifier", "token": tokens["classifier"]},
        "agents": tokens,
        "scripted": scripted,
    }
    if made != kept:
        Home(home, None).write_private(FILE, json.dumps(made, indent=1) + "\n")


def read(home: Path) -> dict[str, JSON] | None:
    """What was seeded; None where there is no demo."""
    try:
        made: dict[str, JSON] = json.loads((home / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return made


def provider_address() -> str:
    """Where the sandbox provider of the demo listens."""
    return f"http://127.0.0.1:{sandbox_port(settings.CLEARANCE_PORT)}"


def credentials(made: dict[str, JSON]) -> Iterator[tuple[str, dict[str, str]]]:
    """Each process of the demo with its credential."""
    yield from ((name, {"token": token}) for name, token in made["agents"].items())
    yield from ((person["username"], dict(person)) for person in made["scripted"])


# ---- one by one ------------------------------------------------------------------------------------------


def _person(who: DemoPerson, passwords: dict[str, str]) -> str:
    """The password of a person: the one that is known, or a new one."""
    exists = Person.objects.filter(username=who.username).exists()
    if exists and (known := passwords.get(who.username)):
        return known
    password = secrets.token_urlsafe(12)
    if exists:
        set_person(who.username, SEEDING, password=password)
    else:
        create_person(who.username, password, [who.role], who.groups, SEEDING)
    return password


def _agent(name: str, terms: AgentTerms, tokens: dict[str, str]) -> str:
    """The token of an agent: the one that is known, or a new one."""
    exists = Agent.objects.filter(name=name).exists()
    if exists and (known := tokens.get(name)):
        return known
    new = authority_change(rotate_token)(name, SEEDING) if exists else create_agent(name, terms, SEEDING)
    return new.token


def _destinations() -> None:
    """Every effect of the demo goes to its sandbox provider.

    Payments know their keys and can be asked about; reports go out like mail: nobody can be asked whether one arrived.
    """
    base = provider_address()
    payments = Terms(
        adapter="sandbox",
        url=f"{base}/deliver",
        lookup_url=f"{base}/lookup",
        cancel_url=f"{base}/cancel",
        recognises_repeats=True,
        key_retention_seconds=24 * 60 * 60,
        compares_payloads=True,
    )
    for name in ("payments", "payments-recall"):
        register_destination(name, payments, SEEDING)
    reports = Terms(adapter="sandbox", url=f"{base}/deliver", settle_after_seconds=SETTLE_AFTER_SECONDS)
    register_destination("customer-reports", reports, SEEDING)


def _approve_small_refunds() -> None:
    """As the reviewer: refunds up to a small amount need no further look for a month."""
    if StandingApproval.objects.filter(giver__username="lena").exists():
        return
    reviewer = authority.current(Principal("person", "lena"))
    _, now = authority.epoch_and_now()
    request = StandingRequest(
        id="demo-small-refunds",
        workflow="refund",
        action="pay",
        currency="EUR",
        limit=SMALL_REFUND,
        total=SMALL_REFUND * SMALL_REFUNDS,
        uses=SMALL_REFUNDS,
        expires_at=now + timedelta(days=30),
        reason="Looking at each of these costs more than it saves.",
    )
    give_standing_approval(reviewer, request)
