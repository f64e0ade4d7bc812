"""Cursors and pages: opaque, signed, of one list; and what a list may be asked for."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from django.test import RequestFactory, override_settings

from console.cursors import CursorType, page, read_page_request
from runs.errors import InvalidParams, Malformed

RUNS: CursorType[datetime, int] = CursorType("runs", datetime, int)
CASES: CursorType[datetime, int] = CursorType("cases", datetime, int)
AT = datetime(2026, 11, 30, 12, 0, 0, 123456, tzinfo=UTC)


def test_a_cursor_leads_back_to_its_position() -> None:
    assert RUNS.read(RUNS.write(AT, 42)) == (AT, 42)


def test_a_cursor_fits_into_an_address_as_it_is() -> None:
    cursor = RUNS.write(AT, 2**53)

    assert RequestFactory().get(f"/?cursor={cursor}").GET["cursor"] == cursor
    assert len(cursor) < 120


CHANGES: dict[str, Callable[[str], str]] = {
    "shorter": lambda cursor: cursor[:-1],
    "longer": lambda cursor: f"{cursor}A",
    "another start": lambda cursor: f"x{cursor}",
    "another case": str.swapcase,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_cursor_is_malformed(change: str) -> None:
    with pytest.raises(Malformed):
        RUNS.read(CHANGES[change](RUNS.write(AT, 42)))


@pytest.mark.parametrize("cursor", ["", ".", "a.b", "é.ü", "\x00", "x" * 100_000, "WzFd.abc"])
def test_a_cursor_nobody_gave_out_is_malformed(cursor: str) -> None:
    with pytest.raises(Malformed):
        RUNS.read(cursor)


def test_a_cursor_belongs_to_one_list_and_one_installation() -> None:
    cursor = RUNS.write(AT, 42)

    with pytest.raises(Malformed):
        CASES.read(cursor)
    with override_settings(SECRET_KEY="another"):
        elsewhere: CursorType[datetime, int] = CursorType("runs", datetime, int)
    with pytest.raises(Malformed):
        elsewhere.read(cursor)


def test_a_page_request_has_a_default_and_takes_known_filters() -> None:
    wanted = read_page_request(RequestFactory().get("/?status=working&q="), "status", "q")

    assert (wanted.limit, wanted.fetch, wanted.cursor, dict(wanted.filters)) == (50, 51, None, {"status": "working"})


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("limit=x", Malformed),
        ("limit=1.5", Malformed),
        ("limit=-1", Malformed),
        ("limit=" + "9" * 5000, Malformed),
        ("limit=0", InvalidParams),
        ("limit=201", InvalidParams),
        ("page_size=10", Malformed),
        ("limit=1&limit=2", Malformed),
    ],
)
def test_a_page_request_is_refused_for_what_the_list_has_not(query: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        read_page_request(RequestFactory().get(f"/?{query}"))


@pytest.mark.parametrize("limit", ["1", "200"])
def test_both_ends_of_the_limit_are_taken(limit: str) -> None:
    assert read_page_request(RequestFactory().get(f"/?limit={limit}")).limit == int(limit)


def test_a_page_says_whether_there_is_more() -> None:
    write = str.upper

    assert page(["a", "b", "c"], 2, lambda row: f"after-{row}", write) == {"items": ["A", "B"], "next": "after-b"}
    assert page(["a", "b"], 2, lambda row: f"after-{row}", write) == {"items": ["A", "B"], "next": None}
    assert page([], 2, str, write) == {"items": [], "next": None}
