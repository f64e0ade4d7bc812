"""A candidate is frozen while somebody changes the record: what is frozen is what the record says, or it is refused."""

import json

import pytest

from approvals.models import Snapshot
from runs.errors import Unavailable
from runs.outcomes import Outcome
from tests import cast, review
from tests.races.pairs import race, story, without_any_guard, without_lock
from tests.review import REFUND


@pytest.fixture(autouse=True)
def refund() -> None:
    """A refund of 25.00 at version 2, which the cashier may freeze and Mara may change."""
    cast.person_operating("mara")
    review.refund_working()


def freeze() -> Outcome:
    return review.freeze(review.cashier(), REFUND, "pay", on=2, id="f-1")


def change() -> Outcome:
    mara = cast.person_operating("mara")
    return cast.command(mara, REFUND, "set-refund-amount", on=2, amount="95.00", currency="EUR", id_="c-mara")


def note() -> Outcome:
    mara = cast.person_operating("mara")
    return cast.command(mara, REFUND, "add-note", on=2, note={"id": "n1", "text": "Called back."}, id_="c-note")


def amounts() -> tuple[str, list[str]]:
    """What the record says, and what any candidate would send."""
    payloads = Snapshot.objects.values_list("payload", flat=True)
    return cast.reading(REFUND).state.fields["refund_amount"], [
        json.loads(bytes(body or b""))["amount"] for body in payloads
    ]


def test_a_change_that_comes_first_escalates_the_freeze_and_nothing_is_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    changed, frozen = race(monkeypatch, change, freeze)

    assert changed.result().state == "committed"
    assert frozen.result().state == "escalated"
    assert frozen.result().answer["changed_fields"][0]["current"] == "95.00"
    assert amounts() == ("95.00", [])
    assert [kind for _, kind, _ in story(REFUND, after=2)] == ["command.committed", "command.escalated"]


def test_a_change_that_comes_second_is_shown_that_it_went_into_review(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen, changed = race(monkeypatch, freeze, change)

    assert frozen.result().answer["snapshot"] == "R-7:review:v3:c1"
    assert changed.result().state == "retry"
    assert changed.result().answer["changed_fields"][0]["field"] == "active_snapshot"
    assert amounts() == ("25.00", ["25.00"])
    assert story(REFUND, after=2) == [(3, "snapshot.frozen", "agent:cashier")]


def test_a_note_that_comes_first_is_frozen_over(monkeypatch: pytest.MonkeyPatch) -> None:
    noted, frozen = race(monkeypatch, note, freeze)

    noted.result()
    assert frozen.result().answer["snapshot"] == "R-7:review:v4:c1"
    assert amounts() == ("25.00", ["25.00"])


def test_a_note_that_comes_second_leaves_the_review_standing(monkeypatch: pytest.MonkeyPatch) -> None:
    _, noted = race(monkeypatch, freeze, note)

    assert noted.result().state == "merged"
    assert noted.result().answer["consent"]["stands"] is True
    assert cast.reading(REFUND).state.active_snapshot == "R-7:review:v3:c1"


def test_of_two_who_freeze_at_once_one_candidate_is_under_review(monkeypatch: pytest.MonkeyPatch) -> None:
    ada = cast.ada()

    first, second = race(monkeypatch, freeze, lambda: review.freeze(ada, REFUND, "pay", on=2))

    assert first.result().state == "committed"
    assert (second.result().state, second.result().answer["rule"]["name"]) == ("retry", "on_conflict[2]")
    assert Snapshot.objects.count() == 1


def test_without_the_lock_the_freeze_is_not_told_of_the_change(monkeypatch: pytest.MonkeyPatch) -> None:
    with without_lock(monkeypatch):
        _, frozen = race(monkeypatch, change, freeze)

    assert isinstance(frozen.error(), Unavailable)  # the step itself found the version moved
    assert amounts() == ("95.00", [])


def test_without_any_guard_an_amount_that_was_corrected_comes_under_review(
    monkeypatch: pytest.MonkeyPatch, owner_dsn: str
) -> None:
    with without_any_guard(monkeypatch, owner_dsn):
        race(monkeypatch, change, freeze)

    assert amounts()[1] == ["25.00"]  # Mara was told that it is 95.00 now
