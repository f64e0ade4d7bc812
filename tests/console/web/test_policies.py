"""The policy page: what it says, its history with both names, and a form that keeps what was typed."""

from typing import Any

import pytest

from runs.administration import newest_policy
from runs.models import PolicyVersion, WaitingStep
from tests import cast
from tests.admins import confirmed, dan, only_step, policy_change
from tests.console.web.visitor import Answer, Visitor, visit

pytestmark = pytest.mark.django_db

PAGE = "/workflows/refund/policy/"
ACTION = "/workflows/refund/policy/change/"


@pytest.fixture
def dora() -> Visitor:
    cast.workflow()
    return visit(cast.dora())


def changed(who: Visitor, **typed: Any) -> Answer:
    """Send the form as it is drawn, with these inputs typed over."""
    return sent(who, who.get(PAGE), **typed)


def sent(who: Visitor, page: Answer, /, **typed: Any) -> Answer:
    """Send the form of a page that was drawn before."""
    drawn = page.form(ACTION)
    return who.post(ACTION, drawn | {"reason": "because the test says so"} | typed)


def test_the_form_says_what_is_in_force(dora: Visitor) -> None:
    drawn = dora.get(PAGE).form(ACTION)

    assert (drawn["quorum"], drawn["separation"], drawn["limits.refund_amount"]) == ("1", "strict", "500.00")
    assert (drawn["operators"], drawn["budget.elapsed"], drawn["retention.payload"]) == (
        "refund-operators", "10m", "400d",
    )  # fmt: skip
    assert drawn["reauthenticate_within"] == ""
    assert "suspended" not in drawn


def test_what_was_not_touched_is_not_changed(dora: Visitor) -> None:
    answer = changed(dora)

    assert (answer.status, answer.header("Location")) == (303, PAGE)
    assert PolicyVersion.objects.filter(slug="refund").count() == 1


def test_what_tightens_is_in_force_and_said(dora: Visitor) -> None:
    changed(dora, quorum="2", suspended="on")

    assert "In force, as version 2." in dora.get(PAGE).text
    policy = newest_policy("refund")
    assert (policy.quorum, policy.suspended) == (2, True)
    assert dora.get(PAGE).form(ACTION)["suspended"] == "on"


def test_what_loosens_waits_and_is_said(dora: Visitor) -> None:
    changed(dora, **{"separation": "relaxed", "limits.refund_amount": ""})

    text = dora.get(PAGE).text
    assert "A second admin has to confirm" in text
    assert "the limit of 500.00 for refund_amount is removed" in text
    assert newest_policy("refund").separation == "strict"
    assert only_step().subject == "refund"


def test_the_history_names_both_admins(dora: Visitor) -> None:
    changed(dora, separation="relaxed")
    confirmed(dan(), f"w-{only_step().pk.hex}")

    text = dora.get(PAGE).text
    assert "Version 2 by person dora , confirmed by person dan" in text
    assert "Version 1 by person at the command line tests without a second person" in text


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"quorum": "0"}, "At least 1 is needed."),
        ({"quorum": "many"}, "Enter a whole number."),
        ({"operators": ""}, "This field is required."),
        ({"operators": "not fine"}, "Write letters, digits"),
        ({"limits.refund_amount": "lots"}, "Write a decimal number"),
        ({"budget.elapsed": "soon"}, "Write a whole number and a unit"),
        ({"reauthenticate_within": "10"}, "Write a whole number and a unit"),
        ({"reason": " "}, "Say why"),
    ],
)
def test_a_fault_stands_beside_what_was_typed(dora: Visitor, typed: dict[str, str], words: str) -> None:
    answer = changed(dora, **typed)

    assert (answer.status, words in answer.text) == (422, True)
    ((name, value),) = typed.items()
    assert answer.form(ACTION)[name].strip() == value.strip()
    assert not WaitingStep.objects.exists()
    assert newest_policy("refund").version == 1


def test_a_policy_that_moved_changes_nothing_shows_how_and_keeps_what_was_typed(dora: Visitor) -> None:
    page = dora.get(PAGE)
    policy_change(dan(), budget={"attempts": 9, "elapsed": "10m"})

    answer = sent(dora, page, quorum="3")

    assert answer.status == 412
    assert "The policy moved to version 2 while you edited. Nothing was changed." in answer.text
    assert "budget.attempts" in answer.text
    assert answer.form(ACTION)["quorum"] == "3"
    assert newest_policy("refund").quorum == 1


def test_one_goes_on_from_the_newer_policy_with_what_one_typed_and_nothing_else(dora: Visitor) -> None:
    page = dora.get(PAGE)
    policy_change(dan(), budget={"attempts": 9, "elapsed": "10m"})
    stale = page.form(ACTION) | {"quorum": "3", "reason": "Two are too few."}

    again = dora.post(ACTION, stale | {"continue_on": "2"})
    drawn = again.form(ACTION)
    assert (drawn["quorum"], drawn["budget.attempts"], drawn["seen"]) == ("3", "9", "1.2")
    assert drawn["reason"] == "Two are too few."
    assert drawn["id"] != stale["id"]

    dora.post(ACTION, drawn)
    policy = newest_policy("refund")
    assert (policy.quorum, policy.budget.attempts, policy.version) == (3, 9, 3)


def test_sending_a_form_twice_is_one_change(dora: Visitor) -> None:
    drawn = dora.get(PAGE).form(ACTION) | {"quorum": "2", "reason": "Two are better."}

    dora.post(ACTION, drawn)
    again = dora.post(ACTION, drawn)

    assert again.status == 303
    assert newest_policy("refund").version == 2


@pytest.mark.parametrize("who", [cast.ada, cast.ben, cast.eli])
def test_others_read_it_and_have_no_form(dora: Visitor, who: Any) -> None:
    visitor = visit(who())
    page = visitor.get(PAGE)

    assert not page.has_form(ACTION)
    assert "refund-operators" in page.text
    refused = visitor.post(ACTION, dora.get(PAGE).form(ACTION) | {"quorum": "2", "reason": "Mine."})
    assert refused.status == 403
    assert newest_policy("refund").version == 1


def test_a_get_changes_nothing(dora: Visitor) -> None:
    assert dora.get(ACTION).status == 405
    assert newest_policy("refund").version == 1
