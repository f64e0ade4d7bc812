"""Repairs in the inbox: unknown outcomes first, then what should not stand; admins act, auditors look on."""

import pytest

from outbox.models import Effect
from outbox.quarantine import quarantine_all
from tests import cast, review
from tests.console.web.visitor import Answer, Visitor, visit
from tests.outbox import settling

pytestmark = pytest.mark.django_db


@pytest.fixture
def dora() -> Visitor:
    cast.workflow()
    return visit(cast.dora())


def unknown(key: str) -> Effect:
    review.destination("payments", recognises_repeats=False, key_retention_seconds=None)
    return settling.attempt(review.refund_approved(key), settling.UNKNOWN)


def should_not_stand(key: str) -> Effect:
    review.destination("payments")
    sent = settling.succeed(review.refund_approved(key))
    review.revoke(cast.ben(), review.approval_of(sent))
    return sent


def rows(answer: Answer) -> list[str]:
    return [part.split('"', 1)[0].strip("/") for part in answer.html.split('class="mono" href="/runs/')[1:]]


def test_what_nobody_knows_comes_before_what_should_not_stand_however_old(dora: Visitor) -> None:
    should_not_stand("R-1")
    settling.let_pass(unknown("R-2"), hours=2)
    unknown("R-3")

    answer = dora.get("/", queue="repairs")

    assert rows(answer) == ["R-2", "R-3", "R-1"]
    assert "outcome unknown" in answer.text
    assert "should not stand" in answer.text
    assert 'id="count-inbox">3<' in answer.html


def test_what_a_restore_put_into_quarantine_waits_too(dora: Visitor) -> None:
    review.refund_approved("R-1")
    assert rows(dora.get("/", queue="repairs")) == []

    quarantine_all(cast.SETUP)

    assert rows(dora.get("/", queue="repairs")) == ["R-1"]


def test_what_was_settled_waits_no_longer(dora: Visitor) -> None:
    settling.succeed(review.refund_approved("R-1"))
    settling.attempt(review.refund_approved("R-2"), settling.REFUSED)

    assert rows(dora.get("/", queue="repairs")) == []


def test_an_auditor_looks_on_and_is_not_counted_on(dora: Visitor) -> None:
    unknown("R-1")

    answer = visit(cast.eli()).get("/", queue="repairs")

    assert rows(answer) == ["R-1"]
    assert "to look at only" in answer.text
    assert 'id="count-inbox"' not in answer.html


def test_nobody_else_has_this_queue(dora: Visitor) -> None:
    unknown("R-1")

    for who in (cast.ada(), cast.ben(), cast.cy()):
        assert rows(visit(who).get("/", queue="repairs")) == []


def test_a_queue_of_two_kinds_goes_on_without_a_gap(dora: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.web.inbox.PAGE_SIZE", 2)
    for key in ("R-1", "R-2", "R-3"):
        unknown(key)
    for key in ("R-4", "R-5"):
        should_not_stand(key)

    seen: list[str] = []
    address = "/?queue=repairs"
    while address:
        answer = dora.get(address)
        seen += rows(answer)
        after = answer.html.split('rel="next" href="')[1:]
        address = "/" + after[0].split('"')[0].replace("&amp;", "&") if after else ""

    assert seen == ["R-1", "R-2", "R-3", "R-4", "R-5"]


def test_the_inbox_costs_the_same_with_two_repairs_and_with_many(dora: Visitor) -> None:
    unknown("R-0")
    should_not_stand("R-1")
    dora.get("/")
    two = dora.cost("/")
    for number in range(2, 6):
        unknown(f"R-{number}")
        should_not_stand(f"Q-{number}")

    assert dora.cost("/") == two
