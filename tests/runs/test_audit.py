"""Who did what: two sources in one order, filtered, in pages that lose and repeat nothing."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from runs import audit, authority
from runs.administration import By, set_workflow_suspended
from runs.audit import Line, Place, Wanted, read_audit
from tests import cast
from tests.admins import confirmed, dan, policy_change

pytestmark = pytest.mark.django_db

BOTH = ("refund", "report")


def wanted(**filters: Any) -> Wanted:
    return Wanted(BOTH, with_authority=filters.pop("with_authority", True), **filters)


def everything(what: Wanted, limit: int = 500) -> list[Line]:
    """All pages one after the other."""
    lines: list[Line] = []
    place: Place | None = None
    for _ in range(1000):
        stretch = read_audit(what, place, limit)
        lines += stretch.lines
        place = stretch.next
        if place is None:
            return lines
    raise AssertionError("the pages never end")


def happen() -> None:
    """Entries of two runs between changes of authority."""
    cast.run_working("R-1")
    set_workflow_suspended("refund", True, By("user:dora", "It misbehaves."))
    set_workflow_suspended("refund", False, By("user:dora", "It is mended."))
    cast.run_received("R-2")
    cast.command(cast.ada(), "R-1", "add-tag", tag="vip")


def told(lines: list[Line]) -> list[tuple[str, str]]:
    return [(line.kind, line.subject) for line in lines]


@pytest.mark.django_db(transaction=True)  # entries of one transaction have no order but that of their runs
def test_entries_and_changes_of_authority_stand_in_one_order_the_newest_first() -> None:
    happen()

    assert told(everything(wanted()))[:6] == [
        ("command.committed", "R-1"),
        ("run.created", "R-2"),
        ("workflow.unsuspended", "refund"),
        ("workflow.suspended", "refund"),
        ("command.committed", "R-1"),
        ("run.created", "R-1"),
    ]


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_pages_of_every_size_lose_and_repeat_nothing(limit: int) -> None:
    happen()

    assert told(everything(wanted(), limit)) == told(everything(wanted()))


@pytest.mark.parametrize("scanned", [1, 2, 3])
@pytest.mark.parametrize("limit", [1, 2, 50])
def test_a_scan_that_is_cut_short_goes_on_where_it_ended(
    scanned: int, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    happen()
    whole = told(everything(wanted()))
    rare = told(everything(wanted(kind="run.created")))

    monkeypatch.setattr(audit, "SCANNED_AT_ONCE", scanned)

    assert told(everything(wanted(), limit)) == whole
    assert told(everything(wanted(kind="run.created"), limit)) == rare


@pytest.mark.parametrize(
    ("filters", "kinds"),
    [
        ({"kind": "run."}, ["run.created", "run.created"]),
        ({"kind": "workflow."}, ["workflow.unsuspended", "workflow.suspended", "workflow.created"]),
        ({"run": "R-2"}, ["run.created"]),
        ({"run": "R-1", "kind": "command."}, ["command.committed", "command.committed"]),
        ({"run": "R-9"}, []),
        ({"actor": "user:dora"}, ["workflow.unsuspended", "workflow.suspended"]),
        ({"actor": "user:nobody"}, []),
    ],
)
def test_filters_leave_what_fits(filters: dict[str, str], kinds: list[str]) -> None:
    happen()

    assert [line.kind for line in everything(wanted(**filters))] == kinds


def test_times_cut_both_ends() -> None:
    happen()
    lines = everything(wanted())
    middle = next(line for line in lines if line.kind == "workflow.suspended").at

    later = everything(wanted(since=middle))
    earlier = everything(wanted(until=middle))

    assert told(later) + told(earlier) == told(lines)
    assert later[-1].kind == "workflow.suspended"


def test_a_time_before_anything_happened_has_nothing() -> None:
    happen()
    _, now = authority.epoch_and_now()

    assert everything(wanted(until=now - timedelta(days=4000))) == []
    assert everything(wanted(since=now + timedelta(days=1))) == []
    assert len(everything(wanted(until=now + timedelta(days=100)))) == len(everything(wanted()))


def test_only_the_workflows_one_sees_and_authority_for_overseers_alone() -> None:
    happen()

    assert all(line.is_of_run for line in everything(wanted(with_authority=False)))
    assert everything(Wanted(("report",), with_authority=False)) == []
    assert everything(Wanted(("report",), with_authority=False, run="R-1")) == []


def test_a_line_tells_who_why_and_its_place_in_the_chain() -> None:
    happen()

    line = everything(wanted(run="R-1"))[0]

    assert (line.actor, line.version, line.seq, line.reason) == ("user:ada", 3, 3, "because the test says so")
    assert all(len(part) in (64, 71) for part in line.hashes)
    assert line.as_json()["at"] == line.at.astimezone().astimezone(tz=line.at.tzinfo).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def test_what_was_done_without_a_second_person_says_so() -> None:
    cast.workflow()

    lines = everything(wanted(kind="workflow.created"))

    assert [line.without_second_person for line in lines] == [True]


def test_a_confirmed_change_is_told_under_the_name_of_who_asked() -> None:
    cast.workflow()
    confirmed(dan(), policy_change(cast.dora(), separation="relaxed").waiting)

    (line,) = everything(wanted(kind="workflow.policy-changed"))

    assert (line.actor, line.without_second_person) == ("user:dora", False)
    assert isinstance(line.at, datetime)
