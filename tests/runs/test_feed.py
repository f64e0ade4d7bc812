"""The feed misses nothing, whatever is written while it is read. Real transactions on real connections."""

from collections.abc import Iterator

import psycopg
import pytest

from runs import feed
from runs.feed import Event, Place, read_feed
from tests import cast
from tests.feeding import await_feed

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def slow_writer(app_dsn: str) -> Iterator[psycopg.Connection]:
    """A connection as the application's role whose transaction is open and has its number already."""
    with psycopg.connect(app_dsn) as opened:
        opened.execute("SELECT pg_current_xact_id()")
        yield opened
        opened.rollback()


def told(events: tuple[Event, ...]) -> list[tuple[str, int]]:
    return [(event.run, event.entry.seq) for event in events]


def everything(workflows: tuple[str, ...] = ("refund",), limit: int = 50) -> list[tuple[str, int]]:
    """The whole feed, read stretch by stretch."""
    await_feed()
    place, found = Place(), []
    while (stretch := read_feed(workflows, place, limit)).next is not None:
        found += told(stretch.events)
        place = stretch.next
    return found


def test_the_feed_holds_every_entry_of_every_run_in_the_order_of_its_ledger() -> None:
    cast.run_received("R-1")
    cast.run_received("R-2")
    for tag in ("a", "b"):
        for key in ("R-2", "R-1"):
            cast.command(cast.ada(), key, "add-tag", tag=tag)

    found = everything()

    assert [seq for key, seq in found if key == "R-1"] == [1, 2, 3]
    assert [seq for key, seq in found if key == "R-2"] == [1, 2, 3]


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_reading_in_stretches_gives_what_one_reading_gives(limit: int) -> None:
    cast.run_working("R-1")
    cast.run_working("R-2")

    assert everything(limit=limit) == everything()


def test_an_entry_written_by_an_older_transaction_is_never_skipped(slow_writer: psycopg.Connection) -> None:
    cast.run_received("R-1")
    cast.run_received("R-2")
    before = read_feed(["refund"], Place(), 50)

    # A younger transaction commits first. Its entry must wait: the older one may still write something before it.
    cast.command(cast.ada(), "R-1", "add-tag", tag="a")
    during = read_feed(["refund"], before.next or Place(), 50)
    slow_writer.commit()
    await_feed()
    after = read_feed(["refund"], before.next or Place(), 50)

    assert told(before.events) == []
    assert told(during.events) == []
    assert told(after.events) == [("R-1", 1), ("R-2", 1), ("R-1", 2)]


def test_entries_of_older_transactions_come_before_those_of_younger_ones(app_dsn: str) -> None:
    cast.run_received("R-1")
    cast.run_received("R-2")
    await_feed()
    place = read_feed(["refund"], Place(), 50).next or Place()
    append = """
        WITH step AS (
            UPDATE runs_run SET head_seq = 2, head_hash = 'b', feed_xid = pg_current_xact_id() WHERE key = 'R-2'
            RETURNING id, feed_xid
        )
        INSERT INTO runs_ledgerentry (run_id, seq, version, kind, actor, at, touched, body_sha256, prev_hash, hash,
                                      feed_xid)
        SELECT step.id, 2, 1, 'artifact.submitted', 'agent:old', clock_timestamp(), '{}', '', before.head_hash, 'b',
               step.feed_xid
        FROM step JOIN runs_run before USING (id)
    """

    # The older transaction writes to R-2 and commits after a younger one wrote to R-1.
    with psycopg.connect(app_dsn) as older:
        older.execute(append)
        cast.command(cast.ada(), "R-1", "add-tag", tag="a")
        hidden = read_feed(["refund"], place, 50)

    assert hidden.next is None
    await_feed()
    assert told(read_feed(["refund"], place, 50).events) == [("R-2", 2), ("R-1", 2)]


def test_the_feed_ends_without_a_next_place_and_goes_on_from_the_last_one() -> None:
    cast.run_received("R-1")
    await_feed()
    first = read_feed(["refund"], Place(), 50)
    assert first.next is not None

    nothing = read_feed(["refund"], first.next, 50)
    cast.command(cast.ada(), "R-1", "add-tag", tag="a")
    await_feed()
    more = read_feed(["refund"], first.next, 50)

    assert (nothing.events, nothing.next) == ((), None)
    assert told(more.events) == [("R-1", 2)]


def test_other_workflows_are_not_shown_and_do_not_stop_the_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "SCANNED_AT_ONCE", 2)
    for key in ("P-1", "P-2", "P-3"):
        cast.run_received(key, "report", question="q", audience="a")
    cast.run_received("R-1")

    assert everything(("refund",)) == [("R-1", 1)]
    assert everything(()) == []
