"""`/runs/{key}/ledger/`: in order, page by page, and enough to check the chain with."""

import pytest
from pytest_django import DjangoAssertNumQueries as Queries

from runs.chain import ORIGIN, entry_hash
from runs.digest import canonical, tagged
from runs.models import LedgerEntry
from tests import cast
from tests.console.api.caller import Caller, as_agent, as_nobody, as_person, problem, told

pytestmark = pytest.mark.django_db

PATH = "/runs/R-42/ledger/"


@pytest.fixture
def ada() -> Caller:
    """The operator; the run R-42 has three entries."""
    cast.run_working()
    cast.command(cast.ada(), "R-42", "add-tag", tag="vip")
    return as_person(cast.ada())


def test_the_ledger_tells_everything_in_order(ada: Caller) -> None:
    body = told(ada.get(PATH))

    assert [(entry["seq"], entry["version"], entry["kind"]) for entry in body["items"]] == [
        (1, 1, "run.created"),
        (2, 2, "command.committed"),
        (3, 3, "command.committed"),
    ]
    assert body["next"] is None
    assert body["items"][2]["body"]["changes"] == {"tags": {"added": ["vip"]}}


def test_a_stranger_to_the_code_can_check_the_chain(ada: Caller) -> None:
    previous = ORIGIN
    for entry in told(ada.get(PATH))["items"]:
        head = {name: entry[name] for name in entry if name not in ("body", "hash")}
        assert entry["prev_hash"] == previous
        assert entry["body_sha256"] == tagged(canonical(entry["body"]))
        assert entry["hash"] == entry_hash("R-42", head)
        previous = entry["hash"]


def test_an_erased_body_leaves_its_hash(ada: Caller) -> None:
    cast.command(cast.ada(), "R-42", "cancel")
    LedgerEntry.objects.filter(seq=2).update(body=None)

    entry = told(ada.get(PATH))["items"][1]

    assert entry["body"] is None
    assert entry["body_sha256"].startswith("sha256:")


def test_reading_goes_on_after_an_entry_or_with_a_cursor(ada: Caller) -> None:
    first = told(ada.get(PATH, {"limit": "2"}))
    second = told(ada.get(PATH, {"limit": "2", "cursor": first["next"]}))

    assert [entry["seq"] for entry in first["items"] + second["items"]] == [1, 2, 3]
    assert second["next"] is None
    assert [entry["seq"] for entry in told(ada.get(PATH, {"after": "1"}))["items"]] == [2, 3]
    assert told(ada.get(PATH, {"after": "3"})) == {"items": [], "next": None}


def test_a_cursor_of_another_run_is_refused(ada: Caller) -> None:
    cast.run_working("R-43")
    cursor = told(ada.get("/runs/R-43/ledger/", {"limit": "1"}))["next"]

    problem(ada.get(PATH, {"cursor": cursor}), 400, "malformed")


@pytest.mark.parametrize(
    "query", [{"after": "x"}, {"after": "-1"}, {"after": "9" * 10}, {"before": "3"}, {"cursor": "x"}]
)
def test_a_place_is_given_as_it_should_be(ada: Caller, query: dict[str, str]) -> None:
    problem(ada.get(PATH, query), 400, "malformed")


def test_the_ledger_is_seen_by_those_who_see_the_run(ada: Caller) -> None:
    assert as_agent(cast.agent()).get(PATH).status_code == 200
    problem(as_person(cast.cy()).get(PATH), 404, "not-found")
    problem(as_person(cast.cy()).get(PATH, {"after": "x"}), 404, "not-found")
    problem(as_nobody().get(PATH), 401, "unauthenticated")


@pytest.mark.parametrize("count", [2, 20])
def test_a_page_takes_as_many_queries_whatever_it_holds(count: int, django_assert_num_queries: Queries) -> None:
    cast.run_received()
    for number in range(count - 1):
        cast.command(cast.ada(), "R-42", "add-tag", tag=f"t{number}")
    bot = as_agent(cast.agent())
    bot.get(PATH)

    # who asks and the entries; the run itself is read past Django's cursor
    with django_assert_num_queries(2):
        assert len(told(bot.get(PATH))["items"]) == count
