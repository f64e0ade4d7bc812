"""The feed: the ledger entries of all runs in one order that can be followed without missing one.

Owns that order. A number given before commit, such as a serial id or a time, shows a later number before an
earlier one commits, and whoever remembers "the last I saw" misses the earlier. Entries are therefore ordered
by the transaction that wrote them, and shown only once every older transaction has ended.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from runs.queries import ENTRY_COLUMNS, Entry
from runs.transactions import execute

JSON = Any

#: How many entries one request looks at, those of other workflows included: its cost is bounded by this.
SCANNED_AT_ONCE = 2000

_SCAN = """
SELECT e.feed_xid::text, e.run_id, e.seq, r.key, r.workflow = ANY(%(workflows)s)
FROM (
    SELECT feed_xid, run_id, seq FROM runs_ledgerentry
    WHERE (feed_xid, run_id, seq) > (%(xid)s::text::xid8, %(run)s, %(seq)s)
      AND feed_xid < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY feed_xid, run_id, seq LIMIT %(scan)s
) e JOIN runs_run r ON r.id = e.run_id
ORDER BY e.feed_xid, e.run_id, e.seq
"""

_ENTRIES = f"""
SELECT e.run_id, {", ".join(f"e.{name}" for name in ENTRY_COLUMNS)}
FROM runs_ledgerentry e JOIN unnest(%s::bigint[], %s::int[]) AS wanted (run_id, seq) USING (run_id, seq)
"""


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the feed: after this entry."""

    xid: int = 0
    run: int = 0
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Event:
    """A ledger entry with the key of its run."""

    run: str
    entry: Entry

    def as_json(self) -> dict[str, JSON]:
        return {"run": self.run, **self.entry.as_json()}


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some events in order, and the place to go on from; None when nothing is known to follow the place asked for."""

    events: tuple[Event, ...]
    next: Place | None


def read_feed(workflows: Collection[str], after: Place, limit: int) -> Stretch:
    """At most `limit` events of `workflows` after a place.

    Complete, and per run in the order of its ledger. A stretch may be empty and still have a next place:
    what was looked at belonged to other workflows, and more follows.
    """
    scanned = _scan(workflows, after)
    shown = [row for row in scanned if row[-1]][:limit]
    if len(shown) == limit:
        last = shown[-1]
    elif shown or len(scanned) == SCANNED_AT_ONCE:
        last = scanned[-1]
    else:
        return Stretch((), None)
    return Stretch(_read(shown), Place(int(last[0]), last[1], last[2]))


def _scan(workflows: Collection[str], after: Place) -> list[tuple[Any, ...]]:
    params = {
        "workflows": list(workflows),
        "xid": str(after.xid),
        "run": after.run,
        "seq": after.seq,
        "scan": SCANNED_AT_ONCE,
    }
    return execute(_SCAN, params).fetchall()


def _read(rows: Sequence[tuple[Any, ...]]) -> tuple[Event, ...]:
    found = execute(_ENTRIES, [[row[1] for row in rows], [row[2] for row in rows]]).fetchall()
    entries = {(row[0], row[1]): Entry(*row[1:]) for row in found}
    return tuple(Event(key, entries[run, seq]) for _, run, seq, key, _ in rows)
