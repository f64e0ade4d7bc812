"""What lists show of runs and ledgers, with how many queries."""

import json
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries as Queries

from runs.chain import entry_hash
from runs.digest import canonical, tagged
from runs.queries import list_entries, list_runs, represent
from tests import cast

pytestmark = pytest.mark.django_db


def keys(workflows: tuple[str, ...] = ("refund",), limit: int = 50, **wanted: Any) -> list[str]:
    return [run.key for run in list_runs(workflows, limit, **wanted)]


def test_runs_are_listed_newest_first_and_only_those_of_the_workflows_asked_for() -> None:
    cast.run_received("R-1")
    cast.run_received("P-1", "report", question="q", audience="a")
    cast.run_received("R-2")

    assert keys(("refund",)) == ["R-2", "R-1"]
    assert keys(("report",)) == ["P-1"]
    assert keys(("refund", "report")) == ["R-2", "P-1", "R-1"]
    assert keys(()) == []


def test_runs_are_filtered_by_status_and_by_the_beginning_of_their_key() -> None:
    cast.run_working("R-1")
    cast.run_received("R-2")
    cast.run_received("X_1")
    cast.run_received("X-1")

    assert keys(status="working") == ["R-1"]
    assert keys(key="R") == ["R-2", "R-1"]
    assert keys(key="X_") == ["X_1"]  # no wildcard
    assert keys(key="%") == []


def test_a_page_goes_on_below_the_last_run_of_the_one_before() -> None:
    for number in range(5):
        cast.run_received(f"R-{number}")

    first = list_runs(["refund"], 2)
    second = list_runs(["refund"], 2, before=first[-1].id)

    assert [run.key for run in first + second] == ["R-4", "R-3", "R-2", "R-1"]


def test_a_summary_says_what_the_representation_says_but_the_fields() -> None:
    run = cast.run_working(recipient="Ana Lima")
    (summary,) = list_runs(["refund"], 1)

    whole = represent(run, cast.definition())
    assert summary.as_json() == {name: value for name, value in whole.items() if name != "fields"}
    assert whole["label"] == "in handling"
    assert whole["fields"]["recipient"] == "Ana Lima"


@pytest.mark.parametrize("count", [2, 20])
def test_listing_takes_one_query_however_many_there_are(count: int, django_assert_num_queries: Queries) -> None:
    for number in range(count):
        cast.run_received(f"R-{number}")
    cast.definition()

    with django_assert_num_queries(1):
        listed = [run.as_json() for run in list_runs(["refund"], 50)]
    assert len(listed) == count


def test_the_ledger_is_told_in_order_and_goes_on_after_an_entry() -> None:
    run = cast.run_working()

    assert [entry.kind for entry in list_entries(run.id, 50)] == ["run.created", "command.committed"]
    assert [entry.seq for entry in list_entries(run.id, 50, after=1)] == [2]
    assert [entry.seq for entry in list_entries(run.id, 1)] == [1]
    assert list_entries(run.id, 50, after=2) == []


def test_what_is_told_of_an_entry_is_enough_to_verify_its_hashes() -> None:
    run = cast.run_working()
    told = [entry.as_json() for entry in list_entries(run.id, 50)]

    for entry in told:
        head = {name: entry[name] for name in entry if name not in ("body", "hash")}
        assert entry["body_sha256"] == tagged(canonical(entry["body"]))
        assert entry["hash"] == entry_hash(run.key, head)
    assert told[1]["prev_hash"] == told[0]["hash"]
    assert json.dumps(told)
