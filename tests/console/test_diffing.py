"""How two values differ: exact, complete, and readable."""

import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.diffing import (
    CONTEXT,
    Difference,
    Item,
    Piece,
    Side,
    difference,
    folded,
    list_items,
    numeric_delta,
    word_pieces,
)


def joined(pieces: tuple[Piece, ...], *sides: Side) -> str:
    return "".join(piece.text for piece in pieces if piece.side in sides)


@given(st.text(max_size=200), st.text(max_size=200))
def test_pieces_give_both_texts_back(old: str, new: str) -> None:
    pieces = word_pieces(old, new)

    assert joined(pieces, Side.SAME, Side.REMOVED) == old
    assert joined(pieces, Side.SAME, Side.ADDED) == new


def test_only_the_words_that_differ_are_marked() -> None:
    pieces = word_pieces("Churn rose 2.1 % in May", "Churn rose 1.9 % in May")

    assert joined(pieces, Side.REMOVED) == "21"
    assert joined(pieces, Side.ADDED) == "19"


def test_a_text_too_long_for_words_is_compared_by_lines_first_and_stays_exact() -> None:
    old = "".join(f"line {number} of the text\n" for number in range(2_000))
    new = old.replace("line 1000 of", "row 1000 of") + "one more line\n"

    pieces = word_pieces(old, new)

    assert joined(pieces, Side.SAME, Side.REMOVED) == old
    assert joined(pieces, Side.SAME, Side.ADDED) == new
    assert joined(pieces, Side.REMOVED) == "line"


def test_two_long_texts_with_nothing_in_common_take_less_than_two_seconds() -> None:
    began = time.perf_counter()

    word_pieces("a b " * 20_000, "c d " * 20_000)

    assert time.perf_counter() - began < 2


def test_long_unchanged_text_is_folded_in_the_middle_and_counted() -> None:
    text = "x" * 1_000

    [piece] = folded([Piece(Side.SAME, text)])

    assert piece.folded == 1_000 - CONTEXT
    assert len(piece.text) + piece.folded + len(piece.tail) == 1_000


def test_what_changed_is_never_folded() -> None:
    pieces = [Piece(Side.REMOVED, "x" * 1_000), Piece(Side.SAME, "y" * CONTEXT)]

    assert list(folded(pieces)) == pieces


@pytest.mark.parametrize(
    ("old", "new", "delta"),
    [
        ("30.00", "25.00", "−5.00"),
        ("30.00", "45.00", "+15.00"),
        ("0.10", "0.30", "+0.20"),
        (1, 3, "+2"),
        (Decimal("1.5"), "1.25", "−0.25"),
        ("5", "5.00", "+0.00"),
        ("abc", "1", ""),
        (None, "1", ""),
        (True, 2, ""),
        (1.5, 2.5, ""),
        ("1e9", "2", ""),
        ("١", "2", ""),
    ],
)
def test_numbers_differ_exactly_and_only_numbers_do(old: Any, new: Any, delta: str) -> None:
    assert numeric_delta(old, new) == delta


def test_entries_of_a_log_match_by_their_id() -> None:
    old = [{"id": "n1", "text": "a"}, {"id": "n2", "text": "b"}, {"id": "n3", "text": "c"}]
    new = [{"id": "n3", "text": "c"}, {"id": "n1", "text": "A"}, {"id": "n4", "text": "d"}]

    items, same_count = list_items(old, new)

    assert items == (
        Item(Side.REMOVED, "n2", old="b"),
        Item(Side.CHANGED, "n1", old="a", new="A"),
        Item(Side.ADDED, "n4", new="d"),
    )
    assert same_count == 1


def test_elements_of_a_set_match_by_value() -> None:
    items, same_count = list_items(["late", "vip"], ["vip", "fragile"])

    assert items == (Item(Side.REMOVED, "late", old="late"), Item(Side.ADDED, "fragile", new="fragile"))
    assert same_count == 1


def test_an_entry_with_a_text_is_told_by_it_and_the_rest_stands_beside_it() -> None:
    [item], _ = list_items([], [{"id": "m1", "from": "ana", "text": "hello"}])

    assert item == Item(Side.ADDED, "m1 · from ana", new="hello")


def test_entries_of_several_members_without_a_text_are_shown_whole() -> None:
    [item], _ = list_items([], [{"id": "m1", "from": "ana", "to": "ben"}])

    assert item.new == '{"from": "ana", "to": "ben"}'


def test_an_entry_is_changed_also_when_only_what_stands_beside_its_text_is() -> None:
    old, new = [{"id": "m1", "from": "ana", "text": "hello"}], [{"id": "m1", "from": "ben", "text": "hello"}]

    [item], same_count = list_items(old, new)

    assert (item.side, item.key, same_count) == (Side.CHANGED, "m1 · from ben", 0)


LONG = "The customer reports that one item arrived damaged and asks for a partial refund."


@pytest.mark.parametrize(
    ("old", "new", "shape"),
    [
        (None, None, "unset"),
        ("a", "a", "same"),
        (None, "a", "scalar"),
        ("a", None, "scalar"),
        ("1.00", "2.00", "scalar"),
        (1, True, "scalar"),
        (LONG, LONG + " Again.", "text"),
        ([], ["a"], "items"),
        (None, ["a"], "items"),
        ({"a": 1}, {"a": 2}, "scalar"),
    ],
)
def test_the_shape_follows_the_values(old: Any, new: Any, shape: str) -> None:
    assert difference(old, new).shape == shape


def test_a_first_value_has_nothing_before_it() -> None:
    assert difference(None, "25.00") == Difference("scalar", new="25.00", had=False)


def test_an_empty_text_is_not_the_same_as_no_value() -> None:
    assert difference("", None) == Difference("scalar", has=False)
    assert difference(None, "") == Difference("scalar", had=False)
