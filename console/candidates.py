"""Two candidates of one action side by side: what of the frozen bytes differs from what was decided on before.

Pure. Payloads are compared value by value, never as lines of text; a text of any length is compared in bounded time.
"""

import os.path
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from console.diffing import Difference, Piece, Side, difference, folded, word_pieces, written
from console.hostile import Shown
from console.lookalikes import inspect_name
from console.payloads import cut, leaves
from runs.digest import pointer
from runs.fields import same

JSON = Any

#: So many changes of a payload stand one by one.
MOST_CHANGES = 100
#: Words on both sides of a changed stretch that are compared; a longer stretch is shown as gone and come.
MOST_WORDS = 3000
#: Of a changed stretch that is too long to be compared, so much is shown on either side.
LONGEST_PIECE = 600

_WORD = re.compile(r"\s+|\w+|[^\w\s]")
_MISSING = object()


@dataclass(frozen=True, slots=True)
class Candidate:
    """What of a candidate is compared: the parts of its manifest, its payload (None: erased), where it goes."""

    manifest: Mapping[str, JSON]
    payload: JSON
    host: str

    @property
    def artifacts(self) -> dict[str, Mapping[str, JSON]]:
        return {item["slot"]: item for item in self.manifest["artifacts"]}


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that differs."""

    part: str  # payload | artifact | destination | contract | rules
    place: Shown
    difference: Difference
    note: str = ""


@dataclass(frozen=True, slots=True)
class Changes:
    """All that differs between two candidates, and how many more values of the payload do."""

    items: tuple[Change, ...]
    more: int
    payload_is_known: bool  # of both

    @property
    def count(self) -> int:
        return len(self.items) + self.more


def compare(then: Candidate, now: Candidate) -> Changes:
    """What differs: the payload first, then artifacts, destination, and the rules it was frozen under."""
    known = then.payload is not None and now.payload is not None
    payload = _payload(then.payload, now.payload) if known else iter(())
    items = list(islice(payload, MOST_CHANGES))
    more = sum(1 for _ in payload)
    items += [*_artifacts(then, now), *_destination(then, now), *_rules(then.manifest, now.manifest)]
    return Changes(tuple(items), more, known)


def _payload(then: JSON, now: JSON) -> Iterator[Change]:
    before = {pointer(*path): leaf for path, leaf in leaves(then)}
    after = {pointer(*path): leaf for path, leaf in leaves(now)}
    for place in [*after, *(place for place in before if place not in after)]:
        old, new = before.get(place, _MISSING), after.get(place, _MISSING)
        if old is _MISSING or new is _MISSING or not same(old, new):
            gone, came = (None if value is _MISSING else value for value in (old, new))
            yield Change("payload", cut(inspect_name(place[1:])), bounded_difference(gone, came))


def _artifacts(then: Candidate, now: Candidate) -> Iterator[Change]:
    for slot in sorted(then.artifacts | now.artifacts):
        before, after = then.artifacts.get(slot), now.artifacts.get(slot)
        if before is None or after is None or before["id"] != after["id"]:
            is_equal = before is not None and after is not None and before["sha256"] == after["sha256"]
            ids = (item and item["id"] for item in (before, after))
            yield Change("artifact", inspect_name(slot), difference(*ids), "the same content" if is_equal else "")


def _destination(then: Candidate, now: Candidate) -> Iterator[Change]:
    before, after = (f"{_at(side)['name']} revision {_at(side)['revision']}" for side in (then, now))
    if before != after:
        words = "the address is the same"
        if _at(then)["url_sha256"] != _at(now)["url_sha256"]:
            words = f"the host was {then.host}" if then.host != now.host else "the address is another, on the same host"
        yield Change("destination", inspect_name(_at(now)["name"]), difference(before, after), words)


def _at(side: Candidate) -> Mapping[str, JSON]:
    destination: Mapping[str, JSON] = side.manifest["destination"]
    return destination


def _rules(then: Mapping[str, JSON], now: Mapping[str, JSON]) -> Iterator[Change]:
    for name, label in (("contract", "how long consent stands"), ("workflow_revision", "revision of the workflow")):
        if then[name] != now[name]:
            yield Change("rules", inspect_name(label), difference(then[name], now[name]))


# ---- texts of any length -----------------------------------------------------------------------------------


def bounded_difference(old: JSON, new: JSON) -> Difference:
    """How two values differ; of long texts only the stretch between their equal ends is compared word by word."""
    if not (isinstance(old, str) and isinstance(new, str)):
        return difference(old, new)
    beginning = len(os.path.commonprefix([old, new]))
    rest_old, rest_new = old[beginning:], new[beginning:]
    ending = len(os.path.commonprefix([rest_old[::-1], rest_new[::-1]]))
    gone, came = rest_old[: len(rest_old) - ending], rest_new[: len(rest_new) - ending]
    if sum(len(_WORD.findall(text)) for text in (old, new)) <= MOST_WORDS:
        return difference(old, new)
    if sum(len(_WORD.findall(text)) for text in (gone, came)) <= MOST_WORDS:
        changed = list(word_pieces(gone, came))
    else:
        changed = [Piece(Side.REMOVED, _beginning(gone)), Piece(Side.ADDED, _beginning(came))]
    ends = Piece(Side.SAME, old[:beginning]), Piece(Side.SAME, old[len(old) - ending :])
    pieces = [piece for piece in (ends[0], *changed, ends[1]) if piece.text]
    return Difference("text", old=written(old), new=written(new), pieces=folded(pieces))


def _beginning(text: str) -> str:
    if len(text) <= LONGEST_PIECE:
        return text
    return f"{text[:LONGEST_PIECE]} … and {len(text) - LONGEST_PIECE:,} more characters"
