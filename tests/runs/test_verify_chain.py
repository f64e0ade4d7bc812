"""The chain of one run: found sound as it was written, and broken wherever something was altered since."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from runs import verify_chain
from runs.queries import Entry, list_entries
from runs.values import RunReading
from runs.verify_chain import ChainReport, check_entries
from tests import cast

pytestmark = pytest.mark.django_db

Entries = list[Entry]


@pytest.fixture
def run() -> RunReading:
    """A refund with four entries."""
    cast.run_working()
    for tag in ("vip", "late"):
        cast.command(cast.ada(), "R-42", "add-tag", tag=tag)
    return cast.reading("R-42")


def checked(run: RunReading, entries: Sequence[Entry]) -> ChainReport:
    return check_entries(run.key, entries, run.head_seq, run.head_hash)


def test_a_ledger_as_it_was_written_is_sound(run: RunReading) -> None:
    report = verify_chain.verify_chain(run)

    assert report.is_sound
    assert (report.entries, report.erased) == (4, 0)


def test_a_ledger_is_read_in_stretches(run: RunReading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify_chain, "STRETCH", 3)

    assert verify_chain.verify_chain(run).entries == 4


def test_an_older_reading_is_verified_up_to_its_own_head(run: RunReading) -> None:
    cast.command(cast.ada(), "R-42", "add-tag", tag="new")

    assert verify_chain.verify_chain(run).entries == 4


def test_an_erased_body_breaks_nothing_and_is_counted(run: RunReading) -> None:
    entries = list_entries(run.id, 10)
    entries[1] = replace(entries[1], body=None)

    report = checked(run, entries)

    assert report.is_sound
    assert report.erased == 1


def altered(seq: int, /, **values: object) -> Callable[[Entries], Entries]:
    return lambda entries: [replace(each, **values) if each.seq == seq else each for each in entries]  # type: ignore[arg-type]  # any column


ALTERATIONS: dict[str, tuple[Callable[[Entries], Entries], int]] = {
    "another actor": (altered(2, actor="user:eve"), 2),
    "another kind": (altered(2, kind="command.merged"), 2),
    "another version": (altered(2, version=3), 2),
    "another command": (altered(2, command_id="c-0"), 2),
    "another body": (altered(3, body=b"{}"), 3),
    "another hash of the body": (altered(3, body=None, body_sha256="sha256:" + "0" * 64), 3),
    "another hash": (altered(2, hash="0" * 64), 2),
    "another predecessor": (altered(3, prev_hash="0" * 64), 3),
    "another time": (lambda entries: altered(2, at=entries[1].at + timedelta(microseconds=1))(entries), 2),
    "an entry missing": (lambda entries: [each for each in entries if each.seq != 3], 4),
    "the first entry missing": (lambda entries: entries[1:], 2),
    "two entries swapped": (lambda entries: [entries[0], entries[2], entries[1], entries[3]], 3),
    "an entry twice": (lambda entries: [*entries[:2], *entries[1:]], 2),
    "the last entry missing": (lambda entries: entries[:-1], 4),
}


@pytest.mark.parametrize("what", ALTERATIONS)
def test_an_alteration_breaks_the_chain_where_it_is(run: RunReading, what: str) -> None:
    alter, at = ALTERATIONS[what]

    report = checked(run, alter(list_entries(run.id, 10)))

    assert report.fault is not None
    assert report.fault.seq == at


def test_another_head_than_the_run_names_is_found(run: RunReading) -> None:
    report = check_entries(run.key, list_entries(run.id, 10), run.head_seq, "0" * 64)

    assert report.fault is not None
    assert report.fault.words == "The run names another hash as its head."


def test_entries_of_another_run_do_not_follow(run: RunReading) -> None:
    assert not check_entries("R-43", list_entries(run.id, 10), run.head_seq, run.head_hash).is_sound
