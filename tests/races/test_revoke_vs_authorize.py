"""An approval is revoked while it is being spent: revoked first, nothing is created; spent first, it is withdrawn.

Both orders, and in each the one waits for the other: the lock comes first and the check is a later statement, because
a check that is joined to a lock reads what was true before the wait.
"""

import threading

import pytest

from approvals.consent import Given
from approvals.errors import ApprovalRevoked
from approvals.models import Decision
from approvals.reviewing import Review, load_review
from outbox import authorization
from outbox.leases import claim
from outbox.models import Effect
from runs import store
from runs.errors import Unavailable
from runs.locks import hold_run
from tests import cast, review
from tests.races.pairs import race, story, without_lock
from tests.review import REPORT


@pytest.fixture(autouse=True)
def snapshot() -> str:
    """A report at version 7, approved by Ben, that the coordinator is about to authorize."""
    review.bea()
    return review.report_reviewed()


def revoke() -> object:
    return review.revoke(review.bea(), f"d-{Decision.objects.get().pk.hex}")


def authorize(snapshot: str) -> object:
    return review.authorize(review.coordinator(), snapshot, on=7)


def last(count: int) -> list[tuple[int, str, str]]:
    return story(REPORT)[-count:]


def test_a_revocation_that_comes_first_leaves_nothing_to_spend(snapshot: str, monkeypatch: pytest.MonkeyPatch) -> None:
    revoked, authorized = race(monkeypatch, revoke, lambda: authorize(snapshot))

    assert revoked.result().answer["boundary"] == "before-authorization"
    assert isinstance(authorized.error(), ApprovalRevoked)
    assert not Effect.objects.exists()
    assert cast.reading(REPORT).state.status == "ready_for_review"
    assert last(1) == [(7, "approval.revoked", "user:bea")]


def test_a_revocation_that_comes_second_withdraws_what_was_authorized(
    snapshot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    authorized, revoked = race(monkeypatch, lambda: authorize(snapshot), revoke)

    assert authorized.result().answer["effect"] == "R-42:send:v8"
    assert (revoked.result().answer["boundary"], revoked.result().answer["result"]) == ("revocable", "effect-cancelled")
    assert Effect.objects.get().state == "cancelled"
    assert cast.reading(REPORT).state.status == "revoked"
    assert claim("worker-1") == []
    assert last(3) == [
        (8, "effect.authorized", "agent:coordinator"),
        (8, "approval.revoked", "user:bea"),
        (9, "effect.cancelled", "user:bea"),
    ]


def test_of_two_who_revoke_one_does(snapshot: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cast.ben()
    decision = f"d-{Decision.objects.get().pk.hex}"

    first, second = race(monkeypatch, revoke, lambda: review.revoke(cast.ben(), decision))

    first.result()
    assert "user:bea revoked this already" in str(second.error())
    assert [kind for _, kind, _ in story(REPORT)].count("approval.revoked") == 1


def test_without_the_lock_the_spender_is_not_told_of_the_revocation(
    snapshot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with without_lock(monkeypatch):
        _, authorized = race(monkeypatch, revoke, lambda: authorize(snapshot))

    assert isinstance(authorized.error(), Unavailable)  # the head of the ledger had moved
    assert not Effect.objects.exists()


def test_a_check_before_the_wait_would_spend_the_revoked_approval(
    snapshot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same actions with check and lock the other way round; only the look before a claim still stops it."""
    with monkeypatch.context() as seams:
        check_before_locking(seams, snapshot)
        revoked, authorized = race(monkeypatch, revoke, lambda: authorize(snapshot))

    assert revoked.result().answer["result"] == "approval-withdrawn"
    assert authorized.result().answer["effect"] == "R-42:send:v8"
    assert Effect.objects.get().state == "pending"
    assert claim("worker-1") == []
    assert Effect.objects.get().state == "cancelled"


def check_before_locking(seams: pytest.MonkeyPatch, snapshot: str) -> None:
    """Whatever is judged of the approvals is judged as they were before the lock was asked for."""
    hold, read = hold_run, Review.__dict__["given"].func
    seen: dict[int, list[Given]] = {}

    def hold_after_looking(key: str) -> None:
        seen[threading.get_ident()] = read(load_review(cast.ada(), snapshot, store.read(key)))
        hold(key)

    seams.setattr(authorization, "hold_run", hold_after_looking)
    seams.setattr(Review, "given", property(lambda review: seen[threading.get_ident()]))
