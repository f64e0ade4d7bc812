"""Where conflicts keep meeting: whether one run or one field has so many, for so long, that a boundary is drawn wrong.

Pure. A single busy hour is bad luck; a share that stays over several stretches of time is a design.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

#: Fewer conflicts than this in all say nothing.
LEAST_IN_ALL = 10
#: A name stands out when it has at least this share of all conflicts,
STANDS_OUT = 0.4
#: and has it in at least this many stretches of time, which are at least this share of those that had any.
LEAST_STRETCHES = 3
SUSTAINED = 0.6


@dataclass(frozen=True, slots=True)
class Concentration:
    """One name that met a large share of all conflicts, and kept doing so."""

    name: str
    count: int
    share: float
    stretches: int
    of_stretches: int

    @property
    def percent(self) -> int:
        return round(self.share * 100)


def sustained(counts: Sequence[Mapping[str, int]], totals: Sequence[int]) -> list[Concentration]:
    """The names that stand out over time, the largest first.

    `counts` has, for each stretch of time, how many conflicts each name met; `totals` how many there were in all. (One
    conflict may touch several fields, so the counts of a stretch may add up to more.)
    """
    in_all = sum(totals)
    busy = [(names, total) for names, total in zip(counts, totals, strict=True) if total]
    if in_all < LEAST_IN_ALL:
        return []
    found = [_judged(name, count, busy, in_all) for name, count in _summed(counts).items()]
    return sorted((item for item in found if _stands_out(item)), key=lambda item: (-item.count, item.name))


def _summed(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    summed: Counter[str] = Counter()
    for names in counts:
        summed.update(names)
    return summed


def _judged(name: str, count: int, busy: Sequence[tuple[Mapping[str, int], int]], in_all: int) -> Concentration:
    stretches = sum(names.get(name, 0) >= STANDS_OUT * total for names, total in busy)
    return Concentration(name, count, count / in_all, stretches, len(busy))


def _stands_out(item: Concentration) -> bool:
    is_lasting = item.stretches >= LEAST_STRETCHES and item.stretches >= SUSTAINED * item.of_stretches
    return item.share >= STANDS_OUT and is_lasting
