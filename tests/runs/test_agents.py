"""Agents as admins make and change them: a token that is shown once, terms that hold from the next request on."""

from datetime import timedelta
from typing import Any

import pytest

from runs.administration import AgentChange, AgentTerms
from runs.agents import (
    AgentChangeRequest,
    AgentRequest,
    alter_agent,
    create_agent,
    list_agents,
    renew_token,
    tell_agent,
)
from runs.authority import principal_for_token
from runs.errors import AgentsCannotDecide, AuthorityRevoked, Forbidden, InvalidParams, NotFound, Unauthenticated
from runs.models import Agent, Request
from runs.requests import Answer
from runs.values import Principal
from tests import cast
from tests.admins import number

pytestmark = pytest.mark.django_db

TERMS = AgentTerms("ada", ("refund",), ("refund:note",))
WHY = "because the test says so"


@pytest.fixture
def dora() -> Principal:
    cast.workflow()
    cast.ada()
    return cast.dora()


def made(who: Principal, terms: AgentTerms = TERMS, name: str = "notes", id_: str = "") -> Answer:
    return create_agent(who, AgentRequest(id_ or number(), name, terms, WHY))


def changed(who: Principal, id_: str = "", **change: Any) -> Answer:
    return alter_agent(who, "notes", AgentChangeRequest(id_ or number(), WHY, AgentChange(**change)))


def test_a_new_agent_is_who_its_token_says(dora: Principal) -> None:
    answer = made(dora)

    principal = principal_for_token(answer.shown_once)
    assert (principal.name, principal.owner, principal.scopes) == ("notes", "ada", frozenset({"refund:note"}))
    assert answer.made == tell_agent(Agent.objects.get(name="notes"))


def test_no_token_is_kept(dora: Principal) -> None:
    token = made(dora).shown_once

    assert all(token not in text for text in Request.objects.values_list("answer", flat=True))
    assert Agent.objects.get(name="notes").token_sha256 != token


def test_a_repeat_makes_no_second_agent_and_shows_no_token(dora: Principal) -> None:
    first = made(dora, id_="n-1")

    again = made(dora, id_="n-1")

    assert (again.is_replay, again.shown_once, again.made) == (True, "", first.made)


def test_an_end_is_kept(dora: Principal) -> None:
    answer = made(dora, AgentTerms("ada", ("refund",), (), expires_in=timedelta(days=90)))

    assert answer.made["expires_at"] is not None


@pytest.mark.parametrize(
    ("name", "terms", "pointer"),
    [
        ("not fine", TERMS, "/name"),
        ("", TERMS, "/name"),
        ("notes", AgentTerms("nobody", ("refund",), ()), "/owner"),
        ("notes", AgentTerms("ada", ("nothing",), ()), "/workflow/0"),
        ("notes", AgentTerms("ada", ("refund",), ("refund:note", "note")), "/scope/1"),
        ("notes", AgentTerms("ada", ("refund",), (), ("ada", "nobody")), "/on_behalf_of/1"),
    ],
)
def test_every_fault_is_named_with_its_place(dora: Principal, name: str, terms: AgentTerms, pointer: str) -> None:
    with pytest.raises(InvalidParams) as refused:
        made(dora, terms, name)

    assert [fault.pointer for fault in refused.value.errors] == [pointer]


def test_a_name_is_given_once(dora: Principal) -> None:
    made(dora)

    with pytest.raises(InvalidParams) as refused:
        made(dora)

    assert [fault.pointer for fault in refused.value.errors] == ["/name"]


@pytest.mark.parametrize("who", [cast.ada, cast.ben, cast.eli])
def test_only_admins_make_agents(dora: Principal, who: Any) -> None:
    with pytest.raises(Forbidden):
        made(who())


def test_no_agent_makes_agents(dora: Principal) -> None:
    with pytest.raises(AgentsCannotDecide):
        made(cast.agent().principal)


def test_what_is_changed_holds_for_the_next_request_and_the_rest_stays(dora: Principal) -> None:
    token = made(dora, AgentTerms("ada", ("refund",), ("refund:note",), ("ada",))).shown_once

    answer = changed(dora, scopes=("refund:amount",))

    principal = principal_for_token(token)
    held = (principal.scopes, principal.grants, principal.workflows)
    assert held == (frozenset({"refund:amount"}), frozenset({"ada"}), frozenset({"refund"}))
    assert answer.made["scope"] == ["refund:amount"]


def test_an_end_comes_and_goes(dora: Principal) -> None:
    made(dora)

    assert changed(dora, expires_in=timedelta(days=1)).made["expires_at"] is not None
    assert changed(dora, scopes=()).made["expires_at"] is not None
    assert changed(dora, is_endless=True).made["expires_at"] is None


def test_a_suspended_agent_is_refused_and_comes_back(dora: Principal) -> None:
    token = made(dora).shown_once

    changed(dora, is_active=False)
    with pytest.raises(AuthorityRevoked):
        principal_for_token(token)

    changed(dora, is_active=True)
    assert principal_for_token(token).name == "notes"


def test_a_new_token_makes_the_old_one_void_at_once(dora: Principal) -> None:
    old = made(dora).shown_once

    new = renew_token(dora, "notes", "t-1", WHY).shown_once

    assert principal_for_token(new).name == "notes"
    with pytest.raises(Unauthenticated):
        principal_for_token(old)
    assert renew_token(dora, "notes", "t-1", WHY).shown_once == ""
    assert principal_for_token(new).name == "notes"


def test_an_unknown_agent_is_not_found(dora: Principal) -> None:
    with pytest.raises(NotFound):
        changed(dora, scopes=())
    with pytest.raises(NotFound):
        renew_token(dora, "notes", "t-1", WHY)


def test_agents_are_listed_by_name_after_a_name(dora: Principal) -> None:
    for name in ("b", "a", "ab"):
        made(dora, name=name)

    assert [row.name for row in list_agents(10, q="a")] == ["a", "ab"]
    assert [row.name for row in list_agents(1, after="ab")] == ["b"]
