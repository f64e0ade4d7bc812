"""A frozen payload as people read it: its members one by one, and every byte of it; what is odd about either.

Pure. What is shown is computed from the bytes alone. Members stand decoded, so that padding and hidden characters
inside a text are seen for what they are; the bytes stand as they are sent, with runs of escaped line breaks counted.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from console.diffing import written
from console.hostile import Kind, Segment, Shown, inspect
from console.lookalikes import inspect_name
from runs.digest import pointer

JSON = Any

#: So many members stand one by one; what is beyond stands in the bytes, which are always whole.
MOST_MEMBERS = 100
#: A longer value is cut where it only serves as a fact in a line, and a much longer one among the members.
LONGEST_FACT, LONGEST_VALUE = 96, 4000
#: Characters and pieces that a page bears beside everything else; a longer payload has a page of its own.
LARGEST_BESIDE, MOST_PIECES = 200_000, 3000

_ESCAPED_RUN = re.compile(r"(?<!\\)(?P<before>(?:\\\\)*)(?P<run>(?:\\[nrt]| ){25,})")


@dataclass(frozen=True, slots=True)
class Member:
    """One value of a payload with its place: names of members may be foreign text as well."""

    place: Shown
    value: Shown
    is_set: bool  # not null


@dataclass(frozen=True)
class Payload:
    """The bytes with what a page shows of them."""

    body: bytes
    value: JSON
    members: tuple[Member, ...]
    more: int  # members that are not shown one by one
    exact: Shown
    findings: tuple[str, ...]

    @property
    def is_suspicious(self) -> bool:
        """Whether somebody who decides has to look twice."""
        return bool(self.findings)

    @property
    def has_own_page(self) -> bool:
        """Whether it is too long to stand whole beside the decision."""
        shown = self.exact.segments
        return len(shown) > MOST_PIECES or sum(len(segment.text) for segment in shown) > LARGEST_BESIDE

    @property
    def beginning(self) -> Shown:
        """The bytes, or so much of them as the page bears."""
        return cut(self.exact, LONGEST_VALUE) if self.has_own_page else self.exact

    def top(self) -> Mapping[str, JSON]:
        """The members at the top."""
        return self.value if isinstance(self.value, Mapping) else {}


def read_payload(body: bytes) -> Payload:
    """Everything that is shown of canonical JSON bytes."""
    text = body.decode()
    value = json.loads(text)
    exact = inspect_json(text)
    members: list[Member] = []
    count, found = 0, dict.fromkeys(exact.findings)
    for count, (path, leaf) in enumerate(leaves(value), start=1):
        if count <= MOST_MEMBERS:
            place = cut(_look(pointer(*path)[1:]))
            members.append(Member(place, cut(_shown(leaf), LONGEST_VALUE), is_set=leaf is not None))
        for part in (*path, leaf):
            if isinstance(part, str):
                found |= dict.fromkeys(_look(part).findings)
    return Payload(body, value, tuple(members), max(0, count - MOST_MEMBERS), exact, tuple(found))


def leaves(value: JSON, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], JSON]]:
    """The values of a document in order, each with its path; an empty object or list is a value."""
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))
    elif isinstance(value, list) and value:
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    else:
        yield path, value


def _shown(leaf: JSON) -> Shown:
    """A value alone; an empty text has nothing to show."""
    return Shown(()) if leaf in ("", None) else _look(written(leaf))


def _look(text: str) -> Shown:
    """A text with what is odd about its words; in plain ASCII no letter passes for another."""
    return inspect(text) if text.isascii() else inspect_name(text)


def inspect_json(text: str) -> Shown:
    """JSON text safe to look at; a long run of escaped line breaks and blanks is counted, as it is in plain text."""
    segments: list[Segment] = []
    findings: dict[str, None] = {}
    at = 0
    for run in _ESCAPED_RUN.finditer(text):
        piece = inspect(text[at : run.start("run")])
        lines = run["run"].count("\\n")
        words = f"{lines:,} line breaks" if lines else f"{len(run['run']):,} blanks"
        finding = "long runs of empty lines" if lines else "long runs of blanks"
        segments += [*piece.segments, Segment(Kind.COLLAPSED, f"⟨{words}⟩", "folded: nothing else was here")]
        findings |= dict.fromkeys((*piece.findings, finding))
        at = run.end()
    rest = inspect(text[at:])
    return Shown((*segments, *rest.segments), tuple(findings | dict.fromkeys(rest.findings)))


# ---- the facts that stand first --------------------------------------------------------------------------

#: What people look for first, whatever a payload calls it; money is one fact with its currency.
FIRST = ("amount", "recipient", "to", "payee", "account", "subject", "title")


@dataclass(frozen=True, slots=True)
class Fact:
    """A member of a payload that stands first and large."""

    label: str
    value: Shown
    fields: tuple[str, ...] = field(default=())  # of the run, that it was rendered from


def first_facts(payload: Payload, template: Mapping[str, str] | None, most: int) -> list[Fact]:
    """The members that matter most, short: money, who gets it, and what else stands at the top."""
    top = payload.top()
    plain = {name for name, value in top.items() if not isinstance(value, Mapping | list) and value is not None}
    skipped = {name for name, text in (template or {}).items() if text in ("{run.key}", "{effect.operation_id}")}
    if {"amount", "currency"} <= plain:
        skipped.add("currency")
    names = [*(name for name in FIRST if name in plain), *(name for name in top if name in plain - set(FIRST))]
    return list(islice((_fact(name, top, template or {}) for name in names if name not in skipped), most))


def _fact(name: str, top: Mapping[str, JSON], template: Mapping[str, str]) -> Fact:
    names = (name, "currency") if name == "amount" and "currency" in top else (name,)
    text = " ".join(written(top[each]) for each in names)
    fields = tuple(
        template[each][len("{fields.") : -1] for each in names if template.get(each, "").startswith("{fields.")
    )
    label = name.replace("_", " ").replace("-", " ")
    return Fact(str(inspect(label)).capitalize(), cut(inspect_name(text)), fields)


def cut(shown: Shown, longest: int = LONGEST_FACT) -> Shown:
    """The beginning of a text, and how many characters are left out; a short one as it is."""
    kept: list[Segment] = []
    room = longest
    for index, segment in enumerate(shown.segments):
        if len(segment.text) > room:
            beginning = segment.text[:room] if segment.kind is Kind.TEXT else ""
            left = sum(len(later.text) for later in shown.segments[index:]) - len(beginning)
            note = Segment(Kind.COLLAPSED, f"⟨{left:,} more characters⟩", "all of it stands below")
            return Shown((*kept, Segment(Kind.TEXT, beginning), note), shown.findings)
        kept.append(segment)
        room -= len(segment.text)
    return shown
