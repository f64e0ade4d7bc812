"""One reviewer approves while another denies: whoever comes first decides, and the other is told."""

import pytest

from approvals.errors import SnapshotNotActive
from approvals.models import Decision
from outbox.models import Effect
from runs.errors import Unavailable
from tests import cast, review
from tests.races.pairs import race, story, without_any_guard, without_lock
from tests.review import REFUND


@pytest.fixture(autouse=True)
def snapshot() -> str:
    """A refund under review at version 3."""
    cast.ben()
    review.bea()
    return review.refund_ready_for_review()


def standing() -> tuple[str, list[str], int]:
    """Status of the run, verdicts, effects."""
    verdicts = list(Decision.objects.order_by("seq").values_list("verdict", flat=True))
    return cast.reading(REFUND).state.status.value, verdicts, Effect.objects.count()


def test_a_deny_that_comes_first_leaves_nothing_to_approve(snapshot: str, monkeypatch: pytest.MonkeyPatch) -> None:
    denied, approved = race(
        monkeypatch, lambda: review.deny(cast.ben(), snapshot), lambda: review.approve(review.bea(), snapshot)
    )

    denied.result()
    assert isinstance(approved.error(), SnapshotNotActive)
    assert standing() == ("working", ["deny"], 0)
    assert story(REFUND, after=3) == [(4, "decision.denied", "user:ben")]


def test_an_approval_that_authorizes_first_leaves_nothing_to_deny(
    snapshot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    approved, denied = race(
        monkeypatch, lambda: review.approve(review.bea(), snapshot), lambda: review.deny(cast.ben(), snapshot)
    )

    assert approved.result().answer["effect"] == "R-7:pay:v4"
    assert isinstance(denied.error(), SnapshotNotActive)
    assert standing() == ("approved", ["approve"], 1)


def test_an_approval_that_is_not_enough_is_ended_by_the_deny(snapshot: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cast.policy("refund", quorum=2)

    approved, denied = race(
        monkeypatch, lambda: review.approve(review.bea(), snapshot), lambda: review.deny(cast.ben(), snapshot)
    )

    assert approved.result().answer["approvals_active"] == 1
    denied.result()
    assert standing() == ("working", ["approve", "deny"], 0)


def test_without_the_lock_the_approver_is_not_told_of_the_deny(snapshot: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with without_lock(monkeypatch):
        _, approved = race(
            monkeypatch, lambda: review.deny(cast.ben(), snapshot), lambda: review.approve(review.bea(), snapshot)
        )

    assert isinstance(approved.error(), Unavailable)
    assert standing() == ("working", ["deny"], 0)


def test_without_any_guard_what_was_denied_is_authorized(
    snapshot: str, monkeypatch: pytest.MonkeyPatch, owner_dsn: str
) -> None:
    with without_any_guard(monkeypatch, owner_dsn):
        race(monkeypatch, lambda: review.deny(cast.ben(), snapshot), lambda: review.approve(review.bea(), snapshot))

    assert Effect.objects.count() == 1
