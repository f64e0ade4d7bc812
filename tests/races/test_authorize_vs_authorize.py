"""Two spend the same approvals at the same time: one effect, and whoever comes second gets the first receipt."""

from collections.abc import Callable

import pytest

from approvals.models import Decision
from outbox.authorization import Receipt
from outbox.models import Effect
from runs.errors import CommandInProgress, Unavailable
from runs.values import Principal
from tests import cast, review
from tests.races.pairs import pass_by, race, story, without_any_guard, without_lock
from tests.review import REPORT

RECEIPT = {"effect": "R-42:send:v8", "effect_state": "pending"}


@pytest.fixture(autouse=True)
def snapshot() -> str:
    """A report at version 7, approved by Ben; the coordinator and Ada may both authorize it."""
    return review.report_reviewed()


def authorize(who: Principal, snapshot: str, id: str = "z-1") -> Receipt:
    return review.authorize(who, snapshot, on=7, id=id)


@pytest.mark.parametrize("order", [(review.coordinator, cast.ada), (cast.ada, review.coordinator)])
def test_the_second_spender_gets_the_first_receipt(
    snapshot: str, order: tuple[Callable[[], Principal], Callable[[], Principal]], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (who() for who in order)

    ahead, behind = race(monkeypatch, lambda: authorize(first, snapshot), lambda: authorize(second, snapshot))

    assert (ahead.result().answer, ahead.result().is_replay) == (RECEIPT, False)
    assert (behind.result().answer, behind.result().is_replay) == (RECEIPT, True)
    assert Effect.objects.count() == 1
    assert list(Decision.objects.values_list("spent_by", flat=True)) == ["R-42:send:v8"]
    assert story(REPORT)[-1] == (8, "effect.authorized", first.actor)
    assert cast.reading(REPORT).version == 8


def test_one_request_delivered_twice_at_once_is_one(snapshot: str, monkeypatch: pytest.MonkeyPatch) -> None:
    who = review.coordinator()

    ahead, behind = pass_by(monkeypatch, lambda: authorize(who, snapshot), lambda: authorize(who, snapshot))

    assert ahead.result().answer == RECEIPT
    assert isinstance(behind.error(), CommandInProgress)
    assert Effect.objects.count() == 1
    assert authorize(who, snapshot).is_replay


def test_without_the_lock_the_second_spender_is_not_told_of_the_first(
    snapshot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = cast.ada()

    with without_lock(monkeypatch):
        _, behind = race(
            monkeypatch, lambda: authorize(review.coordinator(), snapshot), lambda: authorize(ada, snapshot)
        )

    assert isinstance(behind.error(), Unavailable)  # the step itself found the version moved
    assert Effect.objects.count() == 1


def test_without_any_guard_the_uniqueness_of_the_operation_is_what_is_left(
    snapshot: str, monkeypatch: pytest.MonkeyPatch, owner_dsn: str
) -> None:
    ada = cast.ada()

    with without_any_guard(monkeypatch, owner_dsn):
        _, behind = race(
            monkeypatch, lambda: authorize(review.coordinator(), snapshot), lambda: authorize(ada, snapshot)
        )

    # Which of the two is asked first depends on the order in which their indexes were made, as by a restore.
    assert any(name in str(behind.error()) for name in ("outbox_effect_pkey", "outbox_effect_key_once"))
    assert Effect.objects.count() == 1
