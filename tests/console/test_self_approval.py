"""Nobody approves what they had a part in, by whichever door they come, and no door but these leads to a decision."""

import ast
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from django.contrib.admin import ModelAdmin
from django.test import Client

import console
from approvals.models import Artifact, Decision, Snapshot, StandingApproval
from approvals.standing import StandingRequest, give_standing_approval
from console.admin import records
from outbox.models import Effect
from runs.models import Person
from runs.states import Role
from runs.values import Principal
from tests import cast, review
from tests.console.api.caller import as_person, problem, told
from tests.console.web.visitor import visit
from tests.review import REFUND

pytestmark = pytest.mark.django_db


def zed() -> Principal:
    """A person who holds every role, and so would be on both sides."""
    groups = ("refund-reviewers", "refund-operators")
    return cast.person("zed", Role.REVIEWER, Role.OPERATOR, Role.ADMIN, groups=groups)


def proposed_by_zed() -> str:
    review.refund_working()
    return str(review.freeze(zed(), REFUND, "pay").answer["snapshot"])


def proposed_by_an_agent_of_zeds() -> str:
    zed()
    review.refund_working()
    agent = cast.agent("helper", owner="zed").principal
    return str(review.freeze(agent, REFUND, "pay").answer["snapshot"])


PARTS = pytest.mark.parametrize("proposed", [proposed_by_zed, proposed_by_an_agent_of_zeds])


@PARTS
def test_by_the_api(proposed: Callable[[], str]) -> None:
    snapshot, caller = proposed(), as_person(zed())
    seen = told(caller.get(f"/snapshots/{snapshot}/"))
    body = {
        "id": "d-1", "verdict": "approve", "manifest_sha256": seen["manifest_sha256"],
        "run_version": seen["run_version"], "authority_epoch": seen["authority_epoch"],
    }  # fmt: skip

    refused = problem(caller.post(f"/snapshots/{snapshot}/decisions/", body), 403, "separation-of-duties")

    assert "proposed it" in refused["because"]
    assert not Decision.objects.exists()


@PARTS
def test_by_the_console(proposed: Callable[[], str]) -> None:
    card = f"/snapshots/{proposed()}/"
    visitor = visit(zed())
    form = visitor.get(card).form(f"{card}decisions/") | {"verdict": "approve", "reason": "It is mine."}

    assert visitor.send(f"{card}decisions/", form).status == 403
    assert visitor.post(f"{card}decisions/", form).status == 403
    assert not Decision.objects.exists()


@PARTS
def test_by_approving_in_advance(proposed: Callable[[], str]) -> None:
    cast.workflow("refund")
    limits = {"limit": Decimal(900), "total": Decimal(900), "uses": 9}
    terms = {"workflow": "refund", "action": "pay", "currency": "EUR", "reason": "All of mine."}
    ends = datetime(2126, 1, 1, tzinfo=UTC)
    give_standing_approval(zed(), StandingRequest(id="s-1", expires_at=ends, **limits, **terms))  # type: ignore[arg-type]  # members of several types

    proposed()

    assert not Effect.objects.exists()
    assert StandingApproval.objects.get().used == 0


@pytest.mark.parametrize("model", [Decision, Snapshot, Artifact, StandingApproval])
def test_by_the_admin_site(model: type, client: Client) -> None:
    proposed_by_zed()
    client.force_login(Person.objects.get(username="zed"), "django.contrib.auth.backends.ModelBackend")
    address = f"/admin/approvals/{model.__name__.lower()}/"
    admin: ModelAdmin[Decision] = records._registry[model]

    assert client.get(address).status_code == 200
    assert client.get(f"{address}add/").status_code == client.post(f"{address}add/").status_code == 403
    for row in model._default_manager.all():  # type: ignore[attr-defined]  # every model has it
        assert client.post(f"{address}{row.pk}/change/", {"verdict": "approve"}).status_code == 403
        assert client.post(f"{address}{row.pk}/delete/", {"post": "yes"}).status_code == 403
    assert admin.get_actions(client.get(address).wsgi_request) == {}


DECIDING = {"decide", "authorize", "revoke", "write_decision", "give_standing_approval", "spend_standing"}


def test_no_management_command_decides() -> None:
    commands = list((Path(console.__file__).parent / "management" / "commands").glob("*.py"))

    found = {path.name: _names(path) & DECIDING for path in commands}

    assert len(commands) > 10
    assert {name: names for name, names in found.items() if names} == {}


def _names(path: Path) -> set[str]:
    """Every name that a module imports or calls by an attribute."""
    tree = ast.parse(path.read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    return imported | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
