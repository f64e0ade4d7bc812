"""Freezing, deciding, revoking and authorizing over HTTP: every answer, every refusal, and every repeat."""

import json
from typing import Any

import pytest

from approvals.models import Decision, Shown, Snapshot
from outbox.models import Effect
from runs.administration import set_halt
from tests import cast, review
from tests.console.api.caller import Caller, Response, as_agent, as_nobody, as_person, problem, told
from tests.outbox.settling import claimed, succeed
from tests.review import REFUND, REPORT

pytestmark = pytest.mark.django_db

JSON = Any
OTHER = "sha256:" + "0" * 64
CONFLICT = {
    "run", "command_id", "conflict", "base_version", "current_version", "current_etag", "changed_fields",
    "disposition", "rule", "attempts", "attempts_left", "seconds_left", "retry_after_ms", "escalation",
}  # fmt: skip


@pytest.fixture
def agent() -> Caller:
    """The agent that prepares refunds."""
    return as_agent(cast.agent("cashier"))


@pytest.fixture
def refund(agent: Caller) -> str:
    """A refund at version 3 with its payment under review."""
    return review.refund_ready_for_review()


@pytest.fixture
def ben() -> Caller:
    return as_person(cast.ben())


def coordinator() -> Caller:
    """The agent that prepares reports."""
    return as_agent(cast.agent("coordinator", cast.REPORT_SCOPES, ("report",)))


def freeze(caller: Caller, tag: str | None, key: str = REFUND, **changed: JSON) -> Response:
    body = {"id": "f-1", "action": "pay", "reason": "It is complete."} | changed
    return caller.post(f"/runs/{key}/snapshots/", body, tag=tag)


def decide(caller: Caller, snapshot: str, *, tag: str | None = None, **changed: JSON) -> Response:
    """Approve as an API client does: with what the snapshot itself tells."""
    row = Snapshot.objects.get(pk=snapshot)
    known = told(as_person(cast.eli()).get(f"/snapshots/{snapshot}/"))
    body = {
        "id": review.number("d"), "verdict": "approve", "manifest_sha256": row.manifest_sha256,
        "run_version": row.run_version, "authority_epoch": known["authority_epoch"],
    }  # fmt: skip
    return caller.post(f"/snapshots/{snapshot}/decisions/", body | changed, tag=tag)


def look_and_decide(caller: Caller, snapshot: str, **changed: JSON) -> Response:
    caller.get(f"/snapshots/{snapshot}/")
    return decide(caller, snapshot, **changed)


def authorize(caller: Caller, snapshot: str, tag: str | None, **changed: JSON) -> Response:
    row = Snapshot.objects.select_related("run").get(pk=snapshot)
    body = {"id": review.number("z"), "snapshot": snapshot, "manifest_sha256": row.manifest_sha256, "reason": "Go."}
    return caller.post(f"/runs/{row.run.key}/authorizations/", body | changed, tag=tag)


def revoke(caller: Caller, decision: str, **changed: JSON) -> Response:
    return caller.post(f"/decisions/{decision}/revocations/", {"id": "rv-1", "reason": "Wrong."} | changed)


# ---- freezing --------------------------------------------------------------------------------------------


def test_a_freeze_answers_with_the_hashes_the_run_and_its_tag(agent: Caller) -> None:
    review.refund_working()

    response = freeze(agent, '"1.2"')

    body, row = told(response, 201), Snapshot.objects.get()
    run = body.pop("run")
    assert response.headers["ETag"] == '"1.3"'
    assert body == {
        "snapshot": "R-7:review:v3:c1", "manifest_sha256": row.manifest_sha256, "payload_sha256": row.payload_sha256,
        "standing": None, "effect": None,
    }  # fmt: skip
    assert (run["version"], run["status"], run["active_snapshot"]) == (3, "ready_for_review", row.pk)


@pytest.mark.parametrize("tag", ['"1.2"', 'W/"1.2"', '"1.1"', '"9.9"'])
def test_a_repeated_freeze_is_answered_whatever_its_tag_without_run_and_tag(agent: Caller, tag: str) -> None:
    review.refund_working()
    first = told(freeze(agent, '"1.2"'), 201)

    response = freeze(agent, tag)

    assert response.headers["Idempotent-Replayed"] == "true"
    assert "ETag" not in response.headers
    assert told(response) == {name: first[name] for name in first.keys() - {"run"}}


TAGS = [
    (None, 428, "precondition-required"),
    ("*", 400, "malformed-precondition"),
    ('"1.2", "1.2"', 400, "malformed-precondition"),
    ("1.2", 400, "malformed-precondition"),
    ("", 400, "malformed-precondition"),
    ('W/"1.2"', 412, "weak-precondition"),
    ('"2.2"', 412, "version-conflict"),
    ('"1.9"', 412, "version-conflict"),
]


@pytest.mark.parametrize(("tag", "status", "code"), TAGS)
def test_a_freeze_needs_the_one_strong_tag_of_its_version(agent: Caller, tag: str, status: int, code: str) -> None:
    review.refund_working()

    problem(freeze(agent, tag), status, code)

    assert not Snapshot.objects.exists()


@pytest.mark.parametrize("tag", [None, "*"])
def test_a_repeat_still_has_to_be_well_formed(agent: Caller, tag: str | None) -> None:
    review.refund_working()
    told(freeze(agent, '"1.2"'), 201)

    assert freeze(agent, tag).status_code in (400, 428)


def test_what_became_of_a_freeze_is_told_by_its_id(agent: Caller, refund: str) -> None:
    told(freeze(agent, '"1.3"'), 201)

    record = told(agent.get(f"/runs/{REFUND}/commands/f-1/"))

    assert (record["id"], record["principal"], record["state"]) == ("f-1", "agent:cashier", "committed")
    assert (record["outcome"]["snapshot"], record["outcome"]["outcome"]) == ("R-7:review:v4:c2", "committed")
    assert record["resolution"] is None


@pytest.mark.parametrize(
    ("changed", "status", "code", "pointer"),
    [
        ({"action": "nope"}, 422, "invalid-params", "/action"),
        ({"payload": {"a": "b"}}, 422, "invalid-params", "/payload"),
        ({"artifacts": {"research": "x"}}, 422, "invalid-params", "/artifacts"),
        ({"of": "R-7:pay:v4"}, 422, "invalid-params", "/of"),
        ({"reason": " "}, 422, "invalid-params", "/reason"),
        ({"id": "a b"}, 400, "malformed", "/id"),
        ({"proposed_by": "user:ada"}, 400, "malformed", "/proposed_by"),
    ],
)
def test_what_a_freeze_does_not_take_is_named(
    agent: Caller, changed: JSON, status: int, code: str, pointer: str
) -> None:
    review.refund_working()

    assert problem(freeze(agent, '"1.2"', **changed), status, code)["errors"][0]["pointer"] == pointer


# ---- reading ---------------------------------------------------------------------------------------------


def test_a_snapshot_tells_everything_that_deciding_needs(ben: Caller, refund: str) -> None:
    body, row = told(ben.get(f"/snapshots/{refund}/")), Snapshot.objects.get()

    assert body["manifest"] == json.loads(bytes(row.manifest))
    assert body.keys() >= {"manifest_base64", "payload_base64", "sentence", "authority_epoch"}
    assert body["consent"] == {"stands": True, "because": "stands: every fact of consent has the value that was frozen"}
    assert {name: body[name] for name in body if name.startswith("approvals_")} == {
        "approvals_needed": 1, "approvals_active": 0, "approvals_possible": 1,
    }  # fmt: skip
    assert (body["state"], body["decisions"], body["effect"]) == ("active", [], None)
    assert body["boundary"] == "before-authorization"


def test_that_a_person_was_shown_it_is_all_that_reading_writes(ben: Caller, agent: Caller, refund: str) -> None:
    agent.get(f"/snapshots/{refund}/")
    assert not Shown.objects.exists()

    ben.get(f"/snapshots/{refund}/")

    assert list(Shown.objects.values_list("person__username", "snapshot_id")) == [("ben", refund)]


def test_each_decision_says_whether_it_counts_and_why(ben: Caller, refund: str) -> None:
    cast.policy("refund", quorum=2)
    given = told(look_and_decide(ben, refund), 201)["decision"]

    [decision] = told(ben.get(f"/snapshots/{refund}/"))["decisions"]

    assert decision.pop("at").endswith("Z")
    assert decision == {
        "decision": given, "verdict": "approve", "by": "user:ben", "counts": True, "because": "counts",
    }  # fmt: skip


def deny_it(refund: str) -> None:
    review.deny(cast.ben(), refund)


def replace_it(refund: str) -> None:
    review.freeze(review.cashier(), REFUND, "pay")


def approve_it(refund: str) -> None:
    review.approve(cast.ben(), refund)


def claim_it(refund: str) -> None:
    approve_it(refund)
    claimed(review.effect_of())


def send_it(refund: str) -> None:
    approve_it(refund)
    succeed(review.effect_of())


STATES = [
    (deny_it, "denied", "none"),
    (replace_it, "superseded", "none"),
    (approve_it, "authorized", "revocable"),
    (claim_it, "authorized", "in-flight"),
    (send_it, "authorized", "sent"),
]


@pytest.mark.parametrize(("happen", "state", "boundary"), STATES)
def test_state_and_boundary_follow_what_happened(
    agent: Caller, refund: str, happen: Any, state: str, boundary: str
) -> None:
    happen(refund)

    body = told(agent.get(f"/snapshots/{refund}/"))

    assert (body["state"], body["boundary"], body["consent"]["stands"]) == (state, boundary, False)


# ---- deciding --------------------------------------------------------------------------------------------


def test_the_last_needed_approval_answers_with_the_effect(ben: Caller, refund: str) -> None:
    body = told(look_and_decide(ben, refund, id="d-1"), 201)

    assert body == {
        "decision": body["decision"], "approvals_active": 1, "approvals_needed": 1, "effect": "R-7:pay:v4",
        "authorization_refused": None,
    }  # fmt: skip


def test_a_check_that_fails_leaves_the_decision_and_is_named(ben: Caller, refund: str) -> None:
    review.destination("payments", url="https://elsewhere.example.com/")

    body = told(look_and_decide(ben, refund), 201)

    assert (body["effect"], Decision.objects.count()) == (None, 1)
    refused = body["authorization_refused"]
    assert (refused["code"], refused["expected"], refused["actual"]) == ("destination-changed", 1, 2)


def test_a_repeated_decision_is_answered_once_made(ben: Caller, refund: str) -> None:
    first = told(look_and_decide(ben, refund, id="d-1"), 201)

    again = decide(ben, refund, id="d-1")

    assert (told(again), again.headers["Idempotent-Replayed"]) == (first, "true")
    problem(decide(ben, refund, id="d-1", reason="Another."), 422, "command-id-reused")
    record = told(ben.get(f"/runs/{REFUND}/commands/d-1/"))
    assert (record["state"], record["outcome"]["decision"]) == ("committed", first["decision"])


REFUSED = [
    ({"verdict": "maybe"}, 422, "invalid-params"),
    ({"verdict": "deny"}, 422, "invalid-params"),
    ({"verdict": "deny", "reason": " "}, 422, "invalid-params"),
    ({"manifest_sha256": "sha256:" + "A" * 64}, 400, "malformed"),
    ({"by": "user:bea"}, 400, "malformed"),
    ({"manifest_sha256": OTHER}, 409, "manifest-mismatch"),
    ({"run_version": 9}, 412, "version-conflict"),
    ({"run_version": 2}, 412, "version-conflict"),
    ({"authority_epoch": 1}, 409, "authority-changed"),
]


@pytest.mark.parametrize(("changed", "status", "code"), REFUSED)
def test_a_decision_that_is_not_of_what_was_shown_is_refused(
    ben: Caller, refund: str, changed: JSON, status: int, code: str
) -> None:
    body = problem(look_and_decide(ben, refund, **changed), status, code)

    assert (status != 409) or body.keys() >= {"expected", "actual"}
    assert (code != "version-conflict") or body.keys() >= CONFLICT
    assert not Decision.objects.exists()


def test_if_match_is_ignored_where_a_decision_names_its_version(ben: Caller, refund: str) -> None:
    told(look_and_decide(ben, refund, tag="nonsense"), 201)


def test_what_was_not_fetched_is_not_decided(ben: Caller, refund: str) -> None:
    body = problem(decide(ben, refund), 409, "not-shown")

    assert (body["expected"], body["actual"]) == (Snapshot.objects.get().manifest_sha256, None)


def test_a_decision_comes_once_and_an_ended_review_takes_none(ben: Caller, refund: str) -> None:
    cast.policy("refund", quorum=2)
    told(look_and_decide(ben, refund), 201)

    again = problem(decide(ben, refund), 409, "already-decided")
    told(decide(ben, refund, verdict="deny", reason="It is wrong after all."), 201)
    ended = problem(decide(ben, refund), 409, "snapshot-not-active")

    assert (again["expected"], again["actual"]) == ("undecided", "approve")
    assert (ended["expected"], ended["actual"]) == (refund, None)


@pytest.mark.parametrize("body", [{}, {"id": "x"}])
def test_an_agent_hears_first_that_agents_do_not_decide(agent: Caller, refund: str, body: JSON) -> None:
    problem(agent.post(f"/snapshots/{refund}/decisions/", body), 403, "agents-cannot-decide")
    problem(agent.post("/standing-approvals/", body), 403, "agents-cannot-decide")


def test_while_halted_nothing_is_approved_and_anything_denied(ben: Caller, refund: str) -> None:
    set_halt(True, cast.SETUP)

    problem(look_and_decide(ben, refund), 403, "halted")
    told(look_and_decide(ben, refund, verdict="deny", reason="It is wrong."), 201)


# ---- authorizing -----------------------------------------------------------------------------------------


def test_a_receipt_is_given_once_with_the_run_and_then_as_it_stands() -> None:
    caller, snapshot = coordinator(), review.report_reviewed()

    first = authorize(caller, snapshot, '"1.7"', id="z-1")
    claimed(review.effect_of(REPORT))
    again, second = authorize(caller, snapshot, '"1.7"', id="z-1"), authorize(caller, snapshot, '"1.3"', id="z-2")

    assert (told(first, 201)["run"]["version"], first.headers["ETag"]) == (8, '"1.8"')
    for later in (again, second):
        assert told(later) == {"effect": "R-42:send:v8", "effect_state": "dispatching"}
        assert later.headers["Idempotent-Replayed"] == "true" and "ETag" not in later.headers
    record = told(caller.get(f"/runs/{REPORT}/commands/z-1/"))
    assert (record["state"], record["outcome"]["effect_state"]) == ("committed", "dispatching")


def test_a_receipt_of_what_was_withdrawn_says_so(ben: Caller) -> None:
    caller, snapshot = coordinator(), review.report_reviewed()
    told(authorize(caller, snapshot, '"1.7"'), 201)
    told(revoke(ben, f"d-{Decision.objects.get().pk.hex}"), 201)

    body = problem(authorize(caller, snapshot, '"1.7"'), 409, "approval-revoked")

    assert (body["expected"], body["actual"], body["effect"]) == ("authorized", "cancelled", "R-42:send:v8")


@pytest.mark.parametrize(("tag", "status", "code"), TAGS)
def test_an_authorization_needs_the_one_strong_tag(tag: str, status: int, code: str) -> None:
    caller, snapshot = coordinator(), review.report_reviewed()

    body = problem(authorize(caller, snapshot, tag), status, code)

    assert (code != "version-conflict") or body.keys() >= CONFLICT
    assert not Effect.objects.exists()


def test_a_stale_authorization_is_told_what_moved() -> None:
    caller, snapshot = coordinator(), review.report_reviewed()

    body = problem(authorize(caller, snapshot, '"1.5"', id="z-1"), 412, "version-conflict")

    assert (body["base_version"], body["current_version"], body["current_etag"]) == (5, 7, '"1.7"')
    assert (body["command_id"], body["disposition"], body["rule"]["command"]) == ("z-1", "retry", "authorize")
    moved = {one["field"]: (one["version"], one["changed_by"]) for one in body["changed_fields"]}
    assert moved == {
        "audience": (6, "agent:coordinator"), "active_snapshot": (7, "agent:coordinator"),
        "status": (7, "agent:coordinator"),
    }  # fmt: skip


def test_a_repeated_authorization_is_answered_even_by_a_weak_tag() -> None:
    caller, snapshot = coordinator(), review.report_reviewed()
    told(authorize(caller, snapshot, '"1.7"', id="z-1"), 201)

    assert told(authorize(caller, snapshot, 'W/"1.7"', id="z-1"))["effect"] == "R-42:send:v8"


def test_too_few_approvals_are_counted_out() -> None:
    caller, snapshot = coordinator(), review.report_ready_for_review()

    body = problem(authorize(caller, snapshot, '"1.7"'), 409, "approval-missing")

    assert (body["expected"], body["actual"]) == (1, 0)


# ---- revoking --------------------------------------------------------------------------------------------


def test_a_revocation_says_on_which_side_it_came_and_what_it_did(ben: Caller, refund: str) -> None:
    given = told(look_and_decide(ben, refund), 201)["decision"]

    response = revoke(ben, given)

    body = {
        "boundary": "revocable", "result": "effect-cancelled", "effect": "R-7:pay:v4", "remediation": None,
    }  # fmt: skip
    assert told(response, 201) == body
    again = revoke(ben, given)
    assert (told(again), again.headers["Idempotent-Replayed"]) == (body, "true")
    assert problem(revoke(ben, given, id="rv-2"), 409, "already-decided")["actual"] == "revoked"


def test_a_revocation_after_the_send_names_the_remediation_it_opened(ben: Caller, refund: str) -> None:
    send_it(refund)

    body = told(revoke(ben, review.approval_of(review.effect_of())), 201)

    assert (body["boundary"], body["result"]) == ("sent", "remediation-opened")
    assert [one["id"] for one in told(ben.get("/remediations/"))["items"]] == [body["remediation"]]


def test_a_deny_is_not_revoked_and_a_reason_is_needed(ben: Caller, refund: str) -> None:
    given = told(look_and_decide(ben, refund, verdict="deny", reason="It is wrong."), 201)["decision"]

    problem(revoke(ben, given), 403, "forbidden")
    problem(revoke(ben, given, reason=" "), 422, "invalid-params")


# ---- who sees and who does not ---------------------------------------------------------------------------


def test_for_an_outsider_nothing_of_it_exists_whatever_they_send(refund: str) -> None:
    given = f"d-{'0' * 32}"
    review.approve(cast.ben(), refund)
    decision = review.approval_of(review.effect_of())
    cy, nobody = as_person(cast.cy()), as_nobody()
    paths = [
        f"/snapshots/{refund}/decisions/", f"/decisions/{decision}/revocations/", f"/decisions/{given}/revocations/",
        "/decisions/nonsense/revocations/", f"/runs/{REFUND}/snapshots/", f"/runs/{REFUND}/authorizations/",
    ]  # fmt: skip

    problem(cy.get(f"/snapshots/{refund}/"), 404, "not-found")
    for path in paths:
        problem(cy.post(path, {"form": "nonsense"}), 404, "not-found")
        problem(nobody.post(path, {"form": "nonsense"}), 401, "unauthenticated")


# ---- what every one of them may refer to -----------------------------------------------------------------


def test_references_are_kept_in_the_ledger_and_belong_to_the_request(ben: Caller) -> None:
    caller, snapshot = coordinator(), review.report_ready_for_review()
    cited = {"evidence": ["message:m4"]}

    decision = told(look_and_decide(ben, snapshot, id="d-1", **cited), 201)["decision"]
    told(authorize(caller, snapshot, '"1.7"', id="z-1", **cited), 201)
    told(revoke(ben, decision, **cited), 201)

    entries = told(ben.get(f"/runs/{REPORT}/ledger/"))["items"]
    bodies = {entry["kind"]: entry["body"] for entry in entries}
    for kind in ("decision.approved", "effect.authorized", "approval.revoked"):
        assert bodies[kind]["evidence"] == ["message:m4"]
    problem(decide(ben, snapshot, id="d-1", evidence=["message:m5"]), 422, "command-id-reused")
    problem(authorize(caller, snapshot, '"1.7"', id="z-1"), 422, "command-id-reused")
    assert told(revoke(ben, decision, **cited))["result"] == "effect-cancelled"
