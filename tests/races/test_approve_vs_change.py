"""Somebody approves while somebody else changes what is approved, or where it goes: one of them is told."""

import pytest

from approvals.errors import SnapshotNotActive
from approvals.models import Decision, DestinationRevision
from outbox import authorization
from outbox.models import Effect
from runs.errors import Unavailable
from runs.outcomes import Outcome
from tests import cast, review
from tests.races.pairs import race, story, without_any_guard, without_lock
from tests.review import REFUND
from tests.sync import Actor


@pytest.fixture(autouse=True)
def snapshot() -> str:
    """A refund of 25.00 under review at version 3; Mara may change it and Ben may approve it."""
    cast.ben()
    cast.person_operating("mara")
    return review.refund_ready_for_review()


def change() -> Outcome:
    mara = cast.person_operating("mara")
    return cast.command(mara, REFUND, "set-refund-amount", on=3, amount="95.00", currency="EUR", id_="c-mara")


def amounts() -> tuple[str, list[str]]:
    """What the record says, and what any effect will send."""
    sent = [bytes(effect.snapshot.payload or b"").decode() for effect in Effect.objects.select_related("snapshot")]
    return cast.reading(REFUND).state.fields["refund_amount"], [body.split('"')[3] for body in sent]


def test_a_change_that_comes_first_leaves_nothing_to_approve(snapshot: str, monkeypatch: pytest.MonkeyPatch) -> None:
    changed, approved = race(monkeypatch, change, lambda: review.approve(cast.ben(), snapshot))

    assert changed.result().answer["consent"]["stands"] is False
    assert isinstance(approved.error(), SnapshotNotActive)
    assert amounts() == ("95.00", [])
    assert not Decision.objects.exists()
    assert story(REFUND, after=3) == [(4, "command.committed", "user:mara")]


def test_a_change_that_comes_second_is_shown_what_was_authorized(
    snapshot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    approved, changed = race(monkeypatch, lambda: review.approve(cast.ben(), snapshot), change)

    assert approved.result().answer["effect"] == "R-7:pay:v4"
    assert changed.result().state == "retry"
    assert amounts() == ("25.00", ["25.00"])
    assert story(REFUND, after=3) == [
        (3, "decision.approved", "user:ben"), (4, "effect.authorized", "user:ben"),
    ]  # fmt: skip


def test_without_the_lock_the_approver_is_not_told_what_happened(
    snapshot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with without_lock(monkeypatch):
        _, approved = race(monkeypatch, change, lambda: review.approve(cast.ben(), snapshot))

    assert isinstance(approved.error(), Unavailable)  # the step itself found the head moved
    assert amounts() == ("95.00", [])


def test_without_any_guard_the_old_amount_goes_out_over_the_new_one(
    snapshot: str, monkeypatch: pytest.MonkeyPatch, owner_dsn: str
) -> None:
    with without_any_guard(monkeypatch, owner_dsn):
        _, approved = race(monkeypatch, change, lambda: review.approve(cast.ben(), snapshot))

    assert approved.result().answer["effect"]
    assert amounts()[1] == ["25.00"]  # Mara was told that it is 95.00 now


# ---- where it goes ---------------------------------------------------------------------------------------


def redirect() -> None:
    review.destination("payments", url="https://elsewhere.example.com/")


def test_a_destination_that_changes_first_is_named_to_the_approver(snapshot: str) -> None:
    Actor("apart", redirect).start().result()

    answer = review.approve(cast.ben(), snapshot).answer

    assert answer["authorization_refused"]["code"] == "destination-changed"
    assert amounts() == ("25.00", [])


def test_a_change_of_destination_is_not_acknowledged_before_what_began_earlier_has_ended(
    snapshot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    authorized = (authorization, "create_effect")
    approved, changed = race(monkeypatch, lambda: review.approve(cast.ben(), snapshot), redirect, authorized)

    assert approved.result().answer["effect"] == "R-7:pay:v4"
    changed.result()
    assert Effect.objects.get().destination_revision == 1
    assert DestinationRevision.objects.filter(name="payments").count() == 2
