"""The list of effects: counts, filters, causes, and planning a repair of several."""

from datetime import timedelta

import pytest

from console.web import effect_list
from outbox.models import Effect, RepairPlan
from tests import cast, review
from tests.console.web.visitor import Answer, Visitor, stranger, visit
from tests.outbox import settling

pytestmark = pytest.mark.django_db

EFFECTS = "/effects/"


@pytest.fixture
def dora() -> Visitor:
    cast.workflow()
    return visit(cast.dora())


def unknown(key: str) -> Effect:
    review.destination("payments", recognises_repeats=False, key_retention_seconds=None)
    return settling.attempt(review.refund_approved(key), settling.UNKNOWN)


def listed(answer: Answer) -> list[str]:
    return [
        part.split("<", 1)[0]
        for part in answer.html.split('class="row-link mono"')[1:]
        for part in [part.split(">", 1)[1]]
    ]


def test_the_newest_effect_comes_first_with_its_state_and_why(dora: Visitor) -> None:
    unknown("R-1")
    review.refund_approved("R-2")

    answer = dora.get(EFFECTS)

    assert listed(answer) == ["R-2:pay:v4", "R-1:pay:v4"]
    assert "Pay 25.00 EUR to Ana Lima for case R-1. outcome unknown" in answer.text
    assert "Pay 25.00 EUR to Ana Lima for case R-2. waiting to be sent" in answer.text


def test_what_stands_where_is_counted_and_each_count_leads_to_its_effects(dora: Visitor) -> None:
    unknown("R-1")
    unknown("R-2")
    settling.succeed(review.refund_approved("R-3"))

    answer = dora.get(EFFECTS)
    chosen = dora.get(EFFECTS, state="succeeded")

    assert "2 outcome unknown 1 confirmed" in answer.text
    assert 'href="?state=needs_reconciliation"' in answer.html
    assert listed(chosen) == ["R-3:pay:v4"]


def test_failures_are_grouped_by_cause_and_each_leads_to_its_effects(dora: Visitor) -> None:
    unknown("R-1")
    unknown("R-2")
    settling.attempt(review.refund_approved("R-3"), settling.REFUSED)

    answer = dora.get(EFFECTS)
    cause = Effect.objects.get(run__key="R-3").because
    narrowed = dora.get(EFFECTS, state="failed", destination="payments", because=cause)

    assert "Failures by cause" in answer.text
    assert "The provider refused it for good; nothing happened payments failed, nothing happened 1" in answer.text
    assert listed(narrowed) == ["R-3:pay:v4"]
    assert f"cause: {cause}" in narrowed.text


def test_filters_stay_in_the_address_and_lists_go_on(dora: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effect_list, "PAGE_SIZE", 2)
    for number in range(5):
        review.refund_approved(f"R-{number}")

    first = dora.get(EFFECTS, destination="payments")
    older = first.html.split('rel="next" href="')[1].split('"')[0].replace("&amp;", "&")
    second = dora.get(EFFECTS + older)

    assert older.startswith("?destination=payments&after=")
    assert listed(first) + listed(second) == ["R-4:pay:v4", "R-3:pay:v4", "R-2:pay:v4", "R-1:pay:v4"]


def test_an_age_leaves_out_what_is_younger(dora: Visitor) -> None:
    settling.let_pass(review.refund_approved("R-1"), days=2)
    review.refund_approved("R-2")

    assert listed(dora.get(EFFECTS, age="1d")) == ["R-1:pay:v4"]
    assert effect_list.AGES["1d"] == timedelta(days=1)


@pytest.mark.parametrize("query", [{"state": "bogus"}, {"destination": "bogus"}, {"age": "bogus"}])
def test_a_filter_that_no_link_of_ours_carries_lists_nothing(dora: Visitor, query: dict[str, str]) -> None:
    review.refund_approved("R-1")

    answer = dora.get(EFFECTS, **query)

    assert answer.status == 200
    assert listed(answer) == []
    assert "Nothing is listed." in answer.text


def test_a_forged_place_is_refused(dora: Visitor) -> None:
    assert dora.get(EFFECTS, after="forged").status == 400


def test_an_empty_list_says_what_would_appear(dora: Visitor) -> None:
    assert "No effects yet" in dora.get(EFFECTS).text


def test_people_see_the_effects_of_their_workflows_only(dora: Visitor) -> None:
    review.refund_approved("R-1")

    assert listed(visit(cast.ada()).get(EFFECTS)) == ["R-1:pay:v4"]
    assert listed(visit(cast.cy()).get(EFFECTS)) == []
    assert stranger().get(EFFECTS).status == 302


def test_the_list_costs_the_same_with_two_effects_and_with_twenty(dora: Visitor) -> None:
    for number in range(2):
        review.refund_approved(f"R-{number}")
    dora.get(EFFECTS)
    two = dora.cost(EFFECTS)
    for number in range(2, 20):
        review.refund_approved(f"R-{number}")

    assert dora.cost(EFFECTS) == two


def test_hostile_text_in_a_list_stays_text(dora: Visitor) -> None:
    review.destination("payments")
    cast.run_received("R-1", recipient="<b>Ana</b> \u202e" + " " * 90 + "x")
    cast.command(review.cashier(), "R-1", "set-refund-amount", amount="25.00", currency="EUR")
    review.approve(cast.ben(), review.freeze(review.cashier(), "R-1", "pay").answer["snapshot"])

    html = dora.get(EFFECTS).html

    assert "<b>Ana" not in html
    assert "⟨U+202E⟩" in html


# ---- planning ----------------------------------------------------------------------------------------------


def planned(visitor: Visitor, *effects: Effect, **typed: str) -> Answer:
    drawn = visitor.get(EFFECTS).form("/repair-plans/") | {"repair": "mark_failed", "reason": "Last night's."}
    return visitor.post("/repair-plans/", {**drawn, **typed, "effects": [effect.pk for effect in effects]})


def test_chosen_effects_are_planned_and_shown_before_anything_changes(dora: Visitor) -> None:
    one, two = unknown("R-1"), unknown("R-2")

    answer = planned(dora, one, two)
    page = dora.get(answer.header("Location"))

    assert answer.status == 303
    assert "What applying would do" in page.text
    assert "0 would settle · 2 still unknown or waiting · 0 refused" in page.text
    assert set(Effect.objects.values_list("state", flat=True)) == {"needs_reconciliation"}


def test_a_plan_without_effects_or_reason_keeps_what_was_typed(dora: Visitor) -> None:
    one = unknown("R-1")

    nothing = planned(dora)
    silent = planned(dora, one, reason=" ")

    assert (nothing.status, silent.status) == (422, 422)
    assert "Choose at least one effect." in nothing.text
    assert "Last night's." in nothing.text
    assert silent.form("/repair-plans/")["effects"] == one.pk
    assert not RepairPlan.objects.exists()


def test_who_is_no_admin_finds_nothing_to_plan_with_and_is_refused(dora: Visitor) -> None:
    one = unknown("R-1")
    form = {"id": "p-1", "effects": one.pk, "repair": "mark_failed", "reason": "So."}
    ada = visit(cast.ada())

    assert 'name="effects"' not in ada.get(EFFECTS).html
    refused = ada.post("/repair-plans/", form)
    assert refused.status == 403
    assert "Nothing was planned." in refused.text


def test_reading_plans_nothing(dora: Visitor) -> None:
    assert dora.get("/repair-plans/").status == 405
