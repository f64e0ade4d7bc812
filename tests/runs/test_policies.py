"""Changes of a policy: in force at once or waiting, on the version that was seen, once per id."""

from typing import Any

import pytest

from runs import authority
from runs.administration import newest_policy
from runs.errors import (
    AgentsCannotDecide,
    CommandIdReused,
    Forbidden,
    InvalidParams,
    LimitExceeded,
    NotFound,
    VersionConflict,
)
from runs.models import AuthorityChange, PolicyVersion, WaitingStep
from runs.policies import list_history, tell_policy
from runs.values import Principal
from tests import cast
from tests.admins import confirmed, dan, only_step, policy_change

pytestmark = pytest.mark.django_db


@pytest.fixture
def dora() -> Principal:
    cast.workflow()
    return cast.dora()


# ---- in force at once ------------------------------------------------------------------------------------


def test_a_tighter_policy_is_in_force_when_the_change_is_answered(dora: Principal) -> None:
    answer = policy_change(dora, quorum=2, limits={"refund_amount": "20.00"})

    policy = newest_policy("refund")
    assert (policy.quorum, dict(policy.limits), policy.version, policy.authority_version) == (
        2, {"refund_amount": "20.00"}, 2, 2,
    )  # fmt: skip
    assert answer.waiting is None
    assert answer.made == tell_policy("refund", policy)


def test_a_change_takes_effect_on_the_next_command(dora: Principal) -> None:
    agent = cast.agent().principal
    cast.run_received()
    policy_change(dora, limits={"refund_amount": "20.00"})

    with pytest.raises(LimitExceeded):
        cast.command(agent, "R-42", "set-refund-amount", amount="20.01", currency="EUR")


@pytest.mark.parametrize(
    "changes",
    [
        {"budget": {"attempts": 9, "elapsed": "1h"}},
        {"decision_expires_after": "12h"},
        {"run_expires_after": 3600},
        {"retention": {"payload": "1d"}},
        {"reauthenticate_within": "10m"},
    ],
)
def test_terms_move_the_version_alone(dora: Principal, changes: dict[str, Any]) -> None:
    policy_change(dora, **changes)

    policy = newest_policy("refund")
    assert (policy.version, policy.authority_version) == (2, 1)
    assert AuthorityChange.objects.first().kind == "policy.changed"  # type: ignore[union-attr]  # there is one


def test_the_part_about_consent_moves_the_authority_version_as_well(dora: Principal) -> None:
    policy_change(dora, suspended=True)

    policy = newest_policy("refund")
    assert (policy.suspended, policy.version, policy.authority_version) == (True, 2, 2)
    assert AuthorityChange.objects.first().kind == "workflow.policy-changed"  # type: ignore[union-attr]  # there is one


def test_a_change_that_changes_nothing_makes_no_version(dora: Principal) -> None:
    answer = policy_change(dora, quorum=1, separation="strict")

    assert answer.made["version"] == 1
    assert PolicyVersion.objects.filter(slug="refund").count() == 1


def test_who_changed_what_and_why_is_kept(dora: Principal) -> None:
    policy_change(dora, quorum=2)

    row = PolicyVersion.objects.get(slug="refund", version=2)
    assert (row.actor, row.reason, row.without_second_person) == ("user:dora", "because the test says so", False)
    newest, oldest = list_history("refund", 10)
    assert newest.changed == {"quorum": {"from": 1, "to": 2}}
    assert oldest.changed == {}


def test_what_is_told_of_a_policy_can_be_sent_back(dora: Principal) -> None:
    policy_change(dora, reauthenticate_within="90s", retention={"payload": "36h"})
    told = tell_policy("refund", newest_policy("refund"))
    terms = {name: value for name, value in told.items() if not name.endswith("version") and name != "workflow"}

    policy_change(dora, **terms)

    assert newest_policy("refund").version == 2


# ---- waiting ---------------------------------------------------------------------------------------------


def test_a_looser_policy_waits_and_changes_nothing_until_then(dora: Principal) -> None:
    answer = policy_change(dora, separation="relaxed")

    assert answer.waiting is not None
    assert "separation of duties is relaxed" in answer.because
    assert newest_policy("refund").separation == "strict"
    assert PolicyVersion.objects.filter(slug="refund").count() == 1


def test_what_tightens_never_waits_for_what_loosens_beside_it(dora: Principal) -> None:
    answer = policy_change(dora, separation="relaxed", quorum=2)

    policy = newest_policy("refund")
    assert (policy.quorum, policy.separation, policy.version) == (2, "strict", 2)
    assert only_step().based_on == "2"
    assert answer.made["version"] == 2


def test_a_confirmed_policy_is_in_force_with_both_names(dora: Principal) -> None:
    answer = policy_change(dora, separation="relaxed", quorum=2)

    settled = confirmed(dan(), answer.waiting)

    policy = newest_policy("refund")
    assert (policy.separation, policy.quorum, policy.version, policy.authority_version) == ("relaxed", 2, 3, 3)
    assert settled.answer["result"]["version"] == 3
    change = AuthorityChange.objects.first()
    assert change is not None
    assert (change.actor, change.without_second_person) == ("user:dora", False)
    assert '"by":"user:dan"' in change.body


def test_a_looser_policy_is_void_once_the_policy_has_moved(dora: Principal) -> None:
    waiting = policy_change(dora, separation="relaxed").waiting
    policy_change(dora, budget={"attempts": 5, "elapsed": "10m"})

    with pytest.raises(Exception, match="Void"):
        confirmed(dan(), waiting)

    assert newest_policy("refund").separation == "strict"
    assert only_step().state == "void"


# ---- refused -----------------------------------------------------------------------------------------------


def test_a_change_on_a_stale_version_changes_nothing_and_tells_the_policy(dora: Principal) -> None:
    policy_change(dora, quorum=2)

    with pytest.raises(VersionConflict) as refused:
        policy_change(dora, on=1, quorum=3)

    assert refused.value.members["policy"]["quorum"] == 2
    assert refused.value.members["current_etag"] == '"1.2"'
    assert newest_policy("refund").quorum == 2


@pytest.mark.parametrize("who", [cast.ada, cast.ben, cast.eli])
def test_only_admins_change_a_policy(dora: Principal, who: Any) -> None:
    with pytest.raises(Forbidden):
        policy_change(who(), quorum=2)


def test_an_agent_never_changes_a_policy(dora: Principal) -> None:
    with pytest.raises(AgentsCannotDecide):
        policy_change(cast.agent().principal, quorum=2)


def test_a_policy_that_may_not_be_seen_is_not_there(dora: Principal) -> None:
    with pytest.raises(NotFound):
        policy_change(cast.cy(), quorum=2)


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"quorum": 0}, "/quorum"),
        ({"quorum": "2"}, "/quorum"),
        ({"quorum": None}, "/quorum"),
        ({"separation": "none"}, "/separation"),
        ({"operators": []}, "/operators"),
        ({"reviewers": ["fine", "not fine"]}, "/reviewers/1"),
        ({"limits": {"category": "5.00"}}, "/limits/category"),
        ({"limits": {"refund_amount": "a lot"}}, "/limits/refund_amount"),
        ({"limits": {"nowhere": "5.00"}}, "/limits/nowhere"),
        ({"budget": {"attempts": 0, "elapsed": "10m"}}, "/budget/attempts"),
        ({"budget": {"attempts": 3, "elapsed": "soon"}}, "/budget/elapsed"),
        ({"budget": {"attempts": 3, "elapsed": 0}}, "/budget/elapsed"),
        ({"budget": 3}, "/budget"),
        ({"decision_expires_after": 0}, "/decision_expires_after"),
        ({"retention": {"everything": "1d"}}, "/retention/everything"),
        ({"suspended": "yes"}, "/suspended"),
    ],
)
def test_every_fault_is_named_with_its_place(dora: Principal, changes: dict[str, Any], pointer: str) -> None:
    with pytest.raises(InvalidParams) as refused:
        policy_change(dora, **changes)

    assert pointer in [fault.pointer for fault in refused.value.errors]
    assert not WaitingStep.objects.exists()


# ---- repeats -------------------------------------------------------------------------------------------------


def test_the_same_request_again_is_the_same_answer_whatever_version_it_names(dora: Principal) -> None:
    first = policy_change(dora, id_="p-1", quorum=2)

    again = policy_change(dora, id_="p-1", on=1, quorum=2)

    assert again.is_replay
    assert again.made == first.made
    assert newest_policy("refund").version == 2


def test_an_id_stands_for_one_request(dora: Principal) -> None:
    policy_change(dora, id_="p-1", quorum=2)

    with pytest.raises(CommandIdReused):
        policy_change(dora, id_="p-1", quorum=3)


def test_two_admins_may_use_the_same_id(dora: Principal) -> None:
    policy_change(dora, id_="p-1", quorum=2)

    assert not policy_change(dan(), id_="p-1", quorum=2).is_replay


def test_the_cache_of_authority_never_serves_the_old_policy(dora: Principal) -> None:
    assert authority.policy_of("refund").quorum == 1

    policy_change(dora, quorum=2)

    assert authority.policy_of("refund").quorum == 2
