"""Who a credential stands for and what they may do now: withdrawn means withdrawn for the very next command."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from runs import administration, authority
from runs.actions import apply_command
from runs.administration import (
    AgentChange,
    By,
    authority_change,
    change_agent,
    rotate_token,
    set_agent_active,
    set_person,
    set_person_active,
    set_workflow_suspended,
)
from runs.authority import cached, current, policy_from_terms, policy_of, policy_terms, presume_agent
from runs.definitions import Policy
from runs.errors import (
    AuthorityRevoked,
    ClearanceError,
    Forbidden,
    NotFound,
    ScopeMissing,
    Unauthenticated,
    WorkflowSuspended,
)
from runs.models import Agent, Person
from runs.states import Role
from runs.values import CommandRequest, Principal
from tests import cast

BY = By("user:dora", "for a reason")
KEY = "R-42"

# ---- credentials ---------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_token_stands_for_its_agent_with_everything_it_may_do() -> None:
    agent = cast.agent("pricing", ("refund:amount",), grants=("ada",))

    principal = authority.principal_for_token(agent.token)

    assert (principal.kind, principal.name, principal.owner, principal.actor) == (
        "agent", "pricing", "ada", "agent:pricing",
    )  # fmt: skip
    assert principal.scopes == {"refund:amount"}
    assert principal.workflows == {"refund"}
    assert principal.grants == {"ada"}


@pytest.mark.django_db
@pytest.mark.parametrize("token", ["", "clr_", "clr_never-given", "é"])
def test_an_unknown_token_stands_for_nobody(token: str) -> None:
    cast.agent()

    with pytest.raises(Unauthenticated):
        authority.principal_for_token(token)


@pytest.mark.django_db
def test_a_token_that_has_run_out_stands_for_nobody() -> None:
    agent = cast.agent()
    give_end(timedelta(seconds=-1))

    with pytest.raises(Unauthenticated):
        authority.principal_for_token(agent.token)


@authority_change
def give_end(span: timedelta) -> Agent:
    return change_agent("classifier", AgentChange(expires_in=span), BY)


@pytest.mark.django_db
def test_a_token_runs_out_without_any_change_of_authority() -> None:
    agent = cast.agent()
    give_end(timedelta(hours=1))
    principal, (epoch, now) = authority.principal_for_token(agent.token), authority.epoch_and_now()

    assert current(principal, epoch, now + timedelta(minutes=59)) == principal
    with pytest.raises(Unauthenticated):
        current(principal, epoch, now + timedelta(minutes=61))


@pytest.mark.django_db
def test_an_exchanged_token_is_void_at_once() -> None:
    agent = cast.agent()
    presumed = presume_agent(agent.token)

    new = authority_change(rotate_token)("classifier", BY)

    with pytest.raises(Unauthenticated):
        authority.principal_for_token(agent.token)
    with pytest.raises(Unauthenticated):
        current(presumed)
    assert authority.principal_for_token(new.token).name == "classifier"


@pytest.mark.django_db
def test_a_person_is_known_by_number_and_a_stranger_is_not() -> None:
    ada = cast.ada()

    assert authority.principal_for_person(ada.id) == ada
    with pytest.raises(Unauthenticated):
        authority.principal_for_person(0)


# ---- withdrawn authority -------------------------------------------------------------------------------------


def without_scope() -> None:
    authority_change(change_agent)("classifier", AgentChange(scopes=("refund:intake",)), BY)


def without_workflow() -> None:
    authority_change(change_agent)("classifier", AgentChange(workflows=("report",)), BY)


def without_grant() -> None:
    authority_change(change_agent)("classifier", AgentChange(grants=()), BY)


def at_its_end() -> None:
    give_end(timedelta(seconds=-1))


def suspended() -> None:
    set_agent_active("classifier", False, BY)


def in_a_suspended_workflow() -> None:
    set_workflow_suspended("refund", True, BY)


OF_AGENTS = [
    (without_scope, ScopeMissing),
    (without_workflow, NotFound),
    (without_grant, Forbidden),
    (at_its_end, Unauthenticated),
    (suspended, AuthorityRevoked),
    (in_a_suspended_workflow, WorkflowSuspended),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("withdraw", "refusal"), OF_AGENTS)
def test_the_next_command_of_an_agent_meets_what_was_withdrawn(
    withdraw: Callable[[], Any], refusal: type[ClearanceError]
) -> None:
    agent = cast.agent(grants=("ada",)).principal
    cast.run_received(KEY)
    apply_for_ada(agent, "first")

    withdraw()

    with pytest.raises(refusal):
        apply_for_ada(agent, "second")
    assert cast.reading(KEY).state.fields["tags"] == ["first"]


def apply_for_ada(who: Principal, tag: str) -> None:
    request = CommandRequest(f"c-{tag}", "add-tag", {"tag": tag}, "she asked", on_behalf_of="ada")
    apply_command(who, KEY, cast.reading(KEY).version, request)


OF_PEOPLE = [
    pytest.param(lambda: set_person("ada", BY, roles=[Role.AUDITOR]), ScopeMissing, id="role"),
    pytest.param(lambda: set_person("ada", BY, groups=["report-operators"]), NotFound, id="group"),
    pytest.param(lambda: set_person_active("ada", False, BY), AuthorityRevoked, id="suspension"),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("withdraw", "refusal"), OF_PEOPLE)
def test_the_next_command_of_a_person_meets_what_was_withdrawn(
    withdraw: Callable[[], Any], refusal: type[ClearanceError]
) -> None:
    cast.run_received(KEY)
    ada = cast.ada()
    cast.command(ada, KEY, "add-tag", tag="first")

    withdraw()

    with pytest.raises(refusal):
        cast.command(ada, KEY, "add-tag", tag="second")


@pytest.mark.django_db
def test_a_workflow_without_a_policy_allows_nothing() -> None:
    with pytest.raises(NotFound):
        policy_of("refund")


# ---- what is remembered --------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_authority_is_read_once_an_epoch() -> None:
    cast.workflow()
    agent = cast.agent().principal
    epoch = authority.current_epoch()
    current(agent, epoch), policy_of("refund", epoch)

    with CaptureQueriesContext(connection) as queries:
        current(agent, epoch), policy_of("refund", epoch)

    assert len(queries) == 0


def test_a_new_epoch_forgets_what_was_known() -> None:
    assert [cached(7, ("x",), lambda: "old"), cached(7, ("x",), lambda: "new")] == ["old", "old"]
    assert cached(8, ("x",), lambda: "new") == "new"


def test_a_reader_of_an_older_epoch_looks_itself_and_is_not_remembered() -> None:
    cached(8, ("x",), lambda: "new")

    assert cached(7, ("x",), lambda: "as of 7") == "as of 7"
    assert cached(8, ("x",), lambda: "again") == "new"


def test_what_is_not_there_is_not_remembered() -> None:
    assert cached(7, ("token", "made up"), lambda: None) is None
    assert cached(7, ("token", "made up"), lambda: "real") == "real"


@pytest.mark.django_db
def test_a_presumed_agent_costs_no_query_and_is_confirmed_where_it_acts() -> None:
    agent = cast.agent()
    authority.principal_for_token(agent.token)

    with CaptureQueriesContext(connection) as queries:
        presumed = presume_agent(agent.token)

    assert len(queries) == 0
    assert not presumed.scopes
    assert current(presumed) == authority.principal_for_token(agent.token)


@pytest.mark.django_db
def test_nothing_else_than_people_and_agents_is_looked_up() -> None:
    clock = Principal("system", "clock")

    assert current(clock) is clock


# ---- policies ------------------------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.parametrize("slug", ["refund", "report"])
def test_a_policy_is_read_back_as_it_was_stored(slug: str) -> None:
    cast.workflow(slug)
    policy = policy_of(slug)

    assert isinstance(policy, Policy)
    assert policy_from_terms(policy_terms(policy), policy.version, policy.authority_version) == policy


@pytest.mark.django_db
def test_the_newest_policy_is_in_force() -> None:
    cast.workflow()
    before = policy_of("refund")

    set_workflow_suspended("refund", True, BY)

    after = policy_of("refund")
    assert (after.suspended, after.version, after.authority_version) == (
        True, before.version + 1, before.authority_version + 1,
    )  # fmt: skip
    assert administration.newest_policy("refund") == after
    assert Person.objects.count() == 0
