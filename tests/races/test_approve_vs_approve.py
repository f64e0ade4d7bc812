"""Two people approve at the same time: each counts once, and whatever they complete is authorized once."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from approvals.errors import SnapshotNotActive
from approvals.models import Decision
from outbox import authorization
from outbox.models import Effect
from runs.errors import AlreadyDecided, Unavailable
from runs.values import Principal
from tests import cast, review
from tests.races.pairs import STEP, race, story, without_any_guard, without_lock
from tests.review import REFUND
from tests.sync import Actor, stopped_after, wait_until_waiting


@pytest.fixture(autouse=True)
def snapshot() -> str:
    """A refund under review at version 3."""
    cast.ben()
    review.bea()
    return review.refund_ready_for_review()


def effects() -> list[tuple[str, int]]:
    return [(effect.pk, len(effect.approvals)) for effect in Effect.objects.all()]


Order = tuple[Callable[[], Principal], Callable[[], Principal]]
ORDERS = pytest.mark.parametrize("order", [(cast.ben, review.bea), (review.bea, cast.ben)], ids=["ben", "bea"])


@ORDERS
def test_where_one_is_enough_the_second_finds_nothing_left_to_approve(
    snapshot: str, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (who() for who in order)

    ahead, behind = race(monkeypatch, lambda: review.approve(first, snapshot), lambda: review.approve(second, snapshot))

    assert ahead.result().answer["effect"] == "R-7:pay:v4"
    assert isinstance(behind.error(), SnapshotNotActive)
    assert effects() == [("R-7:pay:v4", 1)]
    assert story(REFUND, after=3) == [
        (3, "decision.approved", first.actor), (4, "effect.authorized", first.actor),
    ]  # fmt: skip


@ORDERS
def test_where_two_are_needed_the_second_completes_what_the_first_began(
    snapshot: str, order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (who() for who in order)
    cast.policy("refund", quorum=2)

    ahead, behind = race(monkeypatch, lambda: review.approve(first, snapshot), lambda: review.approve(second, snapshot))

    assert ahead.result().answer["effect"] is None
    assert behind.result().answer["effect"] == "R-7:pay:v4"
    assert effects() == [("R-7:pay:v4", 2)]
    assert [kind for _, kind, _ in story(REFUND, after=3)] == [
        "decision.approved", "decision.approved", "effect.authorized",
    ]  # fmt: skip


def test_one_person_in_two_windows_is_one_approval(snapshot: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cast.policy("refund", quorum=2)

    ahead, behind = race(
        monkeypatch, lambda: review.approve(cast.ben(), snapshot), lambda: review.approve(cast.ben(), snapshot)
    )

    ahead.result()
    assert isinstance(behind.error(), AlreadyDecided)
    assert (Decision.objects.count(), effects()) == (1, [])


@pytest.mark.parametrize("quorum", [2, 3, 7, 20])
def test_of_many_who_approve_at_once_the_last_that_is_needed_authorizes_once(
    snapshot: str, quorum: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many people as are needed, one of them from two windows, all of them waiting for the first."""
    people = [review.reviewer(f"reviewer-{number}") for number in range(quorum)]
    cast.policy("refund", quorum=quorum)

    answers, refusals = all_at_once(monkeypatch, [*people, people[-1]], snapshot)

    assert sorted(answer["approvals_active"] for answer in answers) == list(range(1, quorum + 1))
    assert [answer["effect"] for answer in answers if answer["effect"]] == ["R-7:pay:v4"]
    assert [type(refusal) for refusal in refusals] in ([AlreadyDecided], [SnapshotNotActive])
    assert effects() == [("R-7:pay:v4", quorum)]
    assert [kind for _, kind, _ in story(REFUND, after=3)] == ["decision.approved"] * quorum + ["effect.authorized"]


def all_at_once(
    monkeypatch: pytest.MonkeyPatch, people: list[Principal], snapshot: str
) -> tuple[list[Any], list[BaseException]]:
    """All approve what all were shown before; everybody but the first waits for the run until the first goes on."""
    seen = [(who, review.show(who, snapshot)) for who in people]
    actors = [Actor(who.name, partial(authorization.decide, who, snapshot, request)) for who, request in seen]
    with monkeypatch.context() as seams, stopped_after(seams, STEP, actors[0]) as gate:
        actors[0].start()
        gate.wait_until_reached()
        for actor in actors[1:]:
            wait_until_waiting(actor.start())
    ended = [(actor, actor.failed()) for actor in actors]
    answers = [actor.result().answer for actor, failed in ended if not failed]
    return answers, [actor.error() for actor, failed in ended if failed]


def test_without_the_lock_the_second_completes_nothing(snapshot: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cast.policy("refund", quorum=2)

    with without_lock(monkeypatch):
        _, behind = race(
            monkeypatch, lambda: review.approve(cast.ben(), snapshot), lambda: review.approve(review.bea(), snapshot)
        )

    assert isinstance(behind.error(), Unavailable)
    assert effects() == []


def test_without_any_guard_one_person_is_two_approvals(
    snapshot: str, monkeypatch: pytest.MonkeyPatch, owner_dsn: str
) -> None:
    cast.policy("refund", quorum=2)

    with without_any_guard(monkeypatch, owner_dsn):
        race(monkeypatch, lambda: review.approve(cast.ben(), snapshot), lambda: review.approve(cast.ben(), snapshot))

    assert Decision.objects.filter(person__username="ben", verdict="approve").count() == 2
