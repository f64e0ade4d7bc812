"""How long effects take and how often nobody knows what came of them, by destination; and what is due longest."""

from datetime import datetime, timedelta

import pytest

from outbox.insights import oldest_due, read_sent
from outbox.models import Effect
from runs import authority
from tests import review
from tests.outbox import settling

pytestmark = pytest.mark.django_db

REFUNDS = ("refund",)


def an_hour_ago() -> datetime:
    return authority.epoch_and_now()[1] - timedelta(hours=1)


def waiting(key: str, seconds: float) -> Effect:
    """An effect that was authorized so long ago and that nobody has claimed."""
    return settling.let_pass(review.refund_approved(key), seconds=seconds)


def test_times_count_from_authorization_to_the_first_attempt_and_to_the_end() -> None:
    for key, seconds in (("R-1", 10), ("R-2", 20), ("R-3", 60)):
        settling.succeed(waiting(key, seconds))

    (row,) = read_sent(REFUNDS, an_hour_ago())

    assert (row.destination, row.effects, row.unknown) == ("payments", 3, 0)
    assert row.begun_in == pytest.approx(20, abs=5)
    assert row.begun_in_at_most == pytest.approx(56, abs=5)
    assert row.ended_in == pytest.approx(20, abs=5)
    assert row.found_out_in is None


def test_what_was_not_begun_is_counted_and_measures_nothing() -> None:
    waiting("R-1", 10)

    (row,) = read_sent(REFUNDS, an_hour_ago())

    assert (row.effects, row.begun_in, row.ended_in) == (1, None, None)


def test_unknown_outcomes_are_counted_by_destination_with_how_long_it_took_to_find_out() -> None:
    still = settling.attempt(waiting("R-1", 10), settling.UNKNOWN)
    found_out = settling.attempt(waiting("R-2", 10), settling.UNKNOWN)
    settling.succeed(settling.change(settling.let_pass(found_out, seconds=120), next_step="replay"))

    (row,) = read_sent(REFUNDS, an_hour_ago())

    assert still.ended_at is None
    assert (row.effects, row.unknown, row.unknown_still) == (2, 2, 1)
    assert row.found_out_in == pytest.approx(120, abs=5)


def test_older_effects_and_those_of_other_workflows_are_not_read() -> None:
    settling.succeed(waiting("R-1", 2 * 60 * 60))

    assert read_sent(REFUNDS, an_hour_ago()) == []
    assert read_sent(("report",), an_hour_ago() - timedelta(days=1)) == []


def test_what_is_due_longest_is_named_and_what_is_leased_is_not() -> None:
    assert oldest_due(REFUNDS) is None
    first, second = waiting("R-1", 30), waiting("R-2", 10)

    oldest = oldest_due(REFUNDS)
    assert oldest is not None
    assert (oldest.operation_id, oldest.destination, oldest.step) == (first.pk, "payments", "send")

    settling.claimed(first)
    oldest = oldest_due(REFUNDS)
    assert oldest is not None and oldest.operation_id == second.pk
    assert oldest_due(("report",)) is None
