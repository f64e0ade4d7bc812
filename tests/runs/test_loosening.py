"""What loosens waits, what tightens never does: every term of a policy and every way to more power, one by one."""

from dataclasses import replace
from typing import Any

import pytest

from runs.definitions import Policy
from runs.loosening import NOBODY, Standing, gained, loosened, tightened, without_gain
from runs.values import Budget

BEFORE = Policy(
    operators=frozenset({"ops", "night"}),
    reviewers=frozenset({"reviewers"}),
    quorum=2,
    separation="strict",
    decision_expires_after=3600,
    run_expires_after=86400,
    budget=Budget(3, 600),
    limits={"amount": "500.00"},
    reauthenticate_within=600,
)

LOOSER: list[tuple[dict[str, Any], str]] = [
    ({"quorum": 1}, "quorum falls from 2 to 1"),
    ({"separation": "relaxed"}, "separation"),
    ({"operators": frozenset({"ops", "night", "day"})}, "day joins the operators"),
    ({"reviewers": frozenset({"reviewers", "friends"})}, "friends joins the reviewers"),
    ({"limits": {"amount": "500.01"}}, "rises from 500.00 to 500.01"),
    ({"limits": {}}, "limit of 500.00 for amount is removed"),
    ({"reauthenticate_within": 601}, "less often"),
    ({"reauthenticate_within": None}, "less often"),
]
TIGHTER: list[dict[str, Any]] = [
    {"quorum": 3},
    {"operators": frozenset({"ops"})},
    {"limits": {"amount": "499.99"}},
    {"limits": {"amount": "500.00", "fee": "1.00"}},
    {"reauthenticate_within": 60},
    {"suspended": True},
    {"suspended": False},
    {"decision_expires_after": 60},
    {"decision_expires_after": 86400},
    {"run_expires_after": 60},
    {"budget": Budget(9, 9000)},
    {"retention": {"payload": 60}},
]


@pytest.mark.parametrize(("change", "words"), LOOSER)
def test_what_loosens_is_named_and_left_out_of_what_is_in_force_at_once(change: dict[str, Any], words: str) -> None:
    wanted = replace(BEFORE, **change)

    assert any(words in told for told in loosened(BEFORE, wanted))
    assert tightened(BEFORE, wanted) == BEFORE


@pytest.mark.parametrize("change", TIGHTER)
def test_what_does_not_loosen_is_in_force_whole(change: dict[str, Any]) -> None:
    wanted = replace(BEFORE, **change)

    assert loosened(BEFORE, wanted) == []
    assert tightened(BEFORE, wanted) == wanted


def test_a_mixed_change_is_split() -> None:
    wanted = replace(BEFORE, quorum=1, limits={"amount": "100.00", "fee": "5.00"}, operators=frozenset({"ops", "day"}))

    now = tightened(BEFORE, wanted)

    assert (now.quorum, dict(now.limits)) == (2, {"amount": "100.00", "fee": "5.00"})
    assert now.operators == {"ops"}
    assert len(loosened(now, wanted)) == 2


def test_groups_that_are_all_replaced_stay_until_the_new_ones_are_confirmed() -> None:
    wanted = replace(BEFORE, reviewers=frozenset({"others"}))

    assert tightened(BEFORE, wanted).reviewers == {"reviewers"}


def test_equal_amounts_in_another_form_are_no_rise() -> None:
    wanted = replace(BEFORE, limits={"amount": "500.0"})

    assert loosened(BEFORE, wanted) == []
    assert tightened(BEFORE, wanted) == wanted


# ---- people ----------------------------------------------------------------------------------------------

OPERATOR = Standing(frozenset({"operator"}), frozenset({"ops"}))
SUSPENDED = replace(OPERATOR, is_active=False)


@pytest.mark.parametrize(
    ("before", "wanted", "words"),
    [
        (NOBODY, Standing(frozenset({"admin"}), frozenset()), ["the role admin"]),
        (NOBODY, Standing(frozenset({"reviewer"}), frozenset()), ["the role reviewer"]),
        (NOBODY, OPERATOR, ["the role operator", "the group ops"]),
        (OPERATOR, replace(OPERATOR, groups=frozenset({"ops", "day"})), ["the group day"]),
        (SUSPENDED, OPERATOR, ["the end of the suspension"]),
    ],
)
def test_more_power_is_named_and_left_out(before: Standing, wanted: Standing, words: list[str]) -> None:
    assert gained(before, wanted) == words
    assert gained(before, without_gain(before, wanted)) == []


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        (NOBODY, Standing(frozenset({"auditor"}), frozenset({"ops"}))),
        (NOBODY, Standing(frozenset(), frozenset({"ops"}))),
        (OPERATOR, Standing(frozenset(), frozenset())),
        (OPERATOR, SUSPENDED),
        (Standing(frozenset({"auditor"}), frozenset(), False), Standing(frozenset({"auditor"}), frozenset())),
    ],
)
def test_less_power_and_reading_wait_for_nobody(before: Standing, wanted: Standing) -> None:
    assert gained(before, wanted) == []
    assert without_gain(before, wanted) == wanted


def test_a_group_joined_before_the_role_counts_when_the_role_comes() -> None:
    member = Standing(frozenset(), frozenset({"ops"}))

    assert gained(member, OPERATOR) == ["the role operator"]
    assert without_gain(member, OPERATOR) == member
