"""How two texts of many lines differ: the changed lines with a few around them, numbered on both sides.

Pure: standard library only.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from console.diffing import Side

#: Unchanged lines that are shown before and after a change.
CONTEXT = 3


@dataclass(frozen=True, slots=True)
class Line:
    """One line of one of the texts, or of both, with its numbers there."""

    side: Side
    text: str
    old: int | None = None
    new: int | None = None


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that stand together; `skipped` unchanged lines before them are left out."""

    skipped: int
    lines: tuple[Line, ...]


def line_hunks(old: str, new: str, context: int = CONTEXT) -> list[Hunk]:
    """Every place where two texts differ, in order; empty when they do not."""
    before, after = old.splitlines(), new.splitlines()
    hunks, last = [], 0
    for group in SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(context):
        begin, end = group[0][1], group[-1][2]
        lines = tuple(line for opcode in group for line in _lines(before, after, opcode))
        hunks.append(Hunk(begin - last, lines))
        last = end
    return hunks


def _lines(before: list[str], after: list[str], opcode: tuple[str, int, int, int, int]) -> Iterator[Line]:
    tag, from_old, to_old, from_new, to_new = opcode
    if tag == "equal":
        for at in range(to_old - from_old):
            yield Line(Side.SAME, before[from_old + at], from_old + at + 1, from_new + at + 1)
        return
    for at in range(from_old, to_old):
        yield Line(Side.REMOVED, before[at], old=at + 1)
    for at in range(from_new, to_new):
        yield Line(Side.ADDED, after[at], new=at + 1)
