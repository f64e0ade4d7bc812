"""Freezing by hand: what would be frozen, the form, and what refuses it."""

import json

import pytest

from approvals.models import Snapshot
from tests import cast, review
from tests.console.web.visitor import Answer, Visitor, stranger, visit
from tests.outbox import settling

pytestmark = pytest.mark.django_db

PAY = "/runs/R-7/freezes/pay/"
SEND = "/runs/R-42/freezes/send/"


@pytest.fixture
def ada() -> Visitor:
    """An operator, with a refund that is complete."""
    review.refund_working()
    return visit(cast.ada())


def freeze(visitor: Visitor, path: str = PAY, **typed: str) -> Answer:
    return visitor.post(path, visitor.get(path).form(path) | {"reason": "It is complete."} | typed)


def test_what_would_be_frozen_is_shown_before_it_is(ada: Visitor) -> None:
    text = ada.get(PAY).text

    assert "What would be frozen, from version 2" in text
    assert "Pay 25.00 EUR to Ana Lima for case R-7 ." in text
    assert "payments revision 1 · provider.example.com" in text
    assert not Snapshot.objects.exists()


def test_freezing_leads_to_the_review(ada: Visitor) -> None:
    answer = freeze(ada)

    assert answer.status == 303
    assert answer.header("Location") == "/snapshots/R-7:review:v3:c1/"
    assert Snapshot.objects.get().proposed_by == "user:ada"


def test_a_form_sent_twice_freezes_once(ada: Visitor) -> None:
    form = ada.get(PAY).form(PAY) | {"reason": "It is complete."}

    first, again = ada.post(PAY, form), ada.post(PAY, form)

    assert first.header("Location") == again.header("Location")
    assert Snapshot.objects.count() == 1


def test_a_record_that_moved_is_shown_and_nothing_is_frozen(ada: Visitor) -> None:
    form = ada.get(PAY).form(PAY) | {"reason": "It is complete."}
    cast.command(review.cashier(), "R-7", "set-refund-amount", amount="26.00", currency="EUR")

    answer = ada.post(PAY, form)

    assert answer.status == 412
    assert "The record moved to version 3 while you read. Nothing was frozen." in answer.text
    assert "refund_amount was 25.00 is 26.00" in answer.text
    assert answer.form(PAY)["reason"] == "It is complete."
    assert answer.form(PAY)["seen"].endswith(".3")
    assert not Snapshot.objects.exists()


@pytest.mark.parametrize("missing", ["reason", "seen", "id"])
def test_a_form_that_lacks_something_is_refused(ada: Visitor, missing: str) -> None:
    assert freeze(ada, **{missing: ""}).status == 422
    assert not Snapshot.objects.exists()


def test_what_is_not_set_is_named_and_cannot_be_frozen() -> None:
    review.destination("payments")
    cast.run_working("R-7")
    ada = visit(cast.ada())

    answer = ada.get(PAY)

    assert "Nobody has set amount, recipient yet." in answer.text
    assert "“Pay the refund” shows recipient, refund_amount, which nobody has set yet." in answer.text
    assert not answer.has_form(PAY)


def test_who_lacks_the_scope_sees_why_and_is_refused_whatever_is_sent(ada: Visitor) -> None:
    form = ada.get(PAY).form(PAY) | {"reason": "It is complete."}
    ben = visit(cast.ben())

    shown = ben.get(PAY)
    refused = ben.post(PAY, form)

    assert not shown.has_form(PAY)
    assert "This needs the scope refund:pay." in shown.text
    assert refused.status == 403
    assert not Snapshot.objects.exists()


def test_for_an_outsider_and_for_what_does_not_exist_there_is_nothing(ada: Visitor) -> None:
    assert visit(cast.cy()).get(PAY).status == 404
    assert ada.get("/runs/R-7/freezes/nothing/").status == 404
    assert ada.get("/runs/R-99/freezes/pay/").status == 404
    assert stranger().get(PAY).status == 302


def test_a_supplied_payload_starts_with_the_newest_artifacts_and_is_frozen_exactly() -> None:
    artifacts = review.report_working()
    ada = visit(cast.ada())
    form = ada.get(SEND).form(SEND)

    answer = freeze(ada, SEND, payload=json.dumps(json.loads(form["payload"]) | {"title": "Q3"}))

    assert form["slot-research"] == artifacts["research"]
    assert answer.status == 303
    frozen = json.loads(bytes(Snapshot.objects.get().payload or b""))
    assert frozen == review.report_payload(artifacts)


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ("", "required"),
        ("{", "JSON"),
        ('{"a": 1, "a": 2}', "/a"),
        ('{"a": NaN}', "/a"),
        ('{"artifacts": {}}', "must name each slot"),
        ("[]", "object"),
    ],
)
def test_a_payload_that_is_not_acceptable_is_refused_in_words_and_kept(payload: str, words: str) -> None:
    review.report_working()
    ada = visit(cast.ada())

    answer = freeze(ada, SEND, payload=payload)

    assert answer.status == 422
    assert words in answer.text
    assert answer.form(SEND)["payload"] == payload
    assert not Snapshot.objects.exists()


def test_a_compensation_names_the_operation_it_takes_back() -> None:
    review.destination("payments-recall")
    sent = settling.succeed(review.refund_approved())
    recall = "/runs/R-7/freezes/recall/"
    ada = visit(cast.ada())

    shown = ada.get(recall)
    answer = freeze(ada, recall)

    assert "take back the refund of 25.00 EUR to Ana Lima" in shown.text
    assert shown.form(recall)["of"] == sent.pk
    assert answer.status == 303
    assert Snapshot.objects.get(action="recall").compensates == sent.pk


def test_the_page_of_the_run_leads_to_it_and_shows_what_came_of_it(ada: Visitor) -> None:
    before = ada.get("/runs/R-7/").html
    freeze(ada)
    review.approve(cast.ben(), Snapshot.objects.get().pk)
    after = ada.get("/runs/R-7/")

    assert f'href="{PAY}"' in before
    assert "R-7:review:v3:c1 Pay 25.00 EUR to Ana Lima for case R-7. authorized 1 approval" in after.text
    assert "R-7:pay:v4 waiting to be sent" in after.text


def test_a_candidate_under_review_is_announced_on_the_page_of_the_run(ada: Visitor) -> None:
    freeze(ada)

    answer = ada.get("/runs/R-7/")

    assert "A candidate is under review." in answer.text
    assert 'href="/snapshots/R-7:review:v3:c1/"' in answer.html
