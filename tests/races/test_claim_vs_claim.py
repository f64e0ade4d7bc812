"""Two workers claim batches at the same time: what one holds the other never gets, nor more than a provider allows."""

import pytest

from outbox import leases
from outbox.leases import claim
from outbox.models import Attempt, Effect
from tests import review
from tests.outbox.test_leases import ids
from tests.races.pairs import pass_by, race

KEYS = [f"R-{number}" for number in range(1, 7)]
OPERATIONS = [f"{key}:pay:v4" for key in KEYS]

#: Where the first stops: its leases are written and not committed.
LEASED = (leases, "_claim")


def scene(max_in_flight: int) -> None:
    review.destination("payments", max_in_flight=max_in_flight)
    for key in KEYS:
        review.refund_approved(key)


def test_two_workers_get_batches_that_have_nothing_in_common(monkeypatch: pytest.MonkeyPatch) -> None:
    scene(max_in_flight=10)

    first, second = race(monkeypatch, lambda: claim("worker-1", limit=3), lambda: claim("worker-2", limit=10), LEASED)

    assert ids(first.result()) == OPERATIONS[:3]
    assert ids(second.result()) == OPERATIONS[3:]
    assert Attempt.objects.count() == 6


def test_two_workers_together_take_no_more_than_the_provider_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    scene(max_in_flight=4)

    first, second = race(monkeypatch, lambda: claim("worker-1", limit=3), lambda: claim("worker-2", limit=10), LEASED)

    assert (len(first.result()), len(second.result())) == (3, 1)
    assert Effect.objects.filter(lease_owner__isnull=False).count() == 4


def test_without_the_places_held_two_workers_take_more_than_the_provider_allows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene(max_in_flight=4)
    monkeypatch.setattr(leases, "_HOLD_PLACES", "SELECT %s::text[]")

    first, second = pass_by(
        monkeypatch, lambda: claim("worker-1", limit=3), lambda: claim("worker-2", limit=10), LEASED
    )

    assert (len(first.result()), len(second.result())) == (3, 3)


def test_a_claim_passes_by_a_run_that_somebody_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    scene(max_in_flight=10)
    monkeypatch.setattr(leases, "_HOLD_PLACES", "SELECT %s::text[]")

    first, second = pass_by(monkeypatch, lambda: claim("worker-1"), lambda: claim("worker-2", limit=2), LEASED)

    assert (ids(first.result()), ids(second.result())) == (OPERATIONS[:1], OPERATIONS[1:3])
