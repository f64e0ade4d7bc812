"""`/events/`: the feed over HTTP. That it misses nothing is shown where it is read, in `tests/runs/test_feed.py`."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries as Queries

from runs.models import Installation
from tests import cast
from tests.console.api.caller import Caller, as_agent, as_nobody, as_person, problem, told
from tests.feeding import await_feed

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def bot() -> Caller:
    """An agent of refunds; two refunds have two entries each, and there is a report."""
    cast.run_working("R-1")
    cast.run_working("R-2")
    cast.run_received("P-1", "report", question="q", audience="a")
    return as_agent(cast.agent())


def follow(caller: Caller, **query: Any) -> tuple[list[dict[str, Any]], str]:
    """Everything from a cursor on, and the cursor used last."""
    await_feed()
    found: list[dict[str, Any]] = []
    while True:
        body = told(caller.get("/events/", query))
        found += body["items"]
        if body["next"] is None:
            return found, query["after"]
        query["after"] = body["next"]


def test_the_feed_tells_the_entries_of_all_visible_runs_with_their_run(bot: Caller) -> None:
    events, _ = follow(bot)

    assert [(event["run"], event["seq"]) for event in events] == [("R-1", 1), ("R-1", 2), ("R-2", 1), ("R-2", 2)]
    ledger = told(bot.get("/runs/R-1/ledger/"))["items"]
    assert [event for event in events if event["run"] == "R-1"] == [{"run": "R-1", **entry} for entry in ledger]


def test_following_goes_on_where_it_stopped(bot: Caller) -> None:
    _, cursor = follow(bot, limit="3")
    assert told(bot.get("/events/", {"after": cursor})) == {"items": [], "next": None}

    cast.command(cast.ada(), "R-1", "add-tag", tag="vip")

    events, _ = follow(bot, after=cursor)
    assert [(event["run"], event["seq"]) for event in events] == [("R-1", 3)]


def test_the_feed_shows_each_caller_their_own_workflows(bot: Caller) -> None:
    everything, _ = follow(as_person(cast.eli()))

    assert {event["run"] for event in everything} == {"R-1", "R-2", "P-1"}
    assert told(as_person(cast.cy()).get("/events/")) == {"items": [], "next": None}
    problem(as_nobody().get("/events/"), 401, "unauthenticated")


def test_a_cursor_of_before_a_restore_is_refused_in_words(bot: Caller) -> None:
    _, cursor = follow(bot)
    Installation.objects.update(ledger_epoch=2)

    refused = problem(bot.get("/events/", {"after": cursor}), 400, "malformed")

    assert refused["errors"][0]["code"] == "epoch"
    assert "from its beginning" in refused["detail"]
    assert len(follow(bot)[0]) == 4


@pytest.mark.parametrize("query", [{"after": "forged"}, {"after": "1"}, {"since": "yesterday"}, {"limit": "x"}])
def test_a_forged_cursor_and_an_unknown_parameter_are_refused(bot: Caller, query: dict[str, str]) -> None:
    problem(bot.get("/events/", query), 400, "malformed")


@pytest.mark.parametrize("count", [2, 20])
def test_a_stretch_takes_as_many_queries_whatever_it_holds(count: int, django_assert_num_queries: Queries) -> None:
    cast.run_received()
    for number in range(count - 1):
        cast.command(cast.ada(), "R-42", "add-tag", tag=f"t{number}")
    bot = as_agent(cast.agent())
    bot.get("/events/")
    await_feed()

    # who asks, the epochs of ledger and authority; the feed itself is read past Django's cursor
    with django_assert_num_queries(3):
        assert len(told(bot.get("/events/"))["items"]) == count
