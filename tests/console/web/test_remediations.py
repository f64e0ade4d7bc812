"""Remediations: why one is open, its steps, and taking one."""

import pytest

from outbox.models import Remediation, RemediationStep
from outbox.remediations import remediation_ref
from tests import cast, review
from tests.console.web.visitor import Answer, Visitor, stranger, visit
from tests.outbox import settling

pytestmark = pytest.mark.django_db

TOLD = {"evidence": "Mail of 12:40 to the customer.", "reason": "They have to know."}


@pytest.fixture
def dora() -> Visitor:
    return visit(cast.dora())


@pytest.fixture
def open_one() -> str:
    """The address of a remediation: Ben revoked what had happened already."""
    return opened("R-7")


def opened(key: str) -> str:
    sent = settling.succeed(review.refund_approved(key))
    review.revoke(cast.ben(), review.approval_of(sent))
    return f"/remediations/{remediation_ref(Remediation.objects.get(effect=sent).pk)}/"


def take(visitor: Visitor, remediation: str, step: str = "notified", **typed: str) -> Answer:
    path = f"{remediation}steps/"
    return visitor.send(path, visitor.get(remediation).form(path) | TOLD | {"step": step} | typed)


def test_it_says_that_it_happened_and_why_it_should_not_stand(dora: Visitor, open_one: str) -> None:
    text = dora.get(open_one).text

    assert "This happened and should not stand." in text
    assert "its approval was revoked after it had happened: It was for another customer." in text
    assert "Pay 25.00 EUR to Ana Lima for case R-7." in text
    assert "Nothing here takes it back by itself." in text


def test_a_step_is_kept_with_its_evidence(dora: Visitor, open_one: str) -> None:
    answer = take(dora, open_one)

    assert answer.status == 200
    assert "Recorded." in answer.text
    assert "person dora notified Mail of 12:40 to the customer." in answer.text
    assert Remediation.objects.get().state == "open"


def test_closing_ends_it(dora: Visitor, open_one: str) -> None:
    take(dora, open_one)
    take(dora, open_one, "closed")

    text = dora.get(open_one).text

    assert "what could be done about it was done" in text
    assert Remediation.objects.get().state == "done"
    assert not dora.get(open_one).has_form(f"{open_one}steps/")


def test_without_script_the_answer_is_the_page(dora: Visitor, open_one: str) -> None:
    form = dora.get(open_one).form(f"{open_one}steps/") | TOLD | {"step": "notified"}

    answer = dora.post(f"{open_one}steps/", form)

    assert answer.status == 303
    assert TOLD["evidence"] in dora.get(answer.header("Location")).text


@pytest.mark.parametrize("missing", ["step", "evidence", "reason", "id"])
def test_a_step_that_lacks_something_is_refused_and_what_was_typed_stays(
    dora: Visitor, open_one: str, missing: str
) -> None:
    answer = take(dora, open_one, **{missing: ""})

    assert answer.status == 422
    assert TOLD["reason" if missing == "evidence" else "evidence"] in answer.text
    assert not RemediationStep.objects.exists()


def test_a_step_sent_twice_is_taken_once(dora: Visitor, open_one: str) -> None:
    form = dora.get(open_one).form(f"{open_one}steps/") | TOLD | {"step": "notified"}

    dora.send(f"{open_one}steps/", form)
    dora.send(f"{open_one}steps/", form)

    assert RemediationStep.objects.count() == 1


def test_what_is_done_takes_no_step(dora: Visitor, open_one: str) -> None:
    form = dora.get(open_one).form(f"{open_one}steps/") | TOLD | {"step": "notified"}
    take(dora, open_one, "closed")

    answer = dora.send(f"{open_one}steps/", form)

    assert answer.status == 409
    assert "This remediation is done." in answer.text
    assert RemediationStep.objects.count() == 1


def test_a_provider_that_cannot_cancel_is_not_asked_and_the_page_says_why(dora: Visitor, open_one: str) -> None:
    shown = dora.get(open_one)
    answer = take(dora, open_one, "provider-cancel")

    assert "Not here: payments declares no way to cancel." in shown.text
    assert answer.status == 409
    assert TOLD["evidence"] in answer.text


def test_others_look_on(open_one: str) -> None:
    for who in (cast.ada(), cast.ben(), cast.eli()):
        visitor = visit(who)
        assert "To look at only. Admins work remediations off." in visitor.get(open_one).text
        answer = visitor.send(f"{open_one}steps/", {"id": "s-1", "step": "notified", **TOLD})
        assert answer.status == 403
    assert not RemediationStep.objects.exists()


def test_for_an_outsider_it_does_not_exist_and_reading_takes_no_step(dora: Visitor, open_one: str) -> None:
    assert visit(cast.cy()).get(open_one).status == 404
    assert visit(cast.cy()).send(f"{open_one}steps/", {}).status == 404
    assert dora.get(f"{open_one}steps/").status == 405
    assert stranger().get(open_one).status == 302
    assert dora.get("/remediations/rm-1/").status == 404


def test_open_ones_are_listed_the_oldest_first(dora: Visitor, open_one: str) -> None:
    other = opened("R-8")
    take(dora, open_one)

    answer = dora.get("/remediations/")

    assert answer.html.index(open_one) < answer.html.index(other)
    assert "notified" in answer.text
    take(dora, open_one, "closed")
    assert open_one not in dora.get("/remediations/").html


def test_an_empty_list_says_when_one_opens(dora: Visitor) -> None:
    cast.workflow()

    assert "No remediation is open" in dora.get("/remediations/").text


def test_the_list_costs_the_same_with_two_and_with_six(dora: Visitor) -> None:
    for key in ("R-1", "R-2"):
        opened(key)
    dora.get("/remediations/")
    two = dora.cost("/remediations/")
    for key in ("R-3", "R-4", "R-5", "R-6"):
        opened(key)

    assert dora.cost("/remediations/") == two
