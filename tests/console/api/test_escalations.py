"""`/escalations/`, reading: the queue, one case from both sides, and who may see which."""

import pytest
from pytest_django import DjangoAssertNumQueries as Queries

from runs import claims
from runs.claims import ClaimRequest
from runs.escalations import ResolutionRequest, resolve
from runs.models import Escalation
from runs.refusals import escalation_ref
from runs.verbs import Verb
from tests import cast
from tests.console.api.caller import Caller, as_agent, as_nobody, as_person, problem, told

pytestmark = pytest.mark.django_db


@pytest.fixture
def mara() -> Caller:
    """An operator without a side; R-1 has an open case about its category, R-2 one about its amount."""
    bot = cast.agent().principal
    cast.run_with_open_case("R-1", bot)
    cast.run_with_open_amount("R-2", bot)
    return as_person(cast.person_operating("mara"))


def ref(key: str) -> str:
    """The public id of the case of a run."""
    return escalation_ref(Escalation.objects.get(run__key=key).pk)


def settle(key: str, verb: Verb = Verb.KEEP) -> None:
    request = ResolutionRequest(f"r-{key}", verb, "So it is.", cast.reading(key).version, 1)
    resolve(cast.person_operating("mara"), ref(key), request)


def listed(caller: Caller, **query: str) -> list[str]:
    return [item["run"] for item in told(caller.get("/escalations/", query))["items"]]


# ---- the list --------------------------------------------------------------------------------------------


def test_open_cases_are_queued_material_ones_first(mara: Caller) -> None:
    cast.run_with_open_case("R-3", cast.agent("other").principal)

    assert listed(mara, state="open") == ["R-2", "R-1", "R-3"]


def test_cases_without_a_state_and_settled_ones_come_newest_first(mara: Caller) -> None:
    settle("R-1")

    assert listed(mara) == ["R-2", "R-1"]
    assert listed(mara, state="settled") == ["R-1"]
    assert listed(mara, state="open") == ["R-2"]
    assert listed(mara, workflow="report") == []


@pytest.mark.parametrize("state", ["", "open"])
def test_pages_lead_through_the_whole_list_once(mara: Caller, state: str) -> None:
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        body = told(mara.get("/escalations/", {"limit": "1", "cursor": cursor, "state": state}))
        found += [item["run"] for item in body["items"]]
        cursor = body["next"]

    assert found == ["R-2", "R-1"]


def test_a_line_tells_whose_case_it_is_and_why(mara: Caller) -> None:
    line = told(mara.get("/escalations/", {"state": "open"}))["items"][1]

    assert line["id"] == ref("R-1") and line["url"] == f"/escalations/{ref('R-1')}/"
    assert (line["principal"], line["command_id"], line["state"], line["version"]) == (
        "agent:classifier",
        "c-stale",
        "open",
        1,
    )
    assert line["because"] == "Somebody else has set the category since."
    assert (line["held_by"], line["held_until"], line["resolution"]) == (None, None, None)


@pytest.mark.parametrize("query", [{"state": "lost"}, {"cursor": "forged"}, {"by": "me"}])
def test_a_list_is_asked_only_what_it_knows(mara: Caller, query: dict[str, str]) -> None:
    problem(mara.get("/escalations/", query), 400, "malformed")


def test_a_cursor_of_the_queue_is_none_of_the_other_list(mara: Caller) -> None:
    cursor = told(mara.get("/escalations/", {"limit": "1", "state": "open"}))["next"]

    problem(mara.get("/escalations/", {"cursor": cursor}), 400, "malformed")


@pytest.mark.parametrize("state", ["", "open"])
@pytest.mark.parametrize("count", [2, 20])
def test_a_page_takes_as_many_queries_whatever_it_holds(
    state: str, count: int, django_assert_num_queries: Queries
) -> None:
    bot = cast.agent()
    for number in range(count):
        cast.run_with_open_case(f"R-{number}", bot.principal)
    caller = as_agent(bot)
    caller.get("/escalations/")

    # who asks, the time, the epoch of what they see, the cases
    with django_assert_num_queries(4):
        assert len(listed(caller, state=state)) == count


# ---- one case --------------------------------------------------------------------------------------------


def test_a_case_shows_base_current_and_proposal_and_what_may_be_done(mara: Caller) -> None:
    body = told(mara.get(f"/escalations/{ref('R-2')}/"))

    assert (body["base"]["version"], body["base"]["fields"]["refund_amount"]) == (1, None)
    assert (body["current"]["version"], body["current"]["etag"]) == (2, '"1.2"')
    assert body["current"]["fields"]["refund_amount"] == "30.00"
    assert body["proposal"]["params"] == {"amount": "45.00", "currency": "EUR"}
    assert body["earlier_proposals"] == [] and body["evidence"] == []
    assert {item["field"] for item in body["changed_fields"]} == {"refund_amount", "status"}
    verbs = {verb["verb"]: verb for verb in body["verbs"]}
    assert [verbs[name]["legal"] for name in ("apply", "amend", "keep", "send-back")] == [True] * 4
    assert verbs["apply"]["preview"]["changed"] == {"refund_amount": {"from": "30.00", "to": "45.00"}}


def test_a_verb_that_is_not_for_the_reader_says_why(mara: Caller) -> None:
    reviewer, operator = as_person(cast.ben()), as_person(cast.ada())

    for_reviewer = told(reviewer.get(f"/escalations/{ref('R-2')}/"))["verbs"]
    for_operator = {verb["verb"]: verb for verb in told(operator.get(f"/escalations/{ref('R-2')}/"))["verbs"]}

    assert {verb["because"] for verb in for_reviewer} == {"Only operators of this workflow settle its conflicts."}
    assert for_operator["apply"]["legal"]
    assert "You wrote the current" in for_operator["keep"]["because"]


def test_a_claim_is_visible_until_it_runs_out(mara: Caller) -> None:
    claims.claim(cast.ada(), ref("R-1"), ClaimRequest("k-1"))
    held = told(mara.get(f"/escalations/{ref('R-1')}/"))
    Escalation.objects.filter(run__key="R-1").update(claimed_until=Escalation.objects.get(run__key="R-1").opened_at)

    assert held["held_by"] == "user:ada" and held["held_until"].endswith("Z")
    assert told(mara.get(f"/escalations/{ref('R-1')}/"))["held_by"] is None


def test_the_same_claim_again_is_answered_as_a_repeat(mara: Caller) -> None:
    url = f"/escalations/{ref('R-1')}/claims/"

    first, second = mara.post(url, {"id": "k-1"}), mara.post(url, {"id": "k-1"})

    assert (first.status_code, second.status_code) == (201, 200)
    assert second.headers["Idempotent-Replayed"] == "true"
    assert told(second, 200)["held_until"] == told(first, 201)["held_until"]


def test_a_settled_case_tells_how_and_offers_nothing(mara: Caller) -> None:
    settle("R-1", Verb.APPLY)

    body = told(mara.get(f"/escalations/{ref('R-1')}/", {"wait": "20"}))

    assert body["state"] == "settled"
    assert (body["resolution"]["verb"], body["resolution"]["by"]) == ("apply", "user:mara")
    assert not any(verb["legal"] for verb in body["verbs"])


# ---- who may see it --------------------------------------------------------------------------------------


def test_people_read_the_cases_of_their_workflows(mara: Caller) -> None:
    path = f"/escalations/{ref('R-1')}/"

    for person in (cast.ben(), cast.dora(), cast.eli()):
        assert listed(as_person(person)) == ["R-2", "R-1"]
        assert as_person(person).get(path).status_code == 200
    assert listed(as_person(cast.cy())) == []
    problem(as_person(cast.cy()).get(path), 404, "not-found")
    problem(as_nobody().get(path), 401, "unauthenticated")
    problem(as_nobody().get("/escalations/"), 401, "unauthenticated")


def test_agents_read_their_own_cases_and_no_others(mara: Caller) -> None:
    other = cast.agent("other")
    cast.run_with_open_case("R-3", other.principal)

    assert listed(as_agent(other)) == ["R-3"]
    assert listed(as_agent(other), state="open") == ["R-3"]
    assert told(as_agent(other).get(f"/escalations/{ref('R-3')}/"))["run"] == "R-3"
    problem(as_agent(other).get(f"/escalations/{ref('R-1')}/"), 404, "not-found")


def test_an_agent_reads_its_case_with_no_verb_for_it(mara: Caller) -> None:
    other = cast.agent("other")
    cast.run_with_open_case("R-3", other.principal)

    body = told(as_agent(other).get(f"/escalations/{ref('R-3')}/"))

    assert {verb["legal"] for verb in body["verbs"]} == {False}


@pytest.mark.parametrize("number", ["es-1", "es-" + "0" * 32, "cf-" + "0" * 32, "1", "es-{" + "0" * 32 + "}"])
def test_what_names_no_case_is_not_found(mara: Caller, number: str) -> None:
    problem(mara.get(f"/escalations/{number}/"), 404, "not-found")


def test_a_wait_is_a_number_of_seconds(mara: Caller) -> None:
    problem(mara.get(f"/escalations/{ref('R-1')}/", {"wait": "soon"}), 400, "malformed")
