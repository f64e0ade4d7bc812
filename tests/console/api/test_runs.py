"""`/runs/`: creating, listing, reading, and the next steps."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries as Queries

from runs.administration import set_halt
from runs.models import LedgerEntry, Run
from tests import cast
from tests.console.api.caller import Caller, Response, as_agent, as_nobody, as_person, problem, told

pytestmark = pytest.mark.django_db

BODY = {
    "id": "new-1",
    "workflow": "refund",
    "key": "R-42",
    "fields": {"recipient": "Ana Lima"},
    "reason": "A customer wrote.",
    "evidence": ["mail:17"],
}


@pytest.fixture
def clerk() -> Caller:
    """An agent that takes cases in and writes notes."""
    cast.workflow()
    return as_agent(cast.agent("clerk", scopes=("refund:intake", "refund:note")))


def create(caller: Caller, **changed: Any) -> Response:
    return caller.post("/runs/", BODY | changed)


# ---- creating --------------------------------------------------------------------------------------------


def test_a_new_run_is_received_at_version_one_with_every_field(clerk: Caller) -> None:
    response = create(clerk)

    body = told(response, 201)
    assert response.headers["ETag"] == '"1.1"'
    assert body == told(clerk.get("/runs/R-42/"))
    assert (body["key"], body["workflow"], body["workflow_revision"]) == ("R-42", "refund", 1)
    assert (body["status"], body["label"], body["version"], body["input_version"]) == ("received", "new", 1, 1)
    assert body["fields"] == {
        "assigned_owner": None,
        "case_state": "open",
        "category": None,
        "contact_attempts": 0,
        "currency": "EUR",
        "messages": [],
        "notes": [],
        "recipient": "Ana Lima",
        "refund_amount": None,
        "tags": [],
    }
    assert (body["active_snapshot"], body["effect"]) == (None, None)
    assert LedgerEntry.objects.get().actor == "agent:clerk"


@pytest.mark.parametrize("number", ["new-1", "new-2"])
def test_the_same_run_again_is_found_as_it_is_now(clerk: Caller, number: str) -> None:
    create(clerk)
    cast.command(cast.ada(), "R-42", "add-tag", tag="vip")

    response = create(clerk, id=number)

    body = told(response)
    assert (body["version"], response.headers["ETag"], response.headers["Idempotent-Replayed"]) == (2, '"1.2"', "true")
    assert Run.objects.count() == 1


@pytest.mark.parametrize("changed", [{"fields": {"recipient": "Ana Silva"}}, {"fields": {}}])
def test_a_key_that_is_taken_by_other_content_is_refused(clerk: Caller, changed: dict[str, Any]) -> None:
    create(clerk)

    problem(create(clerk, **changed), 409, "run-exists")


@pytest.mark.parametrize(
    ("changed", "status", "code", "pointer"),
    [
        ({"key": "R 42"}, 422, "invalid-params", "/key"),
        ({"key": "x" * 65}, 422, "invalid-params", "/key"),
        ({"key": "R-42\n"}, 422, "invalid-params", "/key"),
        ({"key": 42}, 422, "invalid-params", "/key"),
        ({"reason": " "}, 422, "invalid-params", "/reason"),
        ({"fields": {"colour": "red"}}, 422, "invalid-params", "/fields/colour"),
        ({"fields": {"recipient": ""}}, 422, "invalid-params", "/fields/recipient"),
        ({"fields": {"recipient": 7}}, 422, "invalid-params", "/fields/recipient"),
        ({"fields": []}, 422, "invalid-params", "/fields"),
        ({"id": "a b"}, 400, "malformed", "/id"),
        ({"status": "approved"}, 400, "malformed", "/status"),
        ({"created_by": "user:ada"}, 400, "malformed", "/created_by"),
    ],
)
def test_a_member_that_is_not_as_it_should_be_is_named(
    clerk: Caller, changed: dict[str, Any], status: int, code: str, pointer: str
) -> None:
    refused = problem(create(clerk, **changed), status, code)

    assert refused["errors"][0]["pointer"] == pointer
    assert not Run.objects.exists()


def test_items_of_a_first_log_have_ids_of_their_own(clerk: Caller) -> None:
    message = {"id": "m1", "from": "customer", "text": "Hello."}

    refused = problem(create(clerk, fields={"messages": [message, message]}), 422, "invalid-params")

    assert refused["errors"] == [
        {"pointer": "/fields/messages", "code": "item-id-reused", "detail": "Two items have the same id."}
    ]


def test_fields_beyond_what_a_run_holds_are_refused(clerk: Caller) -> None:
    messages = [{"id": f"m{number}", "from": "customer", "text": "x" * 20_000} for number in range(14)]

    problem(create(clerk, fields={"messages": messages}), 422, "fields-too-large")


def test_an_idempotency_key_must_say_what_the_id_says(clerk: Caller) -> None:
    problem(clerk.post("/runs/", BODY, headers={"Idempotency-Key": "other"}), 400, "malformed")
    assert clerk.post("/runs/", BODY, headers={"Idempotency-Key": "new-1"}).status_code == 201


def test_a_precondition_is_of_no_concern_to_a_new_run(clerk: Caller) -> None:
    assert clerk.post("/runs/", BODY, tag="*").status_code == 201


def test_only_those_with_the_scope_create() -> None:
    cast.workflow()
    reader = as_agent(cast.agent("reader", scopes=("refund:note",)))

    assert problem(create(reader), 403, "scope-missing")["missing"] == "refund:intake"
    problem(create(as_person(cast.ben())), 403, "scope-missing")
    problem(create(as_nobody()), 401, "unauthenticated")


def test_a_first_value_needs_the_scope_of_a_command_that_writes_it(clerk: Caller) -> None:
    refused = problem(create(clerk, fields={"category": "billing"}), 403, "scope-missing")

    assert refused["missing"] == "refund:classify"


def test_a_workflow_that_may_not_be_seen_does_not_exist(clerk: Caller) -> None:
    cast.workflow("report")

    for workflow in ("report", "nonsense"):
        problem(create(clerk, workflow=workflow), 404, "not-found")


def test_a_halt_stops_the_intake_of_agents(clerk: Caller) -> None:
    set_halt(True, cast.SETUP)

    problem(create(clerk), 403, "halted")


# ---- reading one -----------------------------------------------------------------------------------------


def test_a_reader_who_has_the_version_already_is_told_so() -> None:
    cast.run_working()
    ada = as_person(cast.ada())

    same = ada.get("/runs/R-42/", headers={"If-None-Match": '"1.1", "1.2"'})
    older = ada.get("/runs/R-42/", headers={"If-None-Match": '"1.1"'})

    assert (same.status_code, same.content, same.headers["ETag"]) == (304, b"", '"1.2"')
    assert (older.status_code, older.headers["ETag"]) == (200, '"1.2"')


def test_a_representation_is_never_compressed_on_the_way() -> None:
    cast.run_working()

    response = as_person(cast.ada()).get("/runs/R-42/", headers={"Accept-Encoding": "gzip, br"})

    assert "Content-Encoding" not in response.headers
    assert "no-transform" in response.headers["Cache-Control"]
    assert not response.headers["ETag"].startswith("W/")


def test_a_representation_depends_on_nothing_but_the_version() -> None:
    cast.run_with_open_case()
    before = as_person(cast.ada()).get("/runs/R-42/")

    cast.command(cast.agent("other").principal, "R-42", "set-category", category="other")  # held: the ledger moves

    after = as_person(cast.ben()).get("/runs/R-42/")
    assert (before.content, before.headers["ETag"]) == (after.content, after.headers["ETag"])


def test_a_run_is_seen_by_those_of_its_workflow_by_admins_and_by_auditors() -> None:
    cast.run_received()
    stranger = cast.agent("stranger", workflows=("report",))

    for person in (cast.ada(), cast.ben(), cast.dora(), cast.eli()):
        assert as_person(person).get("/runs/R-42/").status_code == 200
    problem(as_person(cast.cy()).get("/runs/R-42/"), 404, "not-found")
    problem(as_agent(stranger).get("/runs/R-42/"), 404, "not-found")
    problem(as_nobody().get("/runs/R-42/"), 401, "unauthenticated")


@pytest.mark.parametrize("key", ["R-43", "R 42", "x" * 65, "10000000000000000000000", "-1", "４２"])
@pytest.mark.parametrize("below", ["", "next/", "ledger/"])
def test_a_run_that_does_not_exist_is_not_found(key: str, below: str) -> None:
    cast.run_received()

    problem(as_person(cast.ada()).get(f"/runs/{key}/{below}"), 404, "not-found")


# ---- next steps ------------------------------------------------------------------------------------------


def test_the_next_steps_are_those_of_whoever_asks(clerk: Caller) -> None:
    cast.run_working()

    body = told(clerk.get("/runs/R-42/next/"))

    steps = {step["step"]: step for step in body["steps"]}
    assert (body["version"], body["held"]) == (2, [])
    assert body["expires_at"].endswith("Z")
    assert steps["command:add-note"] | {"legal": True, "by": "refund:note"} == steps["command:add-note"]
    assert steps["command:set-category"]["because"] == "This needs the scope refund:classify."
    assert steps["action:pay"]["legal"] is False


def test_what_an_open_case_holds_is_named() -> None:
    cast.run_with_open_case()

    assert told(as_person(cast.ada()).get("/runs/R-42/next/"))["held"] == ["category"]


def test_an_ended_run_allows_nothing_and_never_expires() -> None:
    cast.run_cancelled()

    body = told(as_person(cast.ada()).get("/runs/R-42/next/"))

    assert [step for step in body["steps"] if step["legal"]] == []
    assert body["expires_at"] is None


# ---- listing ---------------------------------------------------------------------------------------------


def keys(response: Response) -> list[str]:
    return [item["key"] for item in told(response)["items"]]


def test_runs_are_listed_newest_first_and_only_those_that_may_be_seen(clerk: Caller) -> None:
    cast.run_received("R-1")
    cast.run_received("P-1", "report", question="q", audience="a")
    cast.run_received("R-2")

    assert keys(clerk.get("/runs/")) == ["R-2", "R-1"]
    assert keys(as_person(cast.eli()).get("/runs/")) == ["R-2", "P-1", "R-1"]
    assert keys(as_person(cast.cy()).get("/runs/")) == []
    problem(as_nobody().get("/runs/"), 401, "unauthenticated")


def test_runs_are_filtered(clerk: Caller) -> None:
    cast.run_working("R-1")
    cast.run_received("X-2")

    assert keys(clerk.get("/runs/", {"status": "working"})) == ["R-1"]
    assert keys(clerk.get("/runs/", {"q": "X"})) == ["X-2"]
    assert keys(clerk.get("/runs/", {"workflow": "refund"})) == ["X-2", "R-1"]
    assert keys(clerk.get("/runs/", {"workflow": "report"})) == []


def test_pages_lead_through_the_whole_list_once(clerk: Caller) -> None:
    for number in range(5):
        cast.run_received(f"R-{number}")

    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        body = told(clerk.get("/runs/", {"limit": "2", "cursor": cursor}))
        found += [item["key"] for item in body["items"]]
        cursor = body["next"]

    assert found == ["R-4", "R-3", "R-2", "R-1", "R-0"]


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ({"cursor": "WzFd.forged"}, 400, "malformed"),
        ({"status": "lost"}, 400, "malformed"),
        ({"limit": "many"}, 400, "malformed"),
        ({"limit": "0"}, 422, "invalid-params"),
        ({"limit": "1000000000"}, 400, "malformed"),
        ({"limit": "201"}, 422, "invalid-params"),
        ({"owner__password": "x"}, 400, "malformed"),
    ],
)
def test_a_list_is_asked_only_what_it_knows(clerk: Caller, query: dict[str, str], status: int, code: str) -> None:
    problem(clerk.get("/runs/", query), status, code)


@pytest.mark.parametrize("count", [2, 20])
def test_a_page_takes_as_many_queries_whatever_it_holds(
    clerk: Caller, count: int, django_assert_num_queries: Queries
) -> None:
    for number in range(count):
        cast.run_received(f"R-{number}")
    clerk.get("/runs/")

    # who asks, the epoch of what they see, the runs
    with django_assert_num_queries(3):
        assert len(keys(clerk.get("/runs/"))) == count


def test_no_method_but_those_of_the_contract_is_taken(clerk: Caller) -> None:
    cast.run_received()

    for path, allowed in (("/runs/", "GET, POST"), ("/runs/R-42/", "GET")):
        response = clerk.client.delete(f"/api/v1{path}")
        problem(response, 405, "method-not-allowed")
        assert set(allowed.split(", ")) <= set(response.headers["Allow"].split(", "))
