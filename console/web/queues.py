"""The queues of the inbox: what may wait for a person. Each screen that has something to decide adds its own.

The inbox knows nothing of what is in a queue. It merges them by rank and age and goes on from each queue's own place,
so a queue needs no common table and no count of what came before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from console.web.gate import Viewer

#: Counts stop here: beyond it a number says no more, and counting costs.
COUNTED_AT_MOST = 100


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that waits."""

    template: str  # draws `line` as a row of the inbox
    line: Any
    rank: int  # the higher, the sooner: 2 nobody knows what happened, 1 material, 0 everything else
    since: datetime
    place: str  # where its queue goes on after it
    mark: str  # changes when the row does


class Queue(Protocol):
    """One kind of thing that waits for people."""

    key: str
    label: str

    def is_for(self, viewer: Viewer) -> bool:
        """Whether this person sees the queue at all."""

    def count(self, viewer: Viewer) -> int:
        """How much waits for this person to act on; `COUNTED_AT_MOST` stands for as much or more."""

    def items(self, viewer: Viewer, limit: int, after: str | None) -> Sequence[Item]:
        """What waits, by rank and age, after a place that an item of this queue had."""


QUEUES: list[Queue] = []


def queues_of(viewer: Viewer) -> list[Queue]:
    """The queues that this person sees."""
    return [queue for queue in QUEUES if queue.is_for(viewer)]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some items of one or more queues in their common order, and the place in each queue from which it goes on."""

    items: tuple[Item, ...]
    next: Mapping[str, str] | None  # None: nothing follows


def read_stretch(viewer: Viewer, queues: Sequence[Queue], after: Mapping[str, str], limit: int) -> Stretch:
    """The next items of these queues together, by rank and then by age."""
    found = [(queue.key, item) for queue in queues for item in queue.items(viewer, limit + 1, after.get(queue.key))]
    found.sort(key=lambda pair: (-pair[1].rank, pair[1].since))
    taken = found[:limit]
    if len(found) == len(taken):
        return Stretch(tuple(item for _, item in taken), None)
    places = dict(after) | {key: item.place for key, item in taken}
    return Stretch(tuple(item for _, item in taken), places)
