"""Reviews in the inbox: only what this person may approve, the oldest first, and what nobody can complete."""

import pytest

from console.web import inbox
from runs.states import Role
from tests import cast, review
from tests.console.web.visitor import Answer, Visitor, visit

pytestmark = pytest.mark.django_db


@pytest.fixture
def ben() -> Visitor:
    cast.workflow()
    return visit(cast.ben())


def rows(answer: Answer) -> list[str]:
    """The runs that the inbox lists, in order."""
    return [part.split('"', 1)[0] for part in answer.html.split('class="mono" href="/runs/')[1:]]


def reviews(visitor: Visitor) -> list[str]:
    return [key.strip("/") for key in rows(visitor.get("/", queue="reviews"))]


def test_a_reviewer_finds_what_waits_for_them_the_oldest_first(ben: Visitor) -> None:
    review.refund_ready_for_review("R-1")
    review.report_ready_for_review("R-2")

    answer = ben.get("/")

    assert reviews(ben) == ["R-1", "R-2"]
    assert "Pay 25.00 EUR to Ana Lima for case R-1." in answer.text
    assert "Pay the refund to payments · 0 of 1 approvals · frozen by agent cashier" in answer.text
    assert 'id="count-inbox">2<' in answer.html


def test_what_was_decided_authorized_or_voided_waits_no_longer(ben: Visitor) -> None:
    for key in ("R-1", "R-2", "R-3"):
        review.refund_ready_for_review(key)
    review.deny(review.bea(), "R-1:review:v3:c1")
    review.approve(review.bea(), "R-2:review:v3:c1")
    cast.command(cast.ada(), "R-3", "set-refund-amount", amount="26.00", currency="EUR")

    assert reviews(ben) == []


def test_ones_own_approval_takes_it_from_the_queue_and_leaves_it_in_that_of_others(ben: Visitor) -> None:
    cast.policy(quorum=2)
    snapshot = review.refund_ready_for_review("R-1")
    review.approve(cast.ben(), snapshot)

    bea = visit(review.bea())
    assert reviews(ben) == []
    assert reviews(bea) == ["R-1"]
    assert "1 of 2 approvals" in bea.get("/").text


def test_an_approval_that_no_longer_counts_brings_it_back(ben: Visitor) -> None:
    cast.policy(quorum=2)
    decision = review.approve(cast.ben(), review.refund_ready_for_review("R-1")).answer["decision"]

    review.revoke(review.bea(), decision)

    assert reviews(ben) == ["R-1"]


def test_what_has_its_quorum_waits_for_its_coordinator_and_for_no_reviewer(ben: Visitor) -> None:
    review.report_reviewed("R-1")

    assert reviews(visit(review.bea())) == []


def test_who_took_part_is_not_asked_unless_separation_is_relaxed(ben: Visitor) -> None:
    review.refund_working("R-1")
    zed = cast.person("zed", Role.REVIEWER, Role.OPERATOR, groups=("refund-reviewers", "refund-operators"))
    cast.command(zed, "R-1", "set-refund-amount", amount="26.00", currency="EUR")
    review.freeze(review.cashier(), "R-1", "pay")

    assert reviews(visit(zed)) == []
    assert reviews(ben) == ["R-1"]
    cast.policy(separation="relaxed")
    assert reviews(visit(zed)) == ["R-1"]


def test_a_reviewer_of_other_workflows_is_not_asked(ben: Visitor) -> None:
    review.refund_ready_for_review("R-1")
    other = visit(cast.person("rex", Role.REVIEWER, groups=("report-reviewers",)))

    assert reviews(other) == []


def test_admins_find_what_too_few_people_could_complete(ben: Visitor) -> None:
    review.refund_ready_for_review("R-1")
    dora = visit(cast.dora())
    assert reviews(dora) == []

    cast.policy(quorum=2)

    assert reviews(dora) == ["R-1"]
    assert "Too few people can approve this: add a reviewer." in dora.get("/").text
    review.bea()
    assert reviews(dora) == []


def test_a_queue_goes_on_after_its_last_row(ben: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox, "PAGE_SIZE", 2)
    for number in range(3):
        review.refund_ready_for_review(f"R-{number}")

    first = ben.get("/", queue="reviews")
    older = first.html.split('rel="next" href="')[1].split('"')[0].replace("&amp;", "&")
    second = ben.get(f"/{older}")

    assert rows(first) + rows(second) == ["R-0/", "R-1/", "R-2/"]


def test_the_inbox_costs_the_same_with_two_reviews_and_with_twenty(ben: Visitor) -> None:
    for number in range(2):
        review.refund_ready_for_review(f"R-{number}")
    ben.get("/")
    two = ben.cost("/")
    for number in range(2, 20):
        review.refund_ready_for_review(f"R-{number}")

    assert ben.cost("/") == two
