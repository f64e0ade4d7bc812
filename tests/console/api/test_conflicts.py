"""`/conflicts/`: what was judged, listed and one by one."""

import pytest
from pytest_django import DjangoAssertNumQueries as Queries

from tests import cast
from tests.console.api.caller import Caller, as_agent, as_nobody, as_person, problem, told

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> Caller:
    """The operator; R-1 and R-2 each have an escalated conflict, and R-2 a rejected one."""
    bot = cast.agent().principal
    for key in ("R-1", "R-2"):
        cast.run_with_open_case(key, bot)
    cast.command(bot, "R-2", "set-category", on=1, category="billing")
    return as_person(cast.ada())


def listed(caller: Caller, **query: str) -> list[tuple[str, str]]:
    return [(item["run"], item["disposition"]) for item in told(caller.get("/conflicts/", query))["items"]]


def test_conflicts_are_listed_newest_first_and_filtered(ada: Caller) -> None:
    assert listed(ada) == [("R-2", "reject"), ("R-2", "escalate"), ("R-1", "escalate")]
    assert listed(ada, run="R-1") == [("R-1", "escalate")]
    assert listed(ada, disposition="reject") == [("R-2", "reject")]
    assert listed(ada, run="R-3") == []


def test_pages_lead_through_the_whole_list_once(ada: Caller) -> None:
    first = told(ada.get("/conflicts/", {"limit": "2"}))
    second = told(ada.get("/conflicts/", {"limit": "2", "cursor": first["next"]}))

    assert [item["run"] for item in first["items"] + second["items"]] == ["R-2", "R-2", "R-1"]
    assert second["next"] is None


def test_a_conflict_tells_its_answer_and_both_sides(ada: Caller) -> None:
    bot = as_agent(cast.agent("other"))
    cast.run_received("R-3")
    cast.command(cast.ada(), "R-3", "set-category", category="damage")
    answered = problem(bot.command("R-3", "set-category", tag='"1.1"', category="delay"), 412, "version-conflict")

    body = told(ada.get(f"/conflicts/{answered['conflict']}/"))

    for name in ("run", "command_id", "conflict", "base_version", "current_version", "current_etag", "changed_fields",
                 "disposition", "rule", "attempts", "attempts_left", "escalation", "detail"):  # fmt: skip
        assert body[name] == answered[name]
    assert (body["base"]["version"], body["base"]["fields"]["category"]) == (1, None)
    assert body["proposal"]["params"] == {"category": "delay"}
    assert body["principal"] == "agent:other"


def test_conflicts_are_seen_by_those_who_see_their_runs(ada: Caller) -> None:
    number = told(ada.get("/conflicts/"))["items"][0]["id"]
    cy = as_person(cast.cy())

    assert listed(cy) == []
    problem(cy.get(f"/conflicts/{number}/"), 404, "not-found")
    problem(as_nobody().get("/conflicts/"), 401, "unauthenticated")
    problem(as_nobody().get(f"/conflicts/{number}/"), 401, "unauthenticated")
    assert as_agent(cast.agent("reader", scopes=())).get(f"/conflicts/{number}/").status_code == 200


@pytest.mark.parametrize("number", ["cf-1", "cf-" + "0" * 32, "es-" + "0" * 32, "1", "cf-" + "０" * 32])
def test_what_names_no_conflict_is_not_found(ada: Caller, number: str) -> None:
    problem(ada.get(f"/conflicts/{number}/"), 404, "not-found")


@pytest.mark.parametrize("query", [{"disposition": "lost"}, {"cursor": "forged"}, {"principal": "agent:x"}])
def test_a_list_is_asked_only_what_it_knows(ada: Caller, query: dict[str, str]) -> None:
    problem(ada.get("/conflicts/", query), 400, "malformed")


@pytest.mark.parametrize("count", [2, 20])
def test_a_page_takes_as_many_queries_whatever_it_holds(count: int, django_assert_num_queries: Queries) -> None:
    bot = cast.agent()
    for number in range(count):
        cast.run_with_open_case(f"R-{number}", bot.principal)
    caller = as_agent(bot)
    caller.get("/conflicts/")

    # who asks, the epoch of what they see, the conflicts
    with django_assert_num_queries(3):
        assert len(listed(caller)) == count
