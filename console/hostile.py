"""Text from agents, customers and providers, cut into segments that a page can show without being deceived.

Pure: standard library and `hidden_characters`. Nothing is removed: what a reader cannot see becomes a mark that
names it, what is only there to push the rest out of sight becomes a count. The result holds text alone, so a
template renders text nodes and nothing else.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from console import hidden_characters as hidden

#: More blanks in a line than this are folded, and more empty lines, and more equal characters.
BLANKS, EMPTY_LINES, EQUALS = 24, 3, 80
#: More combining marks on one character than any writing needs.
STACKED = 6
#: More hidden characters in a row than this are counted rather than listed.
LISTED = 6


class Kind(StrEnum):
    """What a segment is."""

    TEXT = "text"  # shown as it came
    MARK = "mark"  # stands for something that cannot be seen
    COLLAPSED = "collapsed"  # stands for much of the same


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of the text, or what is shown in its place; `note` explains it in words."""

    kind: Kind
    text: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """A whole text made safe to look at, and what was found in it (each finding once, in words)."""

    segments: tuple[Segment, ...]
    findings: tuple[str, ...] = ()

    @property
    def is_suspicious(self) -> bool:
        return bool(self.findings)

    def __str__(self) -> str:
        return "".join(segment.text for segment in self.segments)


#: What needs a closer look: anything but printable ASCII, and runs of the same.
_CLOSER = re.compile(
    rf"(?P<lines>(?:[ \t\r]*\n){{{EMPTY_LINES + 2},}})"
    rf"|(?P<blanks>[^\S\n]{{{BLANKS + 1},}})"
    rf"|(?P<equals>([!-~])\4{{{EQUALS},}})"
    r"|(?P<other>[^\x20-\x7e\n\t]+)"
)


def inspect(text: str) -> Shown:
    """The text as segments. Linear in its length; ordinary words of any language pass in one piece."""
    segments: list[Segment] = []
    findings: dict[str, None] = {}
    plain_text: list[str] = []
    for segment, finding in _pieces(text):
        if segment.kind is Kind.TEXT:
            plain_text.append(segment.text)
            continue
        if joined := "".join(plain_text):
            segments.append(Segment(Kind.TEXT, joined))
        plain_text.clear()
        segments.append(segment)
        findings[finding] = None
    if joined := "".join(plain_text):
        segments.append(Segment(Kind.TEXT, joined))
    return Shown(tuple(segments), tuple(findings))


def plain(text: str) -> str:
    """The same for places that hold one string: notifications, logs, exports, titles."""
    return str(inspect(text))


def _pieces(text: str) -> Iterator[tuple[Segment, str]]:
    """Segments in order; each that is not plain text with what it means to find it."""
    at = 0
    while found := _CLOSER.search(text, at):
        if found.start() > at:
            yield Segment(Kind.TEXT, text[at : found.start()]), ""
        at, end = found.span()
        if not found["other"]:
            yield from _collapsed(found)
        elif _is_ordinary(found[0]):
            yield Segment(Kind.TEXT, found[0]), ""
        else:
            while at < end:
                pieces, at = _other(text, at)
                yield from pieces
        at = max(at, end)
    if at < len(text):
        yield Segment(Kind.TEXT, text[at:]), ""


def _is_ordinary(run: str) -> bool:
    """Whether a run of non-ASCII characters is letters and symbols only, written in the usual way."""
    return (
        run.isprintable()
        and hidden.BLANK.isdisjoint(run)
        and unicodedata.is_normalized("NFC", run)
        and not any(map(unicodedata.combining, run))
    )


def _collapsed(found: re.Match[str]) -> Iterator[tuple[Segment, str]]:
    """Padding as a count; a blank or a line break stays on either side of what was blank."""
    if found["lines"]:
        edge, what, finding = "\n", f"{found['lines'].count(chr(10)) - 1:,} empty lines", "long runs of empty lines"
    elif found["blanks"]:
        edge, what, finding = " ", f"{len(found['blanks']):,} blanks", "long runs of blanks"
    else:
        edge, what, finding = "", f"{len(found['equals']):,} × {found['equals'][0]}", "long runs of one character"
    yield Segment(Kind.TEXT, edge), ""
    yield Segment(Kind.COLLAPSED, f"⟨{what}⟩", "folded: nothing else was here"), finding
    yield Segment(Kind.TEXT, edge), ""


def _other(text: str, at: int) -> tuple[list[tuple[Segment, str]], int]:
    """What stands at this place, which is neither plain ASCII nor padding; and where to go on."""
    if length := hidden.flag_length(text, at):
        return [(Segment(Kind.TEXT, text[at : at + length]), "")], at + length
    if hidden.is_hidden(text[at]):
        if hidden.is_allowed(text, at):
            return [(Segment(Kind.TEXT, text[at]), "")], at + 1
        end = at + 1
        while end < len(text) and hidden.is_hidden(text[end]) and not hidden.is_allowed(text, end):
            end += 1
        return _marks(text[at:end]), end
    return _visible(text, at)


def _marks(run: str) -> list[tuple[Segment, str]]:
    """A run of hidden characters: each by its number, or the whole run counted."""
    if len(run) <= LISTED:
        return [(Segment(Kind.MARK, code(char), hidden.name_of(char)), _finding(char)) for char in run]
    spelt = "".join(chr(ord(char) - 0xE0000) for char in run if "\U000e0020" <= char <= "\U000e007e")
    kinds = sorted({f"U+{ord(char):04X}" for char in run})
    listed = " ".join(kinds[:LISTED]) + (" …" if len(kinds) > LISTED else "")
    note = f"spells: {spelt}" if spelt else "hidden characters, counted"
    shown = f"⟨{len(run):,} hidden: {listed}⟩" if not spelt else f"⟨{len(run):,} hidden, spelling “{spelt}”⟩"
    return [(Segment(Kind.MARK, shown, note), _finding(run[0]))]


def code(char: str) -> str:
    """The mark of one character: `⟨U+202E⟩`."""
    return f"⟨U+{ord(char):04X}⟩"


def _finding(char: str) -> str:
    """What it means that this hidden character is in a text."""
    if unicodedata.bidirectional(char) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"):
        return "characters that turn the reading direction around"
    if "\U000e0000" <= char <= "\U000e007f":
        return "invisible tag characters"
    if unicodedata.category(char) == "Cc":
        return "control characters"
    if unicodedata.category(char) in ("Cs", "Co", "Cn"):
        return "characters without a known form"
    return "invisible characters"


def _visible(text: str, at: int) -> tuple[list[tuple[Segment, str]], int]:
    """A visible character with the combining marks on it: too many are folded, another spelling is marked."""
    end = at + 1
    while end < len(text) and _extends(text[end]):
        end += 1
    first = at - 1 if unicodedata.combining(text[at]) and at and text[at - 1] != "\n" else at
    cluster = text[first:end]
    if end - at > STACKED:
        folded = f"⟨{end - at - STACKED:,} stacked marks⟩"
        note = Segment(Kind.COLLAPSED, folded, "more marks on one character than any writing needs")
        return [(Segment(Kind.TEXT, text[at : at + STACKED]), ""), (note, "stacked marks")], end
    pieces = [(Segment(Kind.TEXT, text[at:end]), "")]
    if not unicodedata.is_normalized("NFC", cluster):
        points = " ".join(f"U+{ord(char):04X}" for char in cluster)
        mark = Segment(Kind.MARK, f"⟨{points}⟩", "written in another way than usual; compares as different")
        pieces.append((mark, "letters not in their normal form (NFC)"))
    return pieces, end


def _extends(char: str) -> bool:
    """Whether a character is written onto the one before it: a combining mark, or the rest of a Hangul syllable."""
    return (unicodedata.category(char)[0] == "M" or "\u1161" <= char <= "\u11ff") and not hidden.is_hidden(char)
