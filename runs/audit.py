"""Who did what: the ledger of every run and every change of authority in one order, the newest first.

Writes nothing and takes no locks. A page looks at a bounded number of entries, so its cost does not depend on how rare
is what is looked for; where nothing was found yet, it says from where to go on.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from heapq import merge
from itertools import islice
from typing import Any

from runs.chain import rfc3339
from runs.models import AuthorityChange
from runs.transactions import execute, fetch_row

JSON = Any

#: How many ledger entries one page looks at, those that do not fit included.
SCANNED_AT_ONCE = 20_000
_BEYOND = 2**63 - 1

_FITS = """
    r.workflow = ANY(%(workflows)s) AND (%(actor)s = '' OR s.actor = %(actor)s) AND starts_with(s.kind, %(kind)s)
    AND (%(since)s::timestamptz IS NULL OR s.at >= %(since)s) AND (%(until)s::timestamptz IS NULL OR s.at < %(until)s)
"""
_READ = f"""
, found AS (
    SELECT s.feed_xid, s.run_id, s.seq, r.key, r.workflow FROM scanned s JOIN runs_run r ON r.id = s.run_id
    WHERE {_FITS} ORDER BY s.feed_xid DESC, s.run_id DESC, s.seq DESC LIMIT %(limit)s
), last AS (
    SELECT scanned.feed_xid::text, run_id, seq, at FROM scanned ORDER BY scanned.feed_xid, run_id, seq LIMIT 1
)
SELECT (SELECT count(*) FROM scanned), last.*, f.feed_xid::text, f.run_id, f.seq, f.key, f.workflow,
       e.version, e.kind, e.actor, e.command_id, e.at, e.body, e.body_sha256, e.prev_hash, e.hash
FROM last LEFT JOIN found f ON true LEFT JOIN runs_ledgerentry e ON e.run_id = f.run_id AND e.seq = f.seq
ORDER BY f.feed_xid DESC, f.run_id DESC, f.seq DESC
"""
_SCAN = """
WITH scanned AS (
    SELECT feed_xid, run_id, seq, at, kind, actor FROM runs_ledgerentry
    WHERE (feed_xid, run_id, seq) < (%(xid)s::text::xid8, %(run)s, %(seq)s)
    ORDER BY feed_xid DESC, run_id DESC, seq DESC LIMIT %(scan)s
)
"""
_SCAN_OF_RUN = """
WITH scanned AS (
    SELECT feed_xid, run_id, seq, at, kind, actor FROM runs_ledgerentry
    WHERE run_id = (SELECT id FROM runs_run WHERE key = %(key)s) AND seq < %(seq)s
    ORDER BY seq DESC LIMIT %(scan)s
)
"""
_NEWEST_BEFORE = "SELECT max(feed_xid)::text FROM runs_ledgerentry WHERE at < %s AND at >= %s"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What somebody looks for. Changes of authority are told only to those who oversee the installation."""

    workflows: Collection[str]
    with_authority: bool
    actor: str = ""
    kind: str = ""  # the beginning of it
    run: str = ""
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """How far both sources were read: the ledger before this entry, changes of authority before this one."""

    xid: int = _BEYOND
    run: int = _BEYOND
    seq: int = 2**31 - 1
    change: int = _BEYOND


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that somebody did."""

    at: datetime
    actor: str
    kind: str
    subject: str  # the key of a run, or what authority was about
    reason: str
    workflow: str = ""
    version: int | None = None
    seq: int | None = None
    command_id: str | None = None
    is_erased: bool = False
    without_second_person: bool = False
    hashes: tuple[str, str, str] = ("", "", "")  # of the body, of the entry before, of the entry

    @property
    def is_of_run(self) -> bool:
        return self.seq is not None

    def as_json(self) -> dict[str, JSON]:
        body_sha256, prev_hash, entry_hash = self.hashes
        return {
            "at": rfc3339(self.at),
            "actor": self.actor,
            "kind": self.kind,
            "subject": self.subject,
            "workflow": self.workflow or None,
            "version": self.version,
            "seq": self.seq,
            "command_id": self.command_id,
            "reason": self.reason or None,
            "erased": self.is_erased,
            "without_second_person": self.without_second_person,
            "body_sha256": body_sha256 or None,
            "prev_hash": prev_hash or None,
            "hash": entry_hash or None,
        }


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some lines, the newest first, and the place to go on from; None when nothing follows."""

    lines: tuple[Line, ...]
    next: Place | None


def read_audit(wanted: Wanted, place: Place | None, limit: int) -> Stretch:
    """At most `limit` lines before a place. A stretch may be empty and still have a next place: look further."""
    begun = place or _begin(wanted)
    scan = _scan(wanted, begun, limit)
    changes = _changes(wanted, begun, limit)
    if scan.is_cut and scan.end is not None:
        reached = scan.end_at
        changes = [marked for marked in changes if reached is None or marked[0].at >= reached]
    taken = list(islice(merge(scan.found, changes, key=lambda marked: marked[0].at, reverse=True), limit))
    lines = tuple(line for line, _ in taken)
    after = _after(begun, [mark for _, mark in taken])
    if len(taken) == limit:
        return Stretch(lines, after)
    if not scan.is_cut or scan.end is None:
        return Stretch(lines, None)
    return Stretch(lines, replace(scan.end, change=after.change))


_Marked = tuple[Line, Place]


@dataclass(frozen=True, slots=True)
class _Scan:
    """What a look at the ledger gave: the entries that fit, where it ended, and whether more lies beyond."""

    found: list[_Marked]
    end: Place | None = None
    end_at: datetime | None = None
    is_cut: bool = False


def _begin(wanted: Wanted) -> Place:
    """Where to begin: at the newest, or at the newest before the end of the time that is asked for."""
    if wanted.until is None or wanted.run:
        return Place()
    for days in (1, 30, 3650):
        (xid,) = fetch_row(_NEWEST_BEFORE, [wanted.until, wanted.until - timedelta(days=days)])
        if xid is not None:
            return Place(xid=int(xid))
    return Place(xid=0)


def _scan(wanted: Wanted, begun: Place, limit: int) -> _Scan:
    statement = (_SCAN_OF_RUN if wanted.run else _SCAN) + _READ
    params = {
        "workflows": list(wanted.workflows),
        "actor": wanted.actor,
        "kind": wanted.kind,
        "key": wanted.run,
        "since": wanted.since,
        "until": wanted.until,
        "xid": str(begun.xid),
        "run": begun.run,
        "seq": begun.seq,
        "scan": SCANNED_AT_ONCE,
        "limit": limit,
    }
    rows = execute(statement, params).fetchall()
    if not rows:
        return _Scan([])
    count, xid, run, seq, at = rows[0][:5]
    found = [(_line(row[7:]), Place(int(row[5]), row[6], row[7])) for row in rows if row[5] is not None]
    is_past = wanted.since is not None and at < wanted.since - timedelta(hours=1)  # ends and begins differ in order
    return _Scan(found, Place(int(xid), run, seq), at, is_cut=count == SCANNED_AT_ONCE and not is_past)


def _line(row: Sequence[Any]) -> Line:
    seq, key, workflow, version, kind, actor, command_id, at, body, body_sha256, prev_hash, entry_hash = row
    told: dict[str, JSON] = {} if body is None else json.loads(bytes(body))
    return Line(
        at=at,
        actor=actor,
        kind=kind,
        subject=key,
        reason=told.get("note") or told.get("reason") or "",
        workflow=workflow,
        version=version,
        seq=seq,
        command_id=command_id,
        is_erased=body is None,
        hashes=(body_sha256, prev_hash, entry_hash),
    )


def _changes(wanted: Wanted, begun: Place, limit: int) -> list[_Marked]:
    """The changes of authority that fit."""
    if not wanted.with_authority or wanted.run:
        return []
    rows = AuthorityChange.objects.filter(id__lt=begun.change, kind__startswith=wanted.kind)
    if wanted.actor:
        rows = rows.filter(actor=wanted.actor)
    if wanted.since:
        rows = rows.filter(at__gte=wanted.since)
    if wanted.until:
        rows = rows.filter(at__lt=wanted.until)
    return [(_change_line(row), Place(change=row.pk)) for row in rows.order_by("-id")[:limit]]


def _change_line(row: AuthorityChange) -> Line:
    return Line(
        at=row.at,
        actor=row.actor,
        kind=row.kind,
        subject=row.subject,
        reason=row.reason,
        without_second_person=row.without_second_person,
    )


def _after(begun: Place, marks: Sequence[Place]) -> Place:
    """The place after everything that was taken from both sources."""
    entries = [mark for mark in marks if mark.xid != _BEYOND]
    changes = [mark.change for mark in marks if mark.change != _BEYOND]
    ledger = entries[-1] if entries else begun
    return replace(ledger, change=changes[-1] if changes else begun.change)
