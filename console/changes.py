"""Terms that change, member by member, as a page shows them: what it was, and what it becomes.

Pure. A member that holds members of its own, such as the limits of a policy, is told by those.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from console.diffing import Difference, difference

JSON = Any


@dataclass(frozen=True, slots=True)
class Change:
    """One member that changes."""

    member: str
    difference: Difference


def told_changes(now: Mapping[str, JSON], wanted: Mapping[str, JSON]) -> list[Change]:
    """What of `wanted` differs from `now`. What `wanted` does not name stays and is not told."""
    return [Change(member, difference(old, new)) for member, old, new in _members(now, wanted, "") if old != new]


def _members(now: Mapping[str, JSON], wanted: Mapping[str, JSON], above: str) -> Iterator[tuple[str, JSON, JSON]]:
    for member, new in wanted.items():
        old, name = now.get(member), above + member
        if not isinstance(new, Mapping):
            yield name, old, new
            continue
        known = old if isinstance(old, Mapping) else {}
        gone = {below: None for below in known if below not in new}
        yield from _members(known, {**new, **gone}, f"{name}.")
