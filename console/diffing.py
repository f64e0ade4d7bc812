"""How two values of one field differ, in pieces a person can read.

Pure: standard library only. The unit is a field with a type, never a line of text: money shows its difference,
long text shows words, logs and sets show their elements.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Any, Literal

#: A text with more words than this is compared by lines first, which keeps the work linear enough.
WORDS = 3000
#: More unchanged text between two changes than this is folded.
CONTEXT = 240

MINUS = "\u2212"

_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")
_DECIMAL = re.compile(r"-?[0-9]{1,30}(?:\.[0-9]{1,30})?")


class Side(StrEnum):
    """Which of the two values a piece or item belongs to."""

    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text; `folded` characters of it were left out after `text`."""

    side: Side
    text: str
    folded: int = 0
    tail: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """One element of a set, or one entry of a log: how it was and how it is."""

    side: Side
    key: str
    old: str = ""
    new: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """Two values side by side. Only what the shape needs is filled; `had` and `has` tell empty from never set."""

    shape: Literal["unset", "same", "scalar", "text", "items"]
    old: str = ""
    new: str = ""
    had: bool = True
    has: bool = True
    delta: str = ""
    pieces: tuple[Piece, ...] = ()
    items: tuple[Item, ...] = ()
    same_count: int = 0


def difference(old: Any, new: Any, *, key: str = "id") -> Difference:
    """How `new` differs from `old`; None is a value that was never set. List entries match by `key`."""
    if old is None and new is None:
        return Difference("unset")
    if old == new and type(old) is type(new):
        return Difference("same", old=written(old), new=written(new))
    if all(value is None or isinstance(value, list) for value in (old, new)):
        items, same_count = list_items(old or [], new or [], key)
        return Difference("items", items=items, same_count=same_count)
    before, after = written(old), written(new)
    if isinstance(old, str) and isinstance(new, str) and max(len(before), len(after)) > 60:
        return Difference("text", old=before, new=after, pieces=folded(word_pieces(before, after)))
    had, has = old is not None, new is not None
    return Difference("scalar", before, after, had, has, numeric_delta(old, new))


def written(value: Any) -> str:
    """A value as text: texts as they are, everything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def numeric_delta(old: Any, new: Any) -> str:
    """The exact difference of two numbers or decimal texts with its sign, or an empty text."""
    before, after = _decimal(old), _decimal(new)
    if before is None or after is None:
        return ""
    change = after - before
    return f"{MINUS if change < 0 else '+'}{abs(change):f}"


def _decimal(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | str | Decimal):
        return None
    text = str(value)
    if not _DECIMAL.fullmatch(text):
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def list_items(old: Sequence[Any], new: Sequence[Any], key: str = "id") -> tuple[tuple[Item, ...], int]:
    """What was removed, changed and added, in the order of the newer list; and how much stayed the same.

    Objects match by `key`, everything else by value. An entry that moved only is not a change.
    """
    before, after = _keyed(old, key), _keyed(new, key)
    removed = [Item(Side.REMOVED, entry.label, old=entry.text) for name, entry in before.items() if name not in after]
    items = list(removed)
    same_count = 0
    for name, entry in after.items():
        if name not in before:
            items.append(Item(Side.ADDED, entry.label, new=entry.text))
        elif before[name] != entry:
            items.append(Item(Side.CHANGED, entry.label, old=before[name].text, new=entry.text))
        else:
            same_count += 1
    return tuple(items), same_count


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry of a list: what it is called beside its text, and the text."""

    label: str
    text: str


def _keyed(entries: Sequence[Any], key: str) -> dict[str, _Entry]:
    """Entries by what identifies them. Of an object, `text` or its only other member is the text."""
    keyed: dict[str, _Entry] = {}
    for entry in entries:
        if not isinstance(entry, Mapping) or key not in entry:
            keyed[written(entry)] = _Entry(written(entry), written(entry))
            continue
        name, rest = written(entry[key]), {name: value for name, value in entry.items() if name != key}
        if isinstance(rest.get("text"), str):
            beside = [f"{name} {written(value)}" for name, value in rest.items() if name != "text"]
            keyed[name] = _Entry(" · ".join([name, *beside]), rest["text"])
        else:
            keyed[name] = _Entry(name, written(next(iter(rest.values())) if len(rest) == 1 else rest))
    return keyed


def word_pieces(old: str, new: str) -> tuple[Piece, ...]:
    """Two texts as stretches that stayed, went and came; joined they give both texts back exactly."""
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    if len(before) + len(after) <= WORDS:
        return tuple(_matched(before, after))
    pieces: list[Piece] = []
    old_lines, new_lines = old.splitlines(True), new.splitlines(True)
    matcher = SequenceMatcher(None, old_lines, new_lines, autojunk=False)
    for tag, from_old, to_old, from_new, to_new in matcher.get_opcodes():
        gone, came = "".join(old_lines[from_old:to_old]), "".join(new_lines[from_new:to_new])
        if tag == "equal":
            pieces.append(Piece(Side.SAME, gone))
            continue
        words = _TOKEN.findall(gone), _TOKEN.findall(came)
        if tag == "replace" and len(words[0]) + len(words[1]) <= WORDS:
            pieces += _matched(*words)
        else:
            pieces += [Piece(side, text) for side, text in ((Side.REMOVED, gone), (Side.ADDED, came)) if text]
    return tuple(pieces)


def _matched(before: list[str], after: list[str]) -> Iterator[Piece]:
    for tag, from_old, to_old, from_new, to_new in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            yield Piece(Side.SAME, "".join(before[from_old:to_old]))
            continue
        if gone := "".join(before[from_old:to_old]):
            yield Piece(Side.REMOVED, gone)
        if came := "".join(after[from_new:to_new]):
            yield Piece(Side.ADDED, came)


def folded(pieces: Sequence[Piece], context: int = CONTEXT) -> tuple[Piece, ...]:
    """The same pieces with long unchanged stretches cut in the middle, the number of characters left out named."""
    return tuple(_folded(piece, context) if piece.side is Side.SAME else piece for piece in pieces)


def _folded(piece: Piece, context: int) -> Piece:
    half = context // 2
    left_out = len(piece.text) - 2 * half
    if left_out <= half:
        return piece
    return Piece(Side.SAME, piece.text[:half], left_out, piece.text[-half:])
