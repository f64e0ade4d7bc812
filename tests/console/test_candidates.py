"""Two candidates side by side: what of the frozen bytes differs, in bounded time."""

from typing import Any

import pytest

from console import candidates
from console.candidates import Candidate, Changes, bounded_difference, compare
from console.diffing import Side

JSON = Any

ADDRESS = "sha256:" + "1" * 64


def candidate(payload: JSON, host: str = "pay.example.com", **manifest: JSON) -> Candidate:
    whole = {
        "artifacts": [],
        "destination": {"name": "payments", "revision": 1, "url_sha256": ADDRESS},
        "contract": "exact",
        "workflow_revision": 1,
    }
    return Candidate(whole | manifest, payload, host)


def told(changes: Changes) -> list[tuple[str, str]]:
    return [(change.part, str(change.place)) for change in changes.items]


def test_equal_candidates_differ_in_nothing() -> None:
    assert compare(candidate({"amount": "25.00"}), candidate({"amount": "25.00"})).count == 0


def test_a_payload_is_compared_value_by_value_by_its_place() -> None:
    then = candidate({"amount": "25.00", "to": {"name": "Ana"}, "gone": 1})
    now = candidate({"amount": "22.50", "to": {"name": "Ana"}, "new": [1]})

    changes = compare(then, now)

    assert told(changes) == [("payload", "amount"), ("payload", "new/0"), ("payload", "gone")]
    assert changes.items[0].difference.delta == "\N{MINUS SIGN}2.50"


def test_an_equal_number_in_another_type_is_a_change() -> None:
    assert told(compare(candidate({"n": 1}), candidate({"n": "1"}))) == [("payload", "n")]


def test_another_artifact_is_told_even_with_the_same_content() -> None:
    def frozen(number: str, sha256: str) -> list[dict[str, str]]:
        return [{"slot": "research", "id": number, "sha256": sha256}]

    then = candidate({}, artifacts=frozen("R-1:research:3:a", "same"))
    same_content = compare(then, candidate({}, artifacts=frozen("R-1:research:6:a", "same")))
    other_content = compare(then, candidate({}, artifacts=frozen("R-1:research:6:a", "other")))

    assert [change.note for change in same_content.items] == ["the same content"]
    assert [change.note for change in other_content.items] == [""]


@pytest.mark.parametrize(
    ("host", "address", "note"),
    [
        ("pay.example.com", ADDRESS, "the address is the same"),
        ("pay.example.com", "sha256:" + "2" * 64, "the address is another, on the same host"),
        ("pay.example.org", "sha256:" + "2" * 64, "the host was pay.example.com"),
    ],
)
def test_another_revision_of_the_destination_says_whether_it_leads_elsewhere(
    host: str, address: str, note: str
) -> None:
    now = candidate({}, host, destination={"name": "payments", "revision": 2, "url_sha256": address})

    (change,) = compare(candidate({}), now).items

    assert (change.part, change.note) == ("destination", note)
    assert (change.difference.old, change.difference.new) == ("payments revision 1", "payments revision 2")


def test_another_contract_or_revision_of_the_workflow_is_told() -> None:
    changes = compare(candidate({}), candidate({}, contract="until_changed", workflow_revision=2))

    assert told(changes) == [("rules", "how long consent stands"), ("rules", "revision of the workflow")]


def test_an_erased_payload_is_not_compared_and_that_is_said() -> None:
    changes = compare(candidate(None), candidate({"amount": "25.00"}))

    assert (changes.items, changes.payload_is_known) == ((), False)


def test_of_many_changes_the_first_are_listed_and_the_rest_counted() -> None:
    size = candidates.MOST_CHANGES + 5
    changes = compare(candidate([0] * size), candidate([1] * size))

    assert (len(changes.items), changes.more, changes.count) == (candidates.MOST_CHANGES, 5, size)


# ---- texts of any length -----------------------------------------------------------------------------------


def joined(old: str, new: str, side: Side) -> str:
    return "".join(piece.text for piece in bounded_difference(old, new).pieces if piece.side is side)


def test_of_long_texts_the_stretch_between_equal_ends_is_compared_by_words() -> None:
    before, after = "hello " * 3000, " bye" * 3000

    old, new = before + "he paid one" + after, before + "he paid two" + after

    assert (joined(old, new, Side.REMOVED), joined(old, new, Side.ADDED)) == ("one", "two")


@pytest.mark.parametrize(
    ("old", "new"),
    [("\n" * 300_000 + "x", "\n" * 200_000 + "y"), ("a b " * 100_000, "a c " * 100_000)],
    ids=["nothing but line breaks", "every other word"],
)
@pytest.mark.timeout(10)
def test_texts_made_to_be_slow_are_not(old: str, new: str) -> None:
    pieces = bounded_difference(old, new).pieces

    assert {piece.side for piece in pieces} >= {Side.REMOVED, Side.ADDED}
