"""Whether the ledger of one run is what it was when it was written: gapless, chained, with the bodies that were hashed.

Reads in stretches, so a long ledger costs time and no memory. Writes nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from runs.chain import ORIGIN, recomputed_hash
from runs.digest import tagged
from runs.models import LedgerEntry
from runs.queries import ENTRY_COLUMNS, Entry
from runs.values import RunReading

JSON = Any

STRETCH = 500


@dataclass(frozen=True, slots=True)
class Fault:
    """Where a chain breaks, and how."""

    seq: int
    words: str


@dataclass(frozen=True, slots=True)
class ChainReport:
    """What verifying the chain of a run found."""

    entries: int
    erased: int
    fault: Fault | None

    @property
    def is_sound(self) -> bool:
        return self.fault is None


def verify_chain(run: RunReading) -> ChainReport:
    """Recompute every hash of a run's ledger up to the head that was read, and compare the head itself."""
    return check_entries(run.key, _up_to(run), run.head_seq, run.head_hash)


def _up_to(run: RunReading) -> Iterator[Entry]:
    entries = LedgerEntry.objects.filter(run_id=run.id, seq__lte=run.head_seq).order_by("seq")
    last = 0
    while stretch := [Entry(*row) for row in entries.filter(seq__gt=last).values_list(*ENTRY_COLUMNS)[:STRETCH]]:
        yield from stretch
        last = stretch[-1].seq


def check_entries(key: str, entries: Iterable[Entry], head_seq: int, head_hash: str) -> ChainReport:
    """The same for entries that were read already, in order."""
    seq, previous, erased = 0, ORIGIN, 0
    for entry in entries:
        if words := _broken(key, entry, seq + 1, previous):
            return ChainReport(seq, erased, Fault(entry.seq, words))
        seq, previous, erased = entry.seq, entry.hash, erased + (entry.body is None)
    if seq != head_seq:
        return ChainReport(seq, erased, Fault(seq + 1, "The ledger ends before the head that the run names."))
    if previous != head_hash:
        return ChainReport(seq, erased, Fault(seq, "The run names another hash as its head."))
    return ChainReport(seq, erased, None)


def _broken(key: str, entry: Entry, seq: int, previous: str) -> str | None:
    """How `entry` fails to follow as number `seq` after the hash `previous`; None when it follows."""
    if entry.seq != seq:
        return f"Entry {seq} is missing."
    if entry.prev_hash != previous:
        return "It does not name the hash of the entry before it."
    if entry.body is not None and tagged(bytes(entry.body)) != entry.body_sha256:
        return "Its body is not the one that was hashed."
    return None if recomputed_hash(key, entry) == entry.hash else "Its hash is not that of what it says."
