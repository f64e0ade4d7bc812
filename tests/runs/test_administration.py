"""Changes of authority: each is one epoch, is told with who and why, and is in force when it returns."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session

from runs import administration, authority
from runs.administration import (
    AgentChange,
    AgentTerms,
    By,
    authority_change,
    change_agent,
    create_agent,
    create_person,
    rotate_token,
    set_agent_active,
    set_halt,
    set_person,
    set_person_active,
    set_workflow_suspended,
)
from runs.authority import hash_token
from runs.errors import InvalidParams, NotFound
from runs.models import Agent, AuthorityChange, Installation, Person, PolicyVersion
from runs.states import Role
from tests import cast

pytestmark = pytest.mark.django_db

BY = By("user:dora", "for a reason")
TERMS = AgentTerms("ada", ("refund",), ("refund:note",))


@pytest.fixture
def people() -> None:
    cast.workflow()
    cast.agent()


def last_change() -> AuthorityChange:
    change = AuthorityChange.objects.order_by("-id").first()
    assert change is not None
    return change


CHANGES: list[tuple[str, str, Callable[[], Any]]] = [
    ("person.created", "noor", lambda: create_person("noor", "a long pass phrase", [], [], BY)),
    ("person.changed", "ada", lambda: set_person("ada", BY, roles=[Role.AUDITOR])),
    ("person.suspended", "ada", lambda: set_person_active("ada", False, BY)),
    ("person.unsuspended", "ada", lambda: set_person_active("ada", True, BY)),
    ("agent.created", "pricing", lambda: create_agent("pricing", TERMS, BY)),
    ("agent.changed", "classifier", lambda: authority_change(change_agent)("classifier", AgentChange(scopes=()), BY)),
    ("agent.suspended", "classifier", lambda: set_agent_active("classifier", False, BY)),
    ("agent.unsuspended", "classifier", lambda: set_agent_active("classifier", True, BY)),
    ("agent.token-rotated", "classifier", lambda: authority_change(rotate_token)("classifier", BY)),
    ("workflow.suspended", "refund", lambda: set_workflow_suspended("refund", True, BY)),
    ("halt.on", "installation", lambda: set_halt(True, BY)),
    ("halt.off", "installation", lambda: set_halt(False, BY)),
]


@pytest.mark.parametrize(("kind", "subject", "change"), [pytest.param(*each, id=each[0]) for each in CHANGES])
def test_a_change_is_one_epoch_told_with_who_and_why(
    people: None, kind: str, subject: str, change: Callable[[], Any]
) -> None:
    before = authority.current_epoch()

    change()

    told = last_change()
    assert authority.current_epoch() == told.epoch == before + 1
    assert (told.kind, told.subject, told.actor, told.reason) == (kind, subject, "user:dora", "for a reason")
    assert not told.without_second_person


@pytest.mark.parametrize(("kind", "subject", "change"), [pytest.param(*each, id=each[0]) for each in CHANGES])
def test_a_change_is_acknowledged_only_after_older_writes_have_ended(
    people: None, monkeypatch: pytest.MonkeyPatch, kind: str, subject: str, change: Callable[[], Any]
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(administration, "await_older_writes", lambda: seen.append(last_change().kind))

    change()

    assert seen == [kind]


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception]]] = {
    "a name that is taken": (lambda: create_person("ada", "a long pass phrase", [], [], BY), InvalidParams),
    "roles of nobody": (lambda: set_person("nobody", BY, roles=[]), NotFound),
    "suspension of nobody": (lambda: set_person_active("nobody", False, BY), NotFound),
    "an agent that is there": (lambda: create_agent("classifier", TERMS, BY), InvalidParams),
    "an agent of nobody": (lambda: create_agent("pricing", AgentTerms("nobody", (), ()), BY), NotFound),
    "an agent for nobody": (lambda: create_agent("pricing", AgentTerms("ada", (), (), ("nobody",)), BY), NotFound),
    "suspension of no agent": (lambda: set_agent_active("nobody", False, BY), NotFound),
    "suspension of no workflow": (lambda: set_workflow_suspended("nothing", True, BY), NotFound),
}


@pytest.mark.parametrize(("change", "refusal"), [pytest.param(*each, id=name) for name, each in REFUSED.items()])
def test_what_is_refused_changes_nothing(people: None, change: Callable[[], Any], refusal: type[Exception]) -> None:
    before = (authority.current_epoch(), Person.objects.count(), Agent.objects.count())

    with pytest.raises(refusal):
        change()

    assert (authority.current_epoch(), Person.objects.count(), Agent.objects.count()) == before


def test_what_was_done_without_a_second_person_says_so() -> None:
    create_person("noor", "a long pass phrase", [Role.ADMIN], [], By("cli:root", "", without_second_person=True))

    assert last_change().without_second_person


def test_what_was_confirmed_names_who_confirmed_it() -> None:
    confirmation = {"by": "user:eve", "waiting": "w-1"}

    create_person("noor", "a long pass phrase", [Role.ADMIN], [], By("user:dora", "", confirmation=confirmation))

    assert json.loads(last_change().body)["confirmation"] == confirmation


# ---- people --------------------------------------------------------------------------------------------------


def test_what_is_not_named_of_a_person_stays(people: None) -> None:
    before = Person.objects.get(username="ada")

    set_person("ada", BY, groups=["b", "a", "a"])

    after = Person.objects.get(username="ada")
    assert (after.roles, after.password, after.workflow_groups) == (before.roles, before.password, ["a", "b"])
    told = json.loads(last_change().body)
    assert (told["before"]["groups"], told["after"]["groups"]) == (before.workflow_groups, ["a", "b"])


def test_no_record_holds_a_password(people: None) -> None:
    set_person("ada", BY, password="another long pass phrase")  # nobody's

    assert "phrase" not in str(list(AuthorityChange.objects.values()))
    assert Person.objects.get(username="ada").password not in str(list(AuthorityChange.objects.values()))


def signed_in(name: str) -> str:
    session = SessionStore()
    session["_auth_user_id"] = str(Person.objects.get(username=name).pk)
    session.create()
    assert session.session_key is not None
    return session.session_key


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda: set_person_active("ada", False, BY), id="suspension"),
        pytest.param(lambda: set_person("ada", BY, password="another long pass phrase"), id="password"),  # nobody's
    ],
)
def test_a_suspension_and_a_new_password_end_every_session_of_that_person_alone(
    people: None, change: Callable[[], Any]
) -> None:
    cast.ben()
    signed_in("ada"), signed_in("ada")
    bens = signed_in("ben")

    change()

    assert list(Session.objects.values_list("session_key", flat=True)) == [bens]


def test_other_roles_leave_a_session_open(people: None) -> None:
    signed_in("ada")

    set_person("ada", BY, roles=[Role.AUDITOR])

    assert Session.objects.count() == 1


# ---- agents --------------------------------------------------------------------------------------------------


def test_a_token_is_kept_as_its_hash_alone(people: None) -> None:
    new = create_agent("pricing", AgentTerms("ada", ("refund",), ("refund:note",), expires_in=timedelta(days=90)), BY)

    row = Agent.objects.filter(name="pricing").values().get()
    assert row["token_sha256"] == hash_token(new.token)
    assert new.token.startswith(row["token_prefix"])
    assert new.token not in str(row)
    assert new.token not in str(list(AuthorityChange.objects.values()))


def test_no_two_tokens_are_alike(people: None) -> None:
    tokens = {create_agent(f"agent-{number}", TERMS, BY).token for number in range(5)}

    assert len(tokens) == 5
    assert all(len(token) > 40 for token in tokens)


# ---- workflows and the installation --------------------------------------------------------------------------


def test_suspending_a_suspended_workflow_is_no_change(people: None) -> None:
    set_workflow_suspended("refund", True, BY)
    before = (authority.current_epoch(), PolicyVersion.objects.count())

    set_workflow_suspended("refund", True, BY)

    assert (authority.current_epoch(), PolicyVersion.objects.count()) == before


def test_a_suspension_keeps_every_other_term(people: None) -> None:
    before = administration.newest_policy("refund")

    set_workflow_suspended("refund", True, BY)
    set_workflow_suspended("refund", False, BY)

    after = administration.newest_policy("refund")
    assert authority.policy_terms(after) == authority.policy_terms(before)
    assert (after.version, after.authority_version) == (before.version + 2, before.authority_version + 2)


def test_a_halt_says_who_and_why_and_its_end_takes_that_away() -> None:
    set_halt(True, BY)
    on = Installation.objects.get()
    set_halt(False, BY)
    off = Installation.objects.get()

    assert (on.is_halted, on.halted_by, on.halt_reason, on.halted_at is not None) == (
        True, "user:dora", "for a reason", True,
    )  # fmt: skip
    assert (off.is_halted, off.halted_by, off.halt_reason, off.halted_at) == (False, "", "", None)
