"""Lines that differ: numbered on both sides, a few around them, everything else counted."""

from hypothesis import given
from hypothesis import strategies as st

from console.diffing import Side
from console.line_diff import line_hunks

TEN = "\n".join(f"line {number}" for number in range(1, 11))


def test_equal_texts_have_no_hunk() -> None:
    assert line_hunks(TEN, TEN) == []


def test_a_changed_line_stands_between_a_few_unchanged_ones() -> None:
    (hunk,) = line_hunks(TEN, TEN.replace("line 6", "line six"), context=1)

    assert hunk.skipped == 4
    assert [(line.side, line.old, line.new, line.text) for line in hunk.lines] == [
        (Side.SAME, 5, 5, "line 5"),
        (Side.REMOVED, 6, None, "line 6"),
        (Side.ADDED, None, 6, "line six"),
        (Side.SAME, 7, 7, "line 7"),
    ]


def test_changes_far_apart_are_hunks_of_their_own_with_what_lies_between_counted() -> None:
    changed = TEN.replace("line 1\n", "").replace("line 10", "line ten")

    first, second = line_hunks(TEN, changed, context=1)

    assert (first.skipped, second.skipped) == (0, 6)
    assert second.lines[0].old == 9
    assert second.lines[0].new == 8


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_nothing_that_changed_is_left_out(old: list[str], new: list[str]) -> None:
    hunks = line_hunks("\n".join(old), "\n".join(new))

    shown = [line for hunk in hunks for line in hunk.lines]
    removed = {line.old for line in shown if line.side is Side.REMOVED}
    added = {line.new for line in shown if line.side is Side.ADDED}
    kept_old = [text for number, text in enumerate(old, 1) if number not in removed]
    kept_new = [text for number, text in enumerate(new, 1) if number not in added]
    assert kept_old == kept_new
