"""Four eyes: who took part in what a snapshot shows, and therefore may not approve it.

Pure. People are compared by their immutable number. An agent counts as its owner and as the person it
acted for.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """A person who took part, and how, in words."""

    person_id: int
    username: str
    because: str


def part_of(parts: Iterable[Part], person_id: int) -> Part | None:
    """How this person took part, if they did."""
    return next((part for part in parts if part.person_id == person_id), None)
