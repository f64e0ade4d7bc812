"""Two runs want the last use of one standing approval at the same time: one gets it, the other waits for a person."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from approvals import standing
from approvals.models import StandingApproval
from approvals.standing import StandingRequest, give_standing_approval, revoke_standing_approval, standing_ref
from outbox import authorization
from outbox.models import Effect
from runs import requests
from runs.outcomes import Outcome
from tests import cast, review
from tests.races.pairs import race

SPENT = (authorization, "spend_standing")
KEYS = ("R-7", "R-8")


@pytest.fixture(autouse=True)
def two_refunds() -> None:
    """Two refunds of 25.00 at version 2, and a standing approval of Bea's with one use left."""
    for key in KEYS:
        review.refund_working(key)
    give_standing_approval(
        review.bea(),
        StandingRequest(
            id="s-1", workflow="refund", action="pay", currency="EUR", limit=Decimal("30.00"), total=Decimal("60.00"),
            uses=1, expires_at=datetime.now(UTC) + timedelta(days=30), reason="Small refunds of the season.",
        ),
    )  # fmt: skip


def freeze(key: str) -> Outcome:
    return review.freeze(review.cashier(), key, "pay", on=2)


def left() -> tuple[int, Decimal]:
    row = StandingApproval.objects.get()
    return row.used, row.spent


@pytest.mark.parametrize(("ahead", "behind"), [KEYS, KEYS[::-1]])
def test_the_last_use_is_taken_once(ahead: str, behind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = race(monkeypatch, lambda: freeze(ahead), lambda: freeze(behind), SPENT)

    assert first.result().answer["effect"] == f"{ahead}:pay:v4"
    assert second.result().answer["effect"] is None
    assert (cast.reading(ahead).state.status, cast.reading(behind).state.status) == ("approved", "ready_for_review")
    assert left() == (1, Decimal("25.00"))
    assert list(Effect.objects.values_list("pk", flat=True)) == [f"{ahead}:pay:v4"]


def revoke() -> object:
    return revoke_standing_approval(
        review.bea(), standing_ref(StandingApproval.objects.get().pk), "sr-1", "The season is over."
    )


def test_a_use_that_waits_for_a_revocation_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = (requests, "record_answer")

    revoked, frozen = race(monkeypatch, revoke, lambda: freeze("R-7"), recorded)

    revoked.result()
    assert frozen.result().answer["effect"] is None
    assert (left(), Effect.objects.count()) == ((0, Decimal(0)), 0)


def test_a_revocation_that_waits_for_a_use_is_in_force_before_anything_is_claimed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frozen, revoked = race(monkeypatch, lambda: freeze("R-7"), revoke, SPENT)

    assert frozen.result().answer["effect"] == "R-7:pay:v4"
    revoked.result()
    assert StandingApproval.objects.get().revoked_by == "user:bea"
    assert left() == (1, Decimal("25.00"))


def test_without_the_condition_of_the_update_the_last_use_is_taken_twice(
    monkeypatch: pytest.MonkeyPatch, owner_dsn: str
) -> None:
    """The database has a last word of its own: what is used never exceeds what was given."""
    careless = standing._SPEND.partition("WHERE id = %(id)s")
    monkeypatch.setattr(standing, "_SPEND", "".join(careless[:2]))

    first, second = race(monkeypatch, lambda: freeze("R-7"), lambda: freeze("R-8"), SPENT)

    first.result()
    assert "approvals_standing" in str(second.error())
    assert left() == (1, Decimal("25.00"))
