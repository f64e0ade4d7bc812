"""The ledger of every run against itself, against the run, and against the records of the commands it tells."""

import heapq
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from runs.verify.checks import Check, Violation, stream
from runs.verify.reading import EntryRow, Reading, RunRow

RULES = {
    "ledger-gapless": "The entries of a run are numbered from 1 to its head, and there are no others.",
    "ledger-chained": "Every entry has the hash of what it says, and names the hash of the entry before it.",
    "ledger-body": "A body that was not erased is the one that was hashed.",
    "ledger-version": "From one entry to the next the version rises by one when something changed, else not.",
    "ledger-touched": "An entry lists exactly the names of which its body tells changes.",
    "lost-update": "A commit was computed from the version just before it; every change starts from what was there.",
    "request": "The entry of a command and the record of its id tell of the same request.",
    "status-step": "Every recorded change of status is a legal one.",
    "head": "A run stands on its last entry: number, version and hash.",
    "fold": "A run is what its recorded changes made of its first entry.",
}

_RUNS = """
SELECT id, key, workflow, revision, status, version, input_version, head_seq, head_hash, fields, active_snapshot
FROM runs_run ORDER BY id
"""
_ENTRIES = """
SELECT e.run_id, e.seq, e.version, e.kind, e.actor, e.command_id, e.at, e.touched, e.body, e.body_sha256, e.prev_hash,
       e.hash, c.request_sha256
FROM runs_ledgerentry e
LEFT JOIN runs_command c ON (c.run_id, c.principal, c.command_id) = (e.run_id, e.actor, e.command_id)
ORDER BY e.run_id, e.seq
"""


def _find(tally: Counter[str]) -> Iterator[Violation]:
    """One pass over all runs beside one over all entries, both in the order of runs."""
    runs = ((row[0], 0, RunRow(*row)) for row in stream(_RUNS))
    entries = ((row[0], 1, EntryRow(*row)) for row in stream(_ENTRIES))
    for number, rows in groupby(heapq.merge(runs, entries, key=itemgetter(0, 1)), key=itemgetter(0)):
        _, _, first = next(rows)
        if isinstance(first, RunRow):
            tally["runs"] += 1
            yield from Reading(first, tally).read(row for _, _, row in rows if isinstance(row, EntryRow))
        else:
            yield Violation("ledger-gapless", f"run number {number}", "There are entries and no run.")


LEDGERS = Check(RULES, _find)
