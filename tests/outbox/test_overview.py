"""Effects in numbers and lists: counts, causes, filters, what waits for an admin."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from outbox import overview
from outbox.models import Effect, Remediation
from outbox.overview import EffectFilter, count_by_state, destinations_used, group_failures, list_rows, list_unknown
from outbox.quarantine import quarantine_all
from tests import cast, review
from tests.outbox import settling

pytestmark = pytest.mark.django_db

REFUNDS = ("refund",)


def unknown(key: str) -> Effect:
    review.destination("payments", recognises_repeats=False, key_retention_seconds=None)
    return settling.attempt(review.refund_approved(key), settling.UNKNOWN)


def keys(rows: list[Effect]) -> list[str]:
    return [row.run.key for row in rows]


def test_effects_are_counted_by_state_and_every_state_is_told() -> None:
    unknown("R-1")
    unknown("R-2")
    settling.succeed(review.refund_approved("R-3"))

    counts = count_by_state(REFUNDS)

    assert {state: number for state, number in counts.items() if number} == {"needs_reconciliation": 2, "succeeded": 1}
    assert len(counts) == 6
    assert set(count_by_state(("report",)).values()) == {0}


def test_counting_stops_where_a_number_says_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "COUNTED_AT_MOST", 2)
    for key in ("R-1", "R-2", "R-3"):
        review.refund_approved(key)

    assert count_by_state(REFUNDS)["pending"] == 2


def test_failures_are_grouped_by_cause_and_destination_unknown_ones_first() -> None:
    refused = settling.attempt(review.refund_approved("R-1"), settling.REFUSED)
    for key in ("R-2", "R-3"):
        unknown(key)

    causes = group_failures(REFUNDS)

    assert [(cause.state, cause.may_have_left, cause.count) for cause in causes] == [
        ("needs_reconciliation", True, 2),
        ("failed", False, 1),
    ]
    assert causes[1].because == refused.because
    assert {cause.destination for cause in causes} == {"payments"}


def test_failures_are_grouped_over_the_newest_of_each_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "GROUPED_AT_MOST", 1)
    settling.attempt(review.refund_approved("R-1"), settling.REFUSED)
    unknown("R-2")
    newest = unknown("R-3")

    causes = group_failures(REFUNDS)

    assert [(cause.state, cause.count) for cause in causes] == [("needs_reconciliation", 1), ("failed", 1)]
    assert causes[0].newest_at == newest.authorized_at


def test_each_filter_narrows_the_list() -> None:
    old = settling.let_pass(unknown("R-1"), hours=3)
    review.refund_approved("R-2")
    review.report_approved()

    def found(**wanted: object) -> list[str]:
        return keys(list_rows(EffectFilter(("refund", "report"), **wanted), 10))  # type: ignore[arg-type]

    assert found() == ["R-42", "R-2", "R-1"]
    assert found(state="pending") == ["R-42", "R-2"]
    assert found(destination="payments") == ["R-2", "R-1"]
    assert found(because=old.because) == ["R-1"]
    assert found(authorized_before=old.authorized_at + timedelta(hours=1)) == ["R-1"]
    assert keys(list_rows(EffectFilter(REFUNDS), 10)) == ["R-2", "R-1"]


def test_a_list_goes_on_after_its_last_row_without_a_gap() -> None:
    for number in range(5):
        review.refund_approved(f"R-{number}")

    first = list_rows(EffectFilter(REFUNDS), 2)
    rest = list_rows(EffectFilter(REFUNDS), 10, (first[-1].authorized_at, first[-1].pk))

    assert keys(first) + keys(rest) == ["R-4", "R-3", "R-2", "R-1", "R-0"]


def test_destinations_in_use_are_named_once() -> None:
    review.refund_approved("R-1")
    review.refund_approved("R-2")
    review.report_approved()

    assert destinations_used(("refund", "report")) == ["customer-reports", "payments"]


def test_what_needs_an_admin_is_unknown_or_in_quarantine_the_oldest_first() -> None:
    settling.let_pass(unknown("R-1"), hours=1)
    settling.succeed(review.refund_approved("R-2"))
    review.refund_approved("R-3")
    assert keys(list_unknown(REFUNDS, 10)) == ["R-1"]

    quarantine_all(cast.SETUP)

    first = list_unknown(REFUNDS, 1)
    assert keys(first) == ["R-1"]
    assert keys(list_unknown(REFUNDS, 10, (first[0].authorized_at, first[0].pk))) == ["R-3"]
    assert overview.count_unknown(REFUNDS, 100) == 2
    assert overview.count_unknown(REFUNDS, 1) == 1


def test_open_remediations_are_listed_the_oldest_first_and_done_ones_are_not() -> None:
    for key in ("R-1", "R-2", "R-3"):
        sent = settling.succeed(review.refund_approved(key))
        review.revoke(cast.ben(), review.approval_of(sent))
    Remediation.objects.filter(effect_id="R-2:pay:v4").update(state="done", done_at=Now())

    first = overview.list_open_remediations(REFUNDS, 1)
    rest = overview.list_open_remediations(REFUNDS, 10, (first[0].opened_at, first[0].pk))

    assert [row.effect_id for row in [*first, *rest]] == ["R-1:pay:v4", "R-3:pay:v4"]
    assert overview.count_open_remediations(REFUNDS, 100) == 2
