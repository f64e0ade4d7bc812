"""`/runs/{key}/commands/`: every outcome, and every way in which a command is turned away."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from pytest_django import DjangoAssertNumQueries as Queries
from structlog.testing import capture_logs

from runs.administration import set_agent_active, set_halt, set_workflow_suspended
from runs.models import Agent, Conflict, Episode, Installation, LedgerEntry
from tests import cast
from tests.console.api.caller import Caller, Response, as_agent, as_nobody, as_person, problem, told

pytestmark = pytest.mark.django_db

PATH = "/runs/R-42/commands/"
BODY = {"id": "c-1", "name": "set-category", "params": {"category": "billing"}, "reason": "It is about an invoice."}


@pytest.fixture
def bot() -> Caller:
    """An agent that may do everything to refunds; the run R-42 is new."""
    caller = as_agent(cast.agent())
    cast.run_received()
    return caller


def send(caller: Caller, tag: str | None = '"1.1"', **changed: Any) -> Response:
    return caller.post(PATH, BODY | changed, tag=tag)


# ---- what becomes of a command ---------------------------------------------------------------------------


def test_a_command_on_the_current_version_is_committed(bot: Caller) -> None:
    response = send(bot)

    body = told(response, 201)
    assert response.headers["ETag"] == '"1.2"'
    assert "Idempotent-Replayed" not in response.headers
    assert body["run"] == told(bot.get("/runs/R-42/"))
    assert {name: body[name] for name in body if name != "run"} == {
        "id": "c-1",
        "outcome": "committed",
        "base_version": 1,
        "version": 2,
        "changed": {
            "category": {"from": None, "to": "billing"},
            "status": {"from": "received", "to": "working"},
        },
        "consent": None,
    }


def test_a_command_that_changes_nothing_is_unchanged_and_steps_no_version(bot: Caller) -> None:
    send(bot)
    response = send(bot, tag='"1.2"', id="c-2")

    body = told(response)
    assert (body["outcome"], body["version"], body["run"]["version"]) == ("unchanged", 2, 2)
    assert response.headers["ETag"] == '"1.2"'


def test_a_stale_command_that_touches_nothing_of_what_changed_is_merged(bot: Caller) -> None:
    cast.command(cast.ada(), "R-42", "add-tag", tag="vip")
    body = told(send(bot), 201)

    assert (body["outcome"], body["base_version"], body["merged_onto"], body["version"]) == ("merged", 1, 2, 3)
    assert {item["field"] for item in body["changed_since_base"]} == {"tags", "status"}
    assert told(bot.get(f"/conflicts/{body['conflict']}/"))["disposition"] == "merge"


def test_a_stale_command_that_must_read_again_is_refused_with_all_it_needs_to_know(bot: Caller) -> None:
    message = {"id": "m1", "from": "customer", "text": "The lid is broken."}
    cast.command(cast.ada(), "R-42", "add-message", message=message, id_="c-message")

    body = problem(send(bot), 412, "version-conflict")

    assert {name: body[name] for name in ("run", "command_id", "base_version", "current_version", "current_etag")} == {
        "run": "R-42",
        "command_id": "c-1",
        "base_version": 1,
        "current_version": 2,
        "current_etag": '"1.2"',
    }
    assert body["disposition"] == "retry"
    assert body["rule"] == {
        "command": "set-category",
        "name": "on_conflict[2]",
        "because": "A new message may change the category: read it first.",
    }
    assert {"field": "messages", "base": [], "current": [message], "restored": False, "version": 2}.items() <= next(
        item for item in body["changed_fields"] if item["field"] == "messages"
    ).items()
    assert (body["attempts"], body["attempts_left"], body["escalation"]) == (1, 2, None)
    assert 0 < body["seconds_left"] <= 600 and body["retry_after_ms"] > 0
    assert body["conflict"].startswith("cf-")


def test_a_stale_command_that_is_pointless_by_now_is_rejected(bot: Caller) -> None:
    cast.command(cast.ada(), "R-42", "set-category", category="billing")

    body = problem(send(bot), 412, "version-conflict")

    assert (body["disposition"], body["rule"]["name"]) == ("reject", "already-so")


def test_a_stale_command_against_anothers_decision_is_escalated(bot: Caller) -> None:
    cast.command(cast.ada(), "R-42", "set-category", category="damage")

    body = problem(send(bot), 412, "version-conflict")

    number = body["escalation"]["id"]
    assert (body["disposition"], body["escalation"]["url"]) == ("escalate", f"/escalations/{number}/")
    assert told(bot.get(f"/escalations/{number}/"))["command_id"] == "c-1"


def test_what_an_open_case_holds_no_agent_writes_whatever_its_version(bot: Caller) -> None:
    cast.command(cast.ada(), "R-42", "set-category", category="damage")
    send(bot)
    other = as_agent(cast.agent("other"))

    body = problem(send(other, tag=other.tag("R-42")), 412, "version-conflict")

    assert (body["disposition"], body["rule"]["name"]) == ("escalate", "held")


def test_a_person_is_shown_the_difference_unless_they_hand_it_over() -> None:
    mara = as_person(cast.person_operating("mara"))
    cast.run_received()
    cast.command(cast.ada(), "R-42", "set-category", category="damage")

    shown = problem(send(mara), 412, "version-conflict")
    handed_over = problem(send(mara, id="c-2", hand_over=True), 412, "version-conflict")

    assert shown["disposition"] == "retry"
    assert handed_over["disposition"] == "escalate"


def test_a_used_up_budget_goes_to_a_person(bot: Caller) -> None:
    dispositions = []
    for number in range(1, 4):
        message = {"id": f"m{number}", "from": "customer", "text": "And another thing."}
        cast.command(cast.ada(), "R-42", "add-message", message=message)
        body = problem(send(bot, tag=f'"1.{number}"', id=f"c-{number}"), 412, "version-conflict")
        dispositions.append((body["disposition"], body["attempts_left"]))

    assert dispositions == [("retry", 2), ("retry", 1), ("escalate", 0)]
    assert body["rule"]["name"] == "budget-exhausted"


# ---- repeats ---------------------------------------------------------------------------------------------


def replayed(response: Response) -> bool:
    """Whether an answer says that nothing was done again; such an answer carries no tag."""
    return response.headers.get("Idempotent-Replayed") == "true" and "ETag" not in response.headers


def commit(bot: Caller) -> None:
    """c-1 ends as committed."""


def merge(bot: Caller) -> None:
    """c-1 ends as merged."""
    cast.command(cast.ada(), "R-42", "add-tag", tag="vip")


def leave(bot: Caller) -> None:
    """c-1 ends as unchanged."""
    cast.command(cast.ada(), "R-42", "set-category", category="billing")


@pytest.mark.parametrize(
    ("before", "tag", "outcome"),
    [(commit, '"1.1"', "committed"), (merge, '"1.1"', "merged"), (leave, '"1.2"', "unchanged")],
)
@pytest.mark.parametrize("again", ['"1.1"', '"1.2"', '"1.77"', '"9.1"', 'W/"1.1"'])
def test_a_repeat_of_what_took_effect_is_answered_as_at_first_whatever_its_version(
    bot: Caller, before: Callable[[Caller], None], tag: str, outcome: str, again: str
) -> None:
    before(bot)
    first = json.loads(send(bot, tag=tag).content)
    entries = LedgerEntry.objects.count()

    response = send(bot, tag=again)

    del first["run"]
    assert told(response) == first and first["outcome"] == outcome
    assert replayed(response)
    assert LedgerEntry.objects.count() == entries


@pytest.mark.parametrize(("winner", "disposition"), [("billing", "reject"), ("damage", "escalate")])
@pytest.mark.parametrize("again", ['"1.1"', '"1.2"'])
def test_a_repeat_of_what_was_rejected_or_escalated_is_refused_as_at_first(
    bot: Caller, winner: str, disposition: str, again: str
) -> None:
    cast.command(cast.ada(), "R-42", "set-category", category=winner)
    first = problem(send(bot), 412, "version-conflict")

    response = send(bot, tag=again)

    second = problem(response, 412, "version-conflict")
    assert first["disposition"] == disposition
    assert second | {"correlation_id": first["correlation_id"]} == first
    assert replayed(response)


def test_a_retry_is_replayed_for_its_version_and_counted_once(bot: Caller) -> None:
    message = {"id": "m1", "from": "customer", "text": "The lid is broken."}
    cast.command(cast.ada(), "R-42", "add-message", message=message)
    first = problem(send(bot), 412, "version-conflict")

    response = send(bot)

    assert problem(response, 412, "version-conflict")["conflict"] == first["conflict"]
    assert replayed(response)
    assert Episode.objects.get().counted == 1


def test_a_retry_is_evaluated_anew_for_another_version(bot: Caller) -> None:
    message = {"id": "m1", "from": "customer", "text": "The lid is broken."}
    cast.command(cast.ada(), "R-42", "add-message", message=message)
    problem(send(bot), 412, "version-conflict")

    assert told(send(bot, tag=bot.tag("R-42")), 201)["outcome"] == "committed"


def test_a_superseded_command_is_answered_with_what_took_its_place(bot: Caller) -> None:
    cast.command(cast.ada(), "R-42", "set-category", category="damage")
    send(bot)
    send(bot, id="c-2", params={"category": "delay"})

    response = send(bot)

    body = told(response)
    assert (body["outcome"], body["resolution"]["command_id"]) == ("superseded", "c-2")
    assert replayed(response) and "run" not in body


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "assign", "params": {"assigned_owner": "ada"}},
        {"params": {"category": "damage"}},
        {"reason": "Another one."},
        {"evidence": ["message:m1"]},
        {"intent": "classify"},
        {"branch": "b"},
    ],
)
def test_an_id_stands_for_one_request(bot: Caller, changed: dict[str, Any]) -> None:
    send(bot)

    problem(send(bot, **changed), 422, "command-id-reused")


def test_an_id_is_its_principals_own(bot: Caller) -> None:
    send(bot)
    other = as_agent(cast.agent("other"))

    body = told(send(other, tag='"1.2"', params={"category": "damage"}), 201)

    assert body["outcome"] == "committed"


@pytest.mark.parametrize(
    ("body", "status"),
    [({"params": {"category": "nonsense"}}, 422), ({"name": "reopen-case", "params": {}}, 409)],
)
def test_a_refusal_that_records_nothing_leaves_the_id_free(bot: Caller, body: dict[str, Any], status: int) -> None:
    assert send(bot, **body).status_code == status

    assert told(send(bot), 201)["outcome"] == "committed"


@pytest.mark.django_db(transaction=True)
def test_a_second_delivery_while_the_first_still_runs_is_told_to_wait(bot: Caller, app_dsn: str) -> None:
    with psycopg.connect(app_dsn) as first:
        first.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", ["R-42\nagent:classifier\nc-1"])
        response = send(bot)
    problem(response, 409, "command-in-progress")
    assert int(response.headers["Retry-After"]) >= 1

    assert told(send(bot), 201)["outcome"] == "committed"


# ---- preconditions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tag", "status", "code"),
    [
        (None, 428, "precondition-required"),
        ("", 400, "malformed-precondition"),
        ("*", 400, "malformed-precondition"),
        ("1.1", 400, "malformed-precondition"),
        ("v1", 400, "malformed-precondition"),
        ('"1.1', 400, "malformed-precondition"),
        ('"1.1", "1.2"', 400, "malformed-precondition"),
        ('"1.99999999999999999999"', 400, "malformed-precondition"),
        ('W/"1.1"', 412, "weak-precondition"),
    ],
)
def test_a_precondition_is_one_strong_tag_and_never_guessed(
    bot: Caller, tag: str | None, status: int, code: str
) -> None:
    problem(send(bot, tag=tag), status, code)

    assert bot.tag("R-42") == '"1.1"'


@pytest.mark.parametrize("tag", ['"2.1"', '"1.7"', '"1.999999999"'])
def test_a_tag_of_another_epoch_or_of_the_future_matches_nothing(bot: Caller, tag: str) -> None:
    body = problem(send(bot, tag=tag), 412, "version-conflict")

    assert (body["disposition"], body["changed_fields"], body["current_etag"]) == ("retry", [], '"1.1"')


def test_no_tag_of_before_a_restore_matches(bot: Caller) -> None:
    Installation.objects.update(ledger_epoch=2)

    assert problem(send(bot), 412, "version-conflict")["disposition"] == "retry"
    assert told(send(bot, tag='"2.1"'), 201)["outcome"] == "committed"


# ---- the form --------------------------------------------------------------------------------------------


def raw(caller: Caller, body: bytes, content_type: str = "application/json") -> Response:
    return caller.client.post(f"/api/v1{PATH}", body, content_type=content_type, headers={"If-Match": '"1.1"'})


def with_category(value: str) -> bytes:
    """The body with this JSON as its category."""
    return json.dumps(BODY).replace('"billing"', value).encode()


@pytest.mark.parametrize(
    ("body", "status", "code", "pointer"),
    [
        (b"", 400, "malformed", ""),
        (b"null", 400, "malformed", ""),
        (b"[]", 400, "malformed", ""),
        (b'"x"', 400, "malformed", ""),
        (b"{", 400, "malformed", ""),
        (b"\xff{}", 400, "malformed", ""),
        (b"\xef\xbb\xbf{}", 400, "malformed", ""),
        (json.dumps(BODY).encode("utf-16"), 400, "malformed", ""),
        (with_category("NaN"), 400, "malformed", "/params/category"),
        (with_category("-Infinity"), 400, "malformed", "/params/category"),
        (with_category("1e400"), 400, "malformed", "/params/category"),
        (with_category("[" * 40 + "]" * 40), 400, "malformed", "/params/category" + "/0" * 30),
        (with_category("[" * 6000 + "]" * 6000), 400, "malformed", ""),
        (with_category("9" * 5000), 400, "malformed", "/params/category"),
        (with_category('"a", "category": "b"'), 400, "malformed", "/params/category"),
        (with_category("9007199254740993"), 422, "invalid-params", "/params/category"),
        (with_category('"\\u0000"'), 422, "invalid-params", "/params/category"),
        (with_category('"\\ud800"'), 422, "invalid-params", "/params/category"),
        (with_category('"ghp_' + "a1" * 18 + '"'), 422, "secret-in-body", "/params/category"),
    ],
)
def test_a_body_that_has_not_exactly_one_reading_is_refused_by_pointer(
    bot: Caller, body: bytes, status: int, code: str, pointer: str
) -> None:
    refused = problem(raw(bot, body), status, code)

    assert refused["errors"][0]["pointer"] == pointer
    assert bot.tag("R-42") == '"1.1"'


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_body_is_announced_as_json(bot: Caller, content_type: str) -> None:
    problem(raw(bot, json.dumps(BODY).encode(), content_type), 415, "unsupported-media-type")


def test_a_body_over_a_mebibyte_is_refused(bot: Caller) -> None:
    problem(raw(bot, with_category('"' + "x" * 1024 * 1024 + '"')), 413, "too-large")


@pytest.mark.parametrize(
    ("changed", "status", "code", "pointer"),
    [
        ({"status": "approved"}, 400, "malformed", "/status"),
        ({"actor": "user:ada"}, 400, "malformed", "/actor"),
        ({"expected_version": 1}, 400, "malformed", "/expected_version"),
        ({"id": ""}, 400, "malformed", "/id"),
        ({"id": "two words"}, 400, "malformed", "/id"),
        ({"id": "x" * 201}, 400, "malformed", "/id"),
        ({"id": 7}, 400, "malformed", "/id"),
        ({"reason": ""}, 422, "invalid-params", "/reason"),
        ({"reason": "  \n"}, 422, "invalid-params", "/reason"),
        ({"reason": None}, 422, "invalid-params", "/reason"),
        ({"reason": "x" * 5000}, 422, "invalid-params", "/reason"),
        ({"evidence": "message:m1"}, 422, "invalid-params", "/evidence"),
        ({"evidence": [7]}, 422, "invalid-params", "/evidence/0"),
        ({"params": []}, 422, "invalid-params", "/params"),
        ({"hand_over": "yes"}, 422, "invalid-params", "/hand_over"),
        ({"name": "set-colour"}, 422, "invalid-params", "/name"),
        ({"params": {"category": "nonsense"}}, 422, "invalid-params", "/params/category"),
        ({"params": {}}, 422, "invalid-params", "/params"),
        ({"params": {"category": "billing", "more": 1}}, 422, "invalid-params", "/params"),
    ],
)
def test_a_member_that_is_not_as_it_should_be_is_named(
    bot: Caller, changed: dict[str, Any], status: int, code: str, pointer: str
) -> None:
    refused = problem(send(bot, **changed), status, code)

    assert refused["errors"][0]["pointer"] == pointer


def test_an_idempotency_key_must_say_what_the_id_says(bot: Caller) -> None:
    other = bot.post(PATH, BODY, tag='"1.1"', headers={"Idempotency-Key": "c-2"})
    same = bot.post(PATH, BODY, tag='"1.1"', headers={"Idempotency-Key": "c-1"})

    problem(other, 400, "malformed")
    assert told(same, 201)["outcome"] == "committed"


def test_commands_are_sent_and_not_read_here(bot: Caller) -> None:
    response = bot.get(PATH)

    problem(response, 405, "method-not-allowed")
    assert response.headers["Allow"] == "POST"


# ---- who asks --------------------------------------------------------------------------------------------


def test_without_a_valid_credential_nothing_is_said(bot: Caller) -> None:
    problem(send(as_nobody()), 401, "unauthenticated")
    problem(send(Caller({"Authorization": "Bearer clr_unknown"})), 401, "unauthenticated")
    problem(send(Caller({"Authorization": "Basic YWRhOmFkYQ=="})), 401, "unauthenticated")


def test_two_credentials_at_once_are_none() -> None:
    agent = cast.agent()
    both = Caller({"Authorization": f"Bearer {agent.token}"}, person=cast.ada())
    cast.run_received()

    problem(send(both), 400, "malformed")


@pytest.mark.parametrize("body", [BODY, {"nonsense": True}, BODY | {"id": "two words"}])
def test_a_run_that_may_not_be_seen_does_not_exist_whatever_else_is_wrong(body: dict[str, Any]) -> None:
    outsider = as_agent(cast.agent("outsider", scopes=cast.REPORT_SCOPES, workflows=("report",)))
    cast.run_received()

    for path in (PATH, "/runs/R-43/commands/"):
        problem(outsider.post(path, body, tag="nonsense"), 404, "not-found")
        problem(as_person(cast.cy()).post(path, body, tag='"1.1"'), 404, "not-found")


@pytest.mark.parametrize("key", ["R 42", "x" * 65, "%00", "R-42%0a", "①"])
def test_what_cannot_be_a_key_is_not_found(bot: Caller, key: str) -> None:
    problem(bot.post(f"/runs/{key}/commands/", BODY, tag='"1.1"'), 404, "not-found")


def test_a_scope_that_is_missing_is_named() -> None:
    clerk = as_agent(cast.agent("clerk", scopes=("refund:note",)))
    cast.run_received()

    assert problem(send(clerk), 403, "scope-missing")["missing"] == "refund:classify"


def test_reviewers_and_admins_hold_no_scope() -> None:
    cast.run_received()

    for person in (cast.ben(), cast.dora(), cast.eli()):
        problem(send(as_person(person)), 403, "scope-missing")


@pytest.mark.parametrize(
    ("name", "params", "code"), [("reopen", {}, "agents-cannot-decide"), ("expire", {}, "forbidden")]
)
def test_what_is_a_persons_or_the_clocks_no_agent_does(
    bot: Caller, name: str, params: dict[str, Any], code: str
) -> None:
    problem(send(bot, name=name, params=params), 403, code)


def test_a_value_above_the_limit_is_a_persons(bot: Caller) -> None:
    params = {"amount": "500.01", "currency": "EUR"}
    refused = problem(send(bot, name="set-refund-amount", params=params), 403, "limit-exceeded")

    assert (refused["expected"], refused["actual"]) == ("500.00", "500.01")
    assert told(send(as_person(cast.ada()), name="set-refund-amount", params=params), 201)["outcome"] == "committed"


def test_an_agent_acts_only_for_those_who_are_granted_to_it() -> None:
    cast.ben()
    cast.person_operating("mara")
    caller = as_agent(cast.agent(grants=("mara",)))
    cast.run_received()

    problem(send(caller, on_behalf_of="ben"), 403, "forbidden")
    assert told(send(caller, on_behalf_of="mara"), 201)["outcome"] == "committed"


def test_a_suspended_agent_a_suspended_workflow_and_a_halt_each_say_so(bot: Caller) -> None:
    set_agent_active("classifier", False, cast.SETUP)
    problem(send(bot), 403, "authority-revoked")
    set_agent_active("classifier", True, cast.SETUP)

    set_workflow_suspended("refund", True, cast.SETUP)
    problem(send(bot), 403, "workflow-suspended")
    set_halt(True, cast.SETUP)
    problem(send(bot), 403, "halted")

    assert told(send(as_person(cast.ada())), 201)["outcome"] == "committed"


def test_an_expired_token_is_no_credential(bot: Caller) -> None:
    send(bot)
    Agent.objects.update(expires_at=Agent.objects.get().created_at - timedelta(seconds=1))
    Installation.objects.update(authority_epoch=99)

    problem(send(bot, id="c-2"), 401, "unauthenticated")


def test_a_token_that_was_replaced_is_refused_though_this_process_knew_it(bot: Caller) -> None:
    send(bot)
    Agent.objects.update(token_sha256="0" * 64)
    Installation.objects.update(authority_epoch=99)

    problem(send(bot, id="c-2"), 401, "unauthenticated")
    assert bot.client.get("/api/v1/runs/").status_code == 401


# ---- what the record refuses -----------------------------------------------------------------------------


def test_a_command_the_record_does_not_allow_says_what_it_allows(bot: Caller) -> None:
    refused = problem(send(bot, name="reopen-case", params={}), 409, "invalid-transition")

    assert refused["status"] == 409
    assert "set-category" in refused["next"] and "reopen-case" not in refused["next"]
    assert "only while case_state is closed; it is open" in refused["detail"]
    assert (refused["field"], refused["expected"], refused["actual"]) == ("case_state", ["closed"], "open")


def test_a_command_of_another_status_says_which_ones_it_needs(bot: Caller) -> None:
    operator = as_person(cast.ada())

    refused = problem(send(operator, name="reopen", params={}), 409, "invalid-transition")

    assert (refused["expected"], refused["actual"]) == (["sent", "failed", "revoked"], "received")


def test_an_item_with_a_known_id_and_other_content_is_refused(bot: Caller) -> None:
    send(bot, name="add-note", params={"note": {"id": "n1", "text": "First."}})
    params = {"note": {"id": "n1", "text": "Second."}}

    problem(send(bot, id="c-2", tag='"1.2"', name="add-note", params=params), 422, "item-id-reused")


def test_fields_beyond_what_a_run_holds_are_refused(bot: Caller) -> None:
    for number in range(13):
        note = {"id": f"n{number}", "text": "x" * 20_000}
        response = send(bot, id=f"c-{number}", tag=f'"1.{number + 1}"', name="add-note", params={"note": note})
        assert response.status_code == 201
    note = {"id": "n14", "text": "x" * 20_000}

    problem(send(bot, id="c-14", tag='"1.14"', name="add-note", params={"note": note}), 422, "fields-too-large")


# ---- what it costs and what it leaves in the log ---------------------------------------------------------


def test_sending_asks_the_database_for_nothing_beyond_the_action(
    bot: Caller, django_assert_num_queries: Queries
) -> None:
    send(bot)

    # The action's own statements bypass Django's cursor; what is counted here is the savepoint of its transaction.
    with django_assert_num_queries(2) as asked:
        assert send(bot, tag='"1.2"', id="c-2", params={"category": "other"}).status_code == 201
    assert {query["sql"].split()[0] for query in asked.captured_queries} == {"SAVEPOINT", "RELEASE"}


def test_each_command_leaves_one_line_with_ids_and_outcome_and_no_content(bot: Caller) -> None:
    with capture_logs() as lines:
        send(bot, branch="b-1")
        send(bot, tag='"1.2"', id="c-2", name="reopen-case", params={})
        send(bot, id="c-3", params={"category": "damage"})

    told_of = [line for line in lines if line["event"] == "command"]
    assert [(line["command_id"], line["outcome"], line["base_version"]) for line in told_of] == [
        ("c-1", "committed", 1),
        ("c-2", "invalid-transition", 2),
        ("c-3", "retry", 1),
    ]
    assert told_of[0]["branch"] == "b-1"
    assert (told_of[0]["run"], told_of[0]["current_version"]) == ("R-42", 2)
    assert "billing" not in str(lines) and "invoice" not in str(lines)


# ---- what became of it -----------------------------------------------------------------------------------


def test_the_record_of_a_command_tells_its_outcome(bot: Caller) -> None:
    committed = told(send(bot), 201)
    del committed["run"]

    record = told(bot.get(f"{PATH}c-1/"))

    assert record == {
        "id": "c-1",
        "principal": "agent:classifier",
        "state": "committed",
        "outcome": committed,
        "resolution": None,
    }


def test_the_record_of_anothers_command_is_read_by_naming_them(bot: Caller) -> None:
    send(bot)
    ada = as_person(cast.ada())

    problem(ada.get(f"{PATH}c-1/"), 404, "not-found")
    assert told(ada.get(f"{PATH}c-1/", {"principal": "agent:classifier"}))["state"] == "committed"


@pytest.mark.parametrize("command_id", ["a/b", "a/", "?#%25", "~!@$&'()*+,;=:[]"])
def test_whatever_an_id_may_hold_can_be_asked_for(bot: Caller, command_id: str) -> None:
    send(bot, id=command_id)

    quoted = "".join(f"%{byte:02X}" for byte in command_id.encode())
    assert told(bot.get(f"{PATH}{quoted}/"))["id"] == command_id


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("c-2", {}),
        ("x" * 300, {}),
        ("%00", {}),
        ("c-1", {"principal": "a b"}),
    ],
)
def test_an_id_never_seen_has_no_record(bot: Caller, path: str, query: dict[str, str]) -> None:
    send(bot)

    problem(bot.get(f"{PATH}{path}/", query), 404, "not-found")


def test_a_record_is_seen_by_those_who_see_its_run(bot: Caller) -> None:
    send(bot)

    problem(as_nobody().get(f"{PATH}c-1/"), 401, "unauthenticated")
    problem(as_person(cast.cy()).get(f"{PATH}c-1/", {"principal": "agent:classifier"}), 404, "not-found")


@pytest.mark.parametrize("wait", ["soon", "-1", "1.5", "２"])
def test_a_wait_is_a_number_of_seconds(bot: Caller, wait: str) -> None:
    problem(bot.get(f"{PATH}c-1/", {"wait": wait}), 400, "malformed")


def test_conflicts_are_kept_of_stale_commands_alone(bot: Caller) -> None:
    send(bot)
    send(bot, id="c-2", params={"category": "damage"})

    assert Conflict.objects.count() == 1
