"""Loading with permission: what may not be seen is not there, and which workflows one sees is read once an epoch."""

import pytest
from pytest_django import DjangoAssertNumQueries as Queries

from console.access import access_case, access_conflict, access_run, access_workflow, visible_workflows
from runs.administration import set_person
from runs.errors import AuthorityRevoked, NotFound
from runs.models import Conflict, Escalation, Person
from runs.refusals import conflict_ref, escalation_ref
from runs.states import Role
from tests import cast

pytestmark = pytest.mark.django_db


def test_a_run_is_loaded_with_everything_that_judging_it_needs() -> None:
    run = cast.run_working()

    met = access_run(cast.ben(), "R-42")

    assert (met.run, met.workflow, met.policy) == (run, cast.definition(), cast.definition().policy)
    assert met.principal == cast.ben()
    assert met.found.ledger_epoch == 1


def test_whoever_asks_is_known_anew() -> None:
    cast.run_received()
    before = cast.ada()
    set_person("ada", cast.SETUP, groups=["other-operators"])

    with pytest.raises(NotFound):
        access_run(before, "R-42")


def test_a_suspended_principal_loads_nothing() -> None:
    cast.run_received()
    ada = cast.ada()
    Person.objects.filter(username="ada").update(is_active=False)
    set_person("ada", cast.SETUP, groups=["refund-operators"])

    with pytest.raises(AuthorityRevoked):
        access_run(ada, "R-42")


@pytest.mark.parametrize("key", ["", "R-43", "a b", "x" * 65, "a\x00b", "R-42\n"])
def test_what_is_no_key_is_not_found(key: str) -> None:
    cast.run_received()

    with pytest.raises(NotFound):
        access_run(cast.ada(), key)


@pytest.mark.parametrize("slug", ["", "nonsense", "Refund", "a\x00b", "refund\n", "x" * 65])
def test_what_is_no_workflow_is_not_found(slug: str) -> None:
    cast.workflow()

    with pytest.raises(NotFound):
        access_workflow(cast.ada(), slug)


def test_an_outsider_loads_nothing_of_a_workflow() -> None:
    cast.run_with_open_case()
    conflict, case = Conflict.objects.get(), Escalation.objects.get()

    for load in (
        lambda: access_run(cast.cy(), "R-42"),
        lambda: access_workflow(cast.cy(), "refund"),
        lambda: access_conflict(cast.cy(), conflict_ref(conflict.pk)),
        lambda: access_case(cast.cy(), escalation_ref(case.pk)),
    ):
        with pytest.raises(NotFound):
            load()


def test_an_agent_loads_its_own_case_and_no_others() -> None:
    own, other = cast.agent("own").principal, cast.agent("other").principal
    cast.run_with_open_case(who=own)
    ref = escalation_ref(Escalation.objects.get().pk)

    assert access_case(own, ref).ref == ref
    with pytest.raises(NotFound):
        access_case(other, ref)


def test_visible_workflows_are_those_of_groups_scopes_and_overseers() -> None:
    cast.workflow("refund")
    cast.workflow("report")
    refunder = cast.person("fay", Role.OPERATOR, groups=("refund-operators",))
    wrong_role = cast.person("gil", Role.REVIEWER, groups=("refund-operators",))
    unknown = cast.agent("unknown", workflows=("refund", "nonsense")).principal

    assert visible_workflows(cast.ada()) == ("refund", "report")
    assert visible_workflows(cast.dora()) == visible_workflows(cast.eli()) == ("refund", "report")
    assert visible_workflows(refunder) == ("refund",)
    assert visible_workflows(wrong_role) == ()
    assert visible_workflows(unknown) == ("refund",)


def test_visible_workflows_are_read_once_an_epoch(django_assert_num_queries: Queries) -> None:
    cast.workflow("refund")
    ada = cast.ada()
    visible_workflows(ada)

    with django_assert_num_queries(1):
        visible_workflows(ada)
    cast.workflow("report")
    assert visible_workflows(ada) == ("refund", "report")
