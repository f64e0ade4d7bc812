"""A bulk repair on its page: the plan, applying it, and what became of each row."""

import pytest

from outbox.findings import VerdictRequest, give_verdict
from outbox.models import Effect, Repair
from outbox.plans import PlanRequest, make_plan
from outbox.states import Finding, RepairKind
from tests import cast, review
from tests.console.web.visitor import Answer, Visitor, stranger, visit
from tests.outbox import settling

pytestmark = pytest.mark.django_db


@pytest.fixture
def dora() -> Visitor:
    cast.workflow()
    return visit(cast.dora())


def found_not(key: str) -> Effect:
    review.destination("payments", recognises_repeats=True, key_retention_seconds=100)
    effect = settling.let_pass(settling.attempt(review.refund_approved(key), settling.UNKNOWN), hours=1)
    request = VerdictRequest(review.number("v"), Finding.DID_NOT_HAPPEN, "Nothing there.", "So.", effect.version)
    give_verdict(cast.dora(), effect.pk, request)
    effect.refresh_from_db()
    return effect


def plan_of(*effects: Effect) -> str:
    request = PlanRequest(review.number("p"), tuple(e.pk for e in effects), RepairKind.RESEND, "Last night's.")
    return f"/repair-plans/{make_plan(cast.dora(), request).ref}/"


def apply(visitor: Visitor, plan: str, *, script: bool = True) -> Answer:
    path = f"{plan}applications/"
    form = visitor.get(plan).form(path)
    return visitor.send(path, form) if script else visitor.post(path, form)


def test_a_plan_is_looked_at_before_it_is_applied(dora: Visitor) -> None:
    plan = plan_of(found_not("R-1"))

    text = dora.get(plan).text

    assert "Send again: 1 effect" in text
    assert "Last night's." in text
    assert "R-1:pay:v4 would be in force" in text
    assert not Repair.objects.exists()


def test_applying_tells_row_by_row_what_became_of_it(dora: Visitor) -> None:
    moved, other = found_not("R-1"), found_not("R-2")
    plan = plan_of(moved, other)
    settling.change(moved)

    answer = apply(dora, plan)

    assert "1 of 2 settled." in answer.text
    assert "R-1:pay:v4 refused The effect moved since you looked; its state now: needs reconciliation." in answer.text
    assert "R-2:pay:v4 ordered, in force" in answer.text
    assert not answer.is_page


def test_without_script_the_result_is_a_page_of_its_own(dora: Visitor) -> None:
    plan = plan_of(found_not("R-1"))

    answer = apply(dora, plan, script=False)
    page = dora.get(answer.header("Location"))

    assert answer.status == 303
    assert "What became of it" in page.text
    assert "ordered, in force" in page.text
    assert not page.has_form(f"{plan}applications/")


def test_applying_twice_orders_once(dora: Visitor) -> None:
    plan = plan_of(found_not("R-1"))
    form = dora.get(plan).form(f"{plan}applications/")

    dora.send(f"{plan}applications/", form)
    again = dora.send(f"{plan}applications/", form)

    assert "Applied once, as told here." in again.text
    assert Repair.objects.count() == 1


def test_an_auditor_reads_it_and_cannot_apply_it(dora: Visitor) -> None:
    plan = plan_of(found_not("R-1"))
    eli = visit(cast.eli())

    assert not eli.get(plan).has_form(f"{plan}applications/")
    assert eli.send(f"{plan}applications/", {"id": "a-1"}).status == 403
    assert not Repair.objects.exists()


def test_nobody_else_reads_it(dora: Visitor) -> None:
    plan = plan_of(found_not("R-1"))

    assert visit(cast.ben()).get(plan).status == 403
    assert stranger().get(plan).status == 302
    assert dora.get("/repair-plans/rp-1/").status == 404


def test_reading_applies_nothing_and_a_form_without_its_id_is_refused(dora: Visitor) -> None:
    plan = plan_of(found_not("R-1"))

    assert dora.get(f"{plan}applications/").status == 405
    assert dora.post(f"{plan}applications/", {}).status == 404
    assert not Repair.objects.exists()
