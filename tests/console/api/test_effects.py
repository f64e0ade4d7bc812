"""`/effects/`: what is told of an effect, asking its provider, findings with evidence, and repairs after them."""

import base64
from collections.abc import Callable
from typing import Any

import pytest

from outbox.models import Effect, Lookup, Repair, Verdict
from outbox.recording import record
from runs.models import WaitingStep
from tests import cast, review
from tests.admins import dan
from tests.console.api.caller import Caller, Response, as_agent, as_person, problem, told
from tests.outbox import settling
from tests.outbox.providers.servers import Web, answer

pytestmark = pytest.mark.django_db

JSON = Any

HARD = {"recognises_repeats": False, "key_retention_seconds": None}
ADDRESS = "/effects/R-7:pay:v4/"


@pytest.fixture
def dora() -> Caller:
    """An admin."""
    return as_person(cast.dora())


def unknown(**terms: Any) -> Effect:
    """An effect that was sent once, an hour ago; nobody knows whether it happened."""
    review.destination("payments", **terms)
    return settling.let_pass(settling.attempt(review.refund_approved(), settling.UNKNOWN), hours=1)


def in_question(**terms: Any) -> Effect:
    """The same, of which a person has to find out."""
    return unknown(**HARD | terms)


def verdict(who: Caller, effect: Effect, finding: str = "happened", id: str = "v-1", **changed: JSON) -> Response:
    body = {
        "id": id, "verdict": finding, "evidence": "Statement of 4 May, line 3.", "reason": "I looked.",
        "effect_version": version_of(effect),
    }  # fmt: skip
    return who.post(f"/effects/{effect.pk}/verdicts/", body | changed)


def repair(who: Caller, effect: Effect, kind: str = "resend", id: str = "r-1", **changed: JSON) -> Response:
    body = {"id": id, "repair": kind, "reason": "It is needed.", "effect_version": version_of(effect)}
    return who.post(f"/effects/{effect.pk}/repairs/", body | changed)


def look_up(who: Caller, effect: Effect, **changed: JSON) -> Response:
    return who.post(f"/effects/{effect.pk}/lookups/", {"id": "l-1"} | changed)


def confirm(who: Caller, waiting: str, id: str = "c-1") -> Response:
    return who.post(f"/confirmations/{waiting}/", {"id": id, "reason": "I saw the statement too."})


def version_of(effect: Effect) -> int:
    return Effect.objects.values_list("version", flat=True).get(pk=effect.pk)


# ---- the list ----------------------------------------------------------------------------------------------


def listed(who: Caller, **query: Any) -> list[str]:
    return [item["operation_id"] for item in told(who.get("/effects/", query))["items"]]


@pytest.fixture
def three() -> None:
    """Of three effects, in order: one sent, one pending, one to another place."""
    settling.succeed(review.refund_approved("R-1"))
    review.refund_approved("R-2")
    review.report_approved("R-3")


@pytest.mark.usefixtures("three")
def test_effects_are_listed_the_newest_first_and_by_state_and_destination(dora: Caller) -> None:
    assert listed(dora) == ["R-3:send:v8", "R-2:pay:v4", "R-1:pay:v4"]
    assert listed(dora, state="pending") == ["R-3:send:v8", "R-2:pay:v4"]
    assert listed(dora, destination="payments") == ["R-2:pay:v4", "R-1:pay:v4"]
    assert listed(dora, state="succeeded", destination="customer-reports") == []


@pytest.mark.usefixtures("three")
def test_pages_follow_each_other_without_loss(dora: Caller) -> None:
    first = told(dora.get("/effects/", {"limit": 2}))
    second = told(dora.get("/effects/", {"limit": 2, "cursor": first["next"]}))

    names = [item["operation_id"] for item in first["items"] + second["items"]]
    assert names == ["R-3:send:v8", "R-2:pay:v4", "R-1:pay:v4"]
    assert second["next"] is None


@pytest.mark.usefixtures("three")
def test_an_agent_sees_the_effects_of_its_workflows_and_no_other(dora: Caller) -> None:
    reporter = as_agent(cast.agent("reporter", cast.REPORT_SCOPES, ("report",)))

    assert listed(reporter) == ["R-3:send:v8"]
    problem(reporter.get("/effects/R-1:pay:v4/"), 404, "not-found")
    problem(look_up(reporter, Effect.objects.get(pk="R-1:pay:v4")), 404, "not-found")


@pytest.mark.parametrize("query", [{"state": "done"}, {"cursor": "forged"}, {"limit": "0"}, {"colour": "red"}])
def test_a_list_that_cannot_be_meant_is_refused(dora: Caller, query: dict[str, str]) -> None:
    cast.workflow()

    assert dora.get("/effects/", query).status_code in (400, 422)


# ---- one effect --------------------------------------------------------------------------------------------


def test_an_effect_tells_what_was_frozen_what_was_tried_and_what_comes_next(dora: Caller) -> None:
    effect = unknown(key_retention_seconds=86400)

    body = told(dora.get(ADDRESS))

    assert base64.b64decode(body["payload_base64"]) == bytes(effect.snapshot.payload or b"")
    assert {name: body[name] for name in ("operation_id", "run", "snapshot", "state", "destination", "fence")} == {
        "operation_id": "R-7:pay:v4", "run": "R-7", "snapshot": "R-7:review:v3:c1", "state": "dispatching",
        "destination": "payments", "fence": 1,
    }  # fmt: skip
    assert (body["destination_revision"], body["idempotency_key"]) == (1, "R-7:pay:v4")
    assert (body["lease"], body["may_have_left"], body["quarantined"], body["boundary"]) == (
        None, True, False, "in-flight",
    )  # fmt: skip
    assert body["payload_sha256"] == effect.snapshot.payload_sha256
    assert (body["next_step"]["step"], body["version"]) == ("replay", effect.version)
    assert body["key_clock"]["replayable_until"] is not None
    (attempt,) = body["attempts"]
    assert (attempt["number"], attempt["fence"], attempt["outcome"], attempt["late"]) == (1, 1, "unknown", None)
    assert attempt["started_at"] < attempt["finished_at"]
    assert (body["lookups"], body["verdicts"], body["repairs"]) == ([], [], [])


def test_while_a_worker_holds_it_the_lease_is_told(dora: Caller) -> None:
    held = settling.claimed(review.refund_approved())

    body = told(dora.get(ADDRESS))

    assert body["lease"]["owner"] == "worker-1" and body["fence"] == held.fence
    assert body["attempts"][0]["outcome"] is None


def test_a_late_answer_is_told_on_its_attempt_and_changes_no_state(dora: Caller) -> None:
    held = settling.claimed(review.refund_approved())
    settling.change(Effect.objects.get(), fence=held.fence + 1)

    record(held, settling.ACCEPTED)

    body = told(dora.get(ADDRESS))
    assert body["state"] == "dispatching"
    assert body["attempts"][0]["late"]["provider_request_id"] == "p-1"


def test_what_never_was_is_not_found(dora: Caller) -> None:
    problem(dora.get("/effects/R-1:pay:v9/"), 404, "not-found")
    problem(dora.post("/effects/R-1:pay:v9/verdicts/", {}), 404, "not-found")


# ---- asking the provider -----------------------------------------------------------------------------------


def test_an_answer_of_the_provider_is_recorded_and_asked_for_once(dora: Caller) -> None:
    provider = Web(answer(200, b'{"found": true, "provider_request_id": "p-9"}'))
    with provider.on() as port:
        effect = unknown(lookup_url=f"http://localhost:{port}/lookup")
        first, again = look_up(dora, effect), look_up(dora, effect)

    body = told(first, 201)
    assert (body["answer"], body["proves"], body["provider_request_id"]) == ("found", True, "p-9")
    assert (told(again), again.headers["Idempotent-Replayed"]) == (body, "true")
    assert (Lookup.objects.count(), len(provider.requests)) == (1, 1)
    assert told(dora.get(ADDRESS))["state"] == "succeeded"


def test_where_nothing_can_be_looked_up_the_legal_steps_are_named(dora: Caller) -> None:
    refused = problem(look_up(dora, in_question()), 409, "invalid-transition")

    assert (refused["expected"], refused["actual"]) == ("look-up declared", "no look-up")
    assert refused["next"] == ["verdict:happened", "verdict:did_not_happen", "verdict:cannot_tell"]


# ---- verdicts ----------------------------------------------------------------------------------------------


def test_what_happened_with_an_id_of_the_provider_settles_it(dora: Caller) -> None:
    effect = in_question()

    first = verdict(dora, effect, provider_request_id="p-7")
    again = verdict(dora, effect, provider_request_id="p-7")

    body = told(first, 201)["effect"]
    assert (body["state"], body["next_step"]["step"], body["boundary"]) == ("succeeded", "none", "sent")
    assert (body["verdicts"][0]["verdict"], body["verdicts"][0]["by"]) == ("happened", "user:dora")
    assert (told(again)["effect"], again.headers["Idempotent-Replayed"]) == (body, "true")
    assert told(dora.get("/runs/R-7/"))["status"] == "sent"
    assert Verdict.objects.count() == 1


def test_what_happened_without_an_id_waits_for_a_second_admin_and_then_stands(dora: Caller) -> None:
    effect = in_question()

    waiting = told(verdict(dora, effect), 202)

    assert waiting["because"] == "there is no provider id"
    assert told(verdict(dora, effect), 202) == waiting
    assert problem(confirm(dora, waiting["waiting"]), 403, "separation-of-duties")["because"] == "proposer"
    assert told(dora.get(ADDRESS))["state"] == "needs_reconciliation"

    told(confirm(as_person(dan()), waiting["waiting"]), 201)

    settled = told(verdict(dora, effect), 200)["effect"]
    assert (settled["state"], settled["verdicts"][0]["confirmed_by"]) == ("succeeded", "user:dan")


def test_a_step_that_waits_is_void_when_the_effect_moves(dora: Caller) -> None:
    effect = in_question()
    waiting = told(verdict(dora, effect), 202)["waiting"]
    told(verdict(dora, effect, "cannot_tell", id="v-2"), 201)

    problem(confirm(as_person(dan()), waiting), 409, "already-decided")

    assert told(verdict(dora, effect), 200)["state"] == "void"
    assert told(dora.get(ADDRESS))["state"] == "needs_reconciliation"


def test_that_it_did_not_happen_is_not_said_before_the_provider_is_done(dora: Caller) -> None:
    review.destination("payments", **HARD)
    effect = settling.attempt(review.refund_approved(), settling.UNKNOWN)

    response = verdict(dora, effect, "did_not_happen")

    refused = problem(response, 409, "too-early")
    assert 600 < int(response.headers["Retry-After"]) <= 720
    assert refused["expected"] > refused["actual"]
    assert not Verdict.objects.exists()


def test_a_verdict_on_a_version_that_is_gone_names_where_the_effect_stands(dora: Caller) -> None:
    effect = in_question()
    told(verdict(dora, effect, "cannot_tell"), 201)

    refused = problem(verdict(dora, effect, id="v-2", effect_version=effect.version), 412, "version-conflict")

    assert (refused["base_version"], refused["current_version"]) == (effect.version, effect.version + 1)
    assert (refused["run"], refused["effect"], refused["command_id"]) == ("R-7", effect.pk, "v-2")
    assert refused["current_etag"] == dora.tag("R-7")
    members = {
        "conflict", "changed_fields", "disposition", "rule", "attempts", "attempts_left", "seconds_left",
        "retry_after_ms", "escalation",
    }  # fmt: skip
    assert members <= refused.keys()
    assert Verdict.objects.count() == 1


def test_nobody_can_tell_for_as_long_as_need_be(dora: Caller) -> None:
    effect = in_question()

    for number in (1, 2):
        body = told(verdict(dora, effect, "cannot_tell", id=f"v-{number}"), 201)["effect"]
        assert (body["state"], body["may_have_left"]) == ("needs_reconciliation", True)
    assert [item["evidence"] for item in body["verdicts"]] == ["Statement of 4 May, line 3."] * 2


def test_what_is_not_in_question_takes_no_verdict(dora: Caller) -> None:
    effect = settling.succeed(review.refund_approved())

    refused = problem(verdict(dora, effect, provider_request_id="p-7"), 409, "invalid-transition")

    assert (refused["expected"], refused["actual"], refused["next"]) == ("needs_reconciliation", "succeeded", [])


def test_the_id_of_a_verdict_stands_for_one_verdict(dora: Caller) -> None:
    effect = in_question()
    told(verdict(dora, effect, "cannot_tell"), 201)

    problem(verdict(dora, effect, provider_request_id="p-7"), 422, "command-id-reused")
    problem(repair(dora, effect, id="v-1"), 422, "command-id-reused")


@pytest.mark.parametrize(
    ("changed", "pointer"),
    [
        ({"evidence": " "}, "/evidence"),
        ({"evidence": None}, "/evidence"),
        ({"reason": ""}, "/reason"),
        ({"verdict": "maybe"}, "/verdict"),
        ({"effect_version": 0}, "/effect_version"),
    ],
)
def test_a_verdict_without_its_grounds_is_refused(dora: Caller, changed: dict[str, JSON], pointer: str) -> None:
    effect = in_question()

    refused = problem(verdict(dora, effect, **changed), 422, "invalid-params")

    assert [fault["pointer"] for fault in refused["errors"]] == [pointer]
    assert version_of(effect) == effect.version


# ---- repairs -----------------------------------------------------------------------------------------------


@pytest.fixture
def not_happened(dora: Caller) -> Effect:
    """An effect of which an admin found that it did not happen, where a repeat would be recognised."""
    effect = settling.change(
        unknown(),
        state="needs_reconciliation", next_step="person", next_at=None,
    )  # fmt: skip
    told(verdict(dora, effect, "did_not_happen", id="v-0"), 201)
    return effect


def test_what_did_not_happen_is_sent_again_on_order(dora: Caller, not_happened: Effect) -> None:
    first = repair(dora, not_happened, evidence=["ticket:4711"])
    again = repair(dora, not_happened, evidence=["ticket:4711"])

    body = told(first, 201)["effect"]
    assert (body["state"], body["next_step"]["step"], body["repairs"][0]["repair"]) == (
        "dispatching", "send", "resend",
    )  # fmt: skip
    assert (told(again)["effect"]["version"], again.headers["Idempotent-Replayed"]) == (body["version"], "true")
    assert Repair.objects.count() == 1
    entries = told(dora.get("/runs/R-7/ledger/", {"limit": 200}))["items"]
    (ordered,) = [entry["body"] for entry in entries if entry["kind"] == "repair.ordered"]
    assert ordered["evidence"] == ["ticket:4711"]


def test_what_did_not_happen_is_marked_as_failed_on_order(dora: Caller, not_happened: Effect) -> None:
    body = told(repair(dora, not_happened, "mark_failed"), 201)["effect"]

    assert (body["state"], body["next_step"]["step"]) == ("failed", "none")
    assert told(dora.get("/runs/R-7/"))["status"] == "failed"


def test_where_a_repeat_is_not_recognised_a_second_admin_confirms_the_resend(dora: Caller) -> None:
    effect = in_question()
    told(verdict(dora, effect, "did_not_happen"), 201)

    waiting = told(repair(dora, effect), 202)

    assert waiting["because"] == "the provider does not recognise repeats"
    told(confirm(as_person(dan()), waiting["waiting"]), 201)
    assert told(repair(dora, effect), 200)["effect"]["state"] == "dispatching"


def test_without_a_finding_nothing_is_sent_again(dora: Caller) -> None:
    effect = in_question()

    refused = problem(repair(dora, effect), 409, "invalid-transition")

    assert (refused["expected"], refused["actual"]) == ("did_not_happen", "no verdict")
    assert refused["next"] == ["verdict:happened", "verdict:did_not_happen", "verdict:cannot_tell"]
    assert not Repair.objects.exists()


def test_a_repair_on_a_version_that_is_gone_is_refused(dora: Caller, not_happened: Effect) -> None:
    gone = version_of(not_happened) - 1

    refused = problem(repair(dora, not_happened, effect_version=gone), 412, "version-conflict")

    assert (refused["base_version"], refused["current_version"]) == (gone, gone + 1)


# ---- who may -----------------------------------------------------------------------------------------------

ASK: list[Callable[..., Response]] = [look_up, verdict, repair]


@pytest.mark.parametrize("ask", ASK)
@pytest.mark.parametrize("who", [cast.ben, cast.ada, cast.eli])
def test_only_admins_find_out_and_repair(who: Callable[[], Any], ask: Callable[..., Response]) -> None:
    effect = in_question()

    problem(ask(as_person(who()), effect), 403, "forbidden")
    problem(ask(as_person(who()), effect, reason=" "), 403, "forbidden")


@pytest.mark.parametrize("ask", ASK)
def test_no_agent_finds_out_or_repairs_whatever_it_writes(ask: Callable[..., Response]) -> None:
    effect = in_question()
    agent = as_agent(cast.agent())

    problem(ask(agent, effect), 403, "agents-cannot-decide")
    problem(ask(agent, effect, reason=" "), 403, "agents-cannot-decide")
    assert not (WaitingStep.objects.exists() or Verdict.objects.exists() or Lookup.objects.exists())
