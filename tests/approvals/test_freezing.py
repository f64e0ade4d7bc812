"""Freezing: what is put under review and how the run moves, every refusal, and what becomes of a stale freeze."""

import json
from typing import Any

import pytest

from approvals.errors import DestinationUnknown, HashMismatch, InputOutdated, PayloadIncomplete
from approvals.models import Content, Snapshot
from outbox import authorization
from outbox.models import Effect
from outbox.states import EffectState
from runs.administration import set_halt, set_workflow_suspended
from runs.errors import (
    CommandIdReused,
    EscalationOpen,
    Halted,
    InvalidParams,
    InvalidTransition,
    NotFound,
    ScopeMissing,
    VersionConflict,
    WorkflowSuspended,
)
from runs.escalations import ResolutionRequest
from runs.models import Conflict, Escalation, LedgerEntry
from runs.outcomes import Outcome
from runs.refusals import escalation_ref
from runs.values import Principal
from runs.verbs import Verb
from tests import cast, review
from tests.outbox.settling import succeed
from tests.review import REFUND, REPORT, cashier, coordinator, tagged
from tests.unguarded import take_guards_away

pytestmark = pytest.mark.django_db

JSON = Any


def pay(who: Principal | None = None, on: int | None = None, **other: Any) -> Outcome:
    return review.freeze(who or cashier(), REFUND, "pay", on, **other)


def send(**other: Any) -> Outcome:
    """Freeze the report with both of its artifacts, but for what is given."""
    artifacts = {slot: f"R-42:{slot}:6:a" for slot in ("research", "calculation")}
    given = {"artifacts": artifacts, "payload": review.report_payload(artifacts)} | other
    return review.freeze(coordinator(), REPORT, "send", **given)


def standing_of(key: str) -> tuple[int, str, str | None]:
    run = cast.reading(key)
    return run.version, run.state.status.value, run.state.active_snapshot


# ---- what is put under review ----------------------------------------------------------------------------


def test_a_freeze_is_one_step_with_snapshot_pointer_and_status() -> None:
    review.refund_working()

    frozen = pay()

    snapshot = Snapshot.objects.get()
    assert frozen.answer == {
        "snapshot": "R-7:review:v3:c1",
        "manifest_sha256": snapshot.manifest_sha256,
        "payload_sha256": snapshot.payload_sha256,
        "standing": None,
        "effect": None,
    }
    assert standing_of(REFUND) == (3, "ready_for_review", "R-7:review:v3:c1")
    entry = LedgerEntry.objects.order_by("-seq")[0]
    assert (entry.kind, entry.version, entry.touched) == ("snapshot.frozen", 3, ["active_snapshot", "status"])


def test_the_manifest_says_everything_and_hashes_to_what_is_told() -> None:
    review.refund_working()
    cast.command(cast.ada(), REFUND, "add-note", note={"id": "n1", "text": "called back"})

    pay()

    row = Snapshot.objects.get()
    manifest, body = bytes(row.manifest), bytes(row.payload or b"")
    assert (row.manifest_sha256, row.payload_sha256) == (tagged(manifest), tagged(body))
    assert body == b'{"amount":"25.00","case":"R-7","currency":"EUR","recipient":"Ana Lima"}'
    facts = {"case_state": "open", "currency": "EUR", "recipient": "Ana Lima", "refund_amount": "25.00"}
    canonical = json.dumps(facts, sort_keys=True, separators=(",", ":")).encode()
    assert json.loads(manifest) == {
        "schema": "clearance.manifest/1",
        "snapshot": "R-7:review:v4:c1",
        "run": "R-7",
        "workflow": "refund",
        "workflow_revision": 1,
        "run_version": 4,
        "action": "pay",
        "input_version": 2,
        "facts": {"values": facts, "sha256": tagged(canonical)},
        "artifacts": [],
        "destination": {
            "name": "payments",
            "revision": 1,
            "adapter": "http",
            "url_sha256": tagged(b"https://provider.example.com/deliver"),
        },
        "payload": {"sha256": tagged(body), "bytes": len(body), "media_type": "application/json"},
        "contract": "until_changed",
        "proposed_by": "agent:cashier",
        "denied_before": 0,
    }


def test_artifacts_are_frozen_by_slot_with_hash_input_version_and_size() -> None:
    review.report_ready_for_review()

    manifest = json.loads(bytes(Snapshot.objects.get().manifest))

    assert manifest["artifacts"] == [
        {"id": "R-42:calculation:6:a", "slot": "calculation", "sha256": tagged(review.CALCULATION), "input_version": 6,
         "bytes": len(review.CALCULATION)},
        {"id": "R-42:research:6:a", "slot": "research", "sha256": tagged(review.RESEARCH), "input_version": 6,
         "bytes": len(review.RESEARCH)},
    ]  # fmt: skip
    assert (manifest["snapshot"], manifest["run_version"], manifest["input_version"]) == ("R-42:review:v7:c1", 7, 6)


def test_freezing_again_supersedes_and_counts_candidates() -> None:
    first = review.refund_ready_for_review()

    second = pay().answer["snapshot"]

    assert (first, second) == ("R-7:review:v3:c1", "R-7:review:v4:c2")
    assert standing_of(REFUND) == (4, "ready_for_review", second)


def test_earlier_denials_of_the_same_payload_for_the_same_destination_are_told() -> None:
    review.deny(cast.ben(), review.refund_ready_for_review())
    review.deny(cast.ben(), pay().answer["snapshot"])
    pay()
    cast.command(cast.ada(), REFUND, "set-refund-amount", amount="26.00", currency="EUR")
    pay()

    rows = Snapshot.objects.order_by("candidate")
    assert [json.loads(bytes(row.manifest))["denied_before"] for row in rows] == [0, 1, 2, 0]


def test_the_same_request_again_is_answered_as_it_stands_now() -> None:
    review.refund_working()
    first = pay(id="f-1")
    review.approve(cast.ben(), first.answer["snapshot"])

    again = pay(id="f-1", on=1)

    assert again.is_replay
    assert again.answer == {**first.answer, "effect": "R-7:pay:v4"}
    with pytest.raises(CommandIdReused):
        pay(id="f-1", reason="Another one.")


# ---- what is refused -------------------------------------------------------------------------------------


def refused(error: type[Exception], freeze: Any, key: str = REFUND, **other: Any) -> Any:
    """The refusal of a freeze; the run is as it was."""
    before = standing_of(key)
    with pytest.raises(error) as refusal:
        freeze(**other)
    assert standing_of(key) == before
    assert not Snapshot.objects.filter(id__contains=f":v{before[0] + 1}:").exists()
    return refusal.value


def test_only_the_scope_of_the_action_freezes() -> None:
    review.refund_working()

    refused(ScopeMissing, pay, who=cast.ben())
    refused(ScopeMissing, pay, who=cast.agent("clerk", ("refund:intake",)).principal)
    refused(NotFound, pay, who=cast.cy())
    assert pay(cast.ada()).state == "committed"


def test_a_halt_and_a_suspension_stop_freezing_whoever_asks() -> None:
    review.refund_working()
    set_halt(True, cast.SETUP)
    refused(Halted, pay)
    refused(Halted, pay, who=cast.ada())
    set_halt(False, cast.SETUP)
    set_workflow_suspended("refund", True, cast.SETUP)

    refused(WorkflowSuspended, pay, who=cast.ada())


@pytest.mark.parametrize(
    ("other", "pointer"),
    [
        ({"payload": {"amount": "1.00"}}, "/payload"),
        ({"artifacts": {"research": "R-7:research:1:a"}}, "/artifacts"),
        ({"of": "R-7:pay:v4"}, "/of"),
    ],
)
def test_what_the_action_does_not_take_is_refused_with_its_place(other: dict[str, JSON], pointer: str) -> None:
    review.refund_working()

    assert refused(InvalidParams, pay, **other).errors[0].pointer == pointer


def test_an_action_that_does_not_exist_is_refused_with_its_place() -> None:
    review.refund_working()

    def fly() -> None:
        review.freeze(cashier(), REFUND, "fly")

    assert refused(InvalidParams, fly).errors[0].pointer == "/action"


def test_every_slot_is_needed_and_no_other() -> None:
    review.report_working()
    whole = {slot: f"R-42:{slot}:6:a" for slot in ("research", "calculation")}

    for artifacts in ({"research": whole["research"]}, {**whole, "poetry": whole["research"]}):
        refusal = refused(InvalidParams, send, REPORT, artifacts=artifacts, payload={})
        assert refusal.errors[0].pointer == "/artifacts"


def test_an_artifact_of_another_slot_or_run_or_of_nobody_is_refused() -> None:
    review.report_working("R-41")
    review.report_working()

    for number in ("R-42:calculation:6:a", "R-41:research:6:a", "R-42:research:6:z"):
        artifacts = {"research": number, "calculation": "R-42:calculation:6:a"}
        assert refused(InvalidParams, send, REPORT, artifacts=artifacts).errors[0].pointer == "/artifacts/research"


def test_an_artifact_that_was_made_from_older_inputs_is_refused_by_both_versions() -> None:
    review.report_working()
    cast.command(coordinator(), REPORT, "set-audience", audience="everybody")

    refusal = refused(InputOutdated, send, REPORT)

    assert refusal.members == {"artifact": "R-42:calculation:6:a", "expected": 7, "actual": 6}


def test_content_that_was_altered_behind_our_back_is_not_frozen() -> None:
    review.report_working()
    take_guards_away()
    Content.objects.filter(pk=tagged(review.RESEARCH)).update(body=b'{"sources": 5}')

    assert refused(HashMismatch, send, REPORT).members["artifact"] == "R-42:research:6:a"


def test_a_payload_whose_facts_are_not_set_names_each_of_them() -> None:
    review.destination("payments")
    cast.run_received(REFUND)
    cast.command(cashier(), REFUND, "add-tag", tag="vip")

    refusal = refused(PayloadIncomplete, pay)

    assert [fault.pointer for fault in refusal.errors] == ["/payload/amount", "/payload/recipient"]


def test_a_supplied_payload_has_to_name_exactly_what_is_frozen() -> None:
    review.report_working()
    other = review.artifact(coordinator(), REPORT, "research", 6, b'{"sources": 9}')
    artifacts = {"research": other, "calculation": "R-42:calculation:6:a"}

    refusal = refused(PayloadIncomplete, send, REPORT, payload=review.report_payload(artifacts))

    assert refusal.members["expected"]["research"]["sha256"] == tagged(review.RESEARCH)
    assert refusal.members["actual"]["research"]["id"] == other


def test_a_destination_that_nobody_registered_is_named() -> None:
    cast.run_received(REFUND, recipient="Ana Lima")
    cast.command(cashier(), REFUND, "set-refund-amount", amount="25.00", currency="EUR")

    assert refused(DestinationUnknown, pay).members == {"destination": "payments"}


def test_a_run_that_is_closed_or_has_gone_out_is_not_frozen() -> None:
    review.refund_working()
    cast.command(cast.ada(), REFUND, "close-case")
    refused(InvalidTransition, pay)
    cast.command(cast.ada(), REFUND, "reopen-case")
    review.approve(cast.ben(), pay().answer["snapshot"])

    refused(InvalidTransition, pay)


def test_an_open_case_about_a_fact_of_consent_stands_in_the_way_whoever_freezes() -> None:
    review.destination("payments")
    pricing = cast.agent("pricing").principal
    cast.run_received(REFUND, recipient="Ana Lima")
    cast.command(cast.ada(), REFUND, "set-refund-amount", amount="30.00", currency="EUR")
    cast.command(pricing, REFUND, "set-refund-amount", on=1, amount="45.00", currency="EUR")
    case = escalation_ref(Escalation.objects.get().pk)

    refusal = refused(EscalationOpen, pay, who=cast.ada())

    assert refusal.members == {
        "escalation": case, "fields": ["currency", "refund_amount"], "expected": None, "actual": case,
    }  # fmt: skip


def test_an_open_case_about_anything_else_does_not() -> None:
    review.destination("payments")
    cast.run_with_open_case(REFUND)
    cast.command(cast.ada(), REFUND, "set-refund-amount", amount="30.00", currency="EUR")
    cast.command(cast.ada(), REFUND, "set-recipient", recipient="Ana Lima")

    assert pay().state == "committed"


# ---- stale, by the rules of the action -------------------------------------------------------------------


def test_a_note_since_then_is_merged_over_and_told() -> None:
    review.refund_working()
    cast.command(cast.ada(), REFUND, "add-note", note={"id": "n1", "text": "called back"})

    frozen = pay(on=2)

    assert frozen.answer["snapshot"] == "R-7:review:v4:c1"
    assert (Conflict.objects.get().disposition, Conflict.objects.get().name) == ("merge", "freeze:pay")


def test_another_candidate_since_then_is_a_retry_and_writes_nothing() -> None:
    review.refund_working()
    pay(cast.ada(), on=2)

    refused_ = pay(on=2)

    assert (refused_.state, refused_.answer["rule"]["name"]) == ("retry", "on_conflict[2]")
    assert standing_of(REFUND) == (3, "ready_for_review", "R-7:review:v3:c1")


def test_a_case_closed_since_then_rejects_the_freeze_for_ever() -> None:
    review.refund_working()
    cast.command(cast.ada(), REFUND, "close-case")

    refused_ = pay(on=2, id="f-1")
    cast.command(cast.ada(), REFUND, "reopen-case")
    again = pay(on=4, id="f-1")

    assert (refused_.state, refused_.answer["rule"]["name"]) == ("rejected", "on_conflict[0]")
    assert (again.state, again.is_replay) == ("rejected", True)


def test_a_person_whose_freeze_is_stale_is_shown_the_difference_and_queues_nothing() -> None:
    review.refund_working()
    cast.command(cashier(), REFUND, "set-refund-amount", amount="26.00", currency="EUR")

    assert pay(cast.ada(), on=2).state == "retry"
    assert not Escalation.objects.exists()


# ---- an escalated freeze ---------------------------------------------------------------------------------


@pytest.fixture
def case() -> str:
    """The cashier's freeze on version 2 waits for an operator: Mara changed the amount to 26.00 since."""
    review.refund_working()
    mara = cast.person_operating("mara")
    cast.command(mara, REFUND, "set-refund-amount", amount="26.00", currency="EUR")
    assert pay(on=2, id="f-stale").state == "escalated"
    return escalation_ref(Escalation.objects.get().pk)


def settle(case: str, verb: Verb = Verb.APPLY, who: Principal | None = None) -> Any:
    run = cast.reading(REFUND)
    row = Escalation.objects.get()
    request = ResolutionRequest(review.number("r"), verb, "The new amount is right.", run.version, row.version)
    return authorization.resolve(who or cast.person_operating("nora"), case, request)


def test_an_operator_freezes_the_current_candidate_of_an_escalated_freeze(case: str) -> None:
    settled = settle(case)

    row = Snapshot.objects.get()
    assert json.loads(bytes(row.payload or b""))["amount"] == "26.00"
    assert settled.answer["verb"] == "apply"
    assert settled.answer["command"]["snapshot"] == row.pk == cast.reading(REFUND).state.active_snapshot
    assert (Escalation.objects.get().state, cast.reading(REFUND).held) == ("settled", ())
    again = pay(on=2, id="f-stale")
    assert (again.state, again.answer["outcome"], again.answer["snapshot"]) == ("committed", "committed", row.pk)
    assert again.answer["resolution"]["by"] == "user:nora"


def test_whoever_proposed_it_and_whoever_applied_it_both_count_as_proposers(case: str) -> None:
    settle(case)

    parts = {part["username"]: part["because"] for part in json.loads(Snapshot.objects.get().parts)}

    assert parts["nora"] == "proposed it"
    assert parts["ada"] == "owns cashier, which proposed it first"
    assert parts["mara"] == "wrote refund_amount last"


def test_while_a_freeze_waits_agents_join_it_and_people_go_on(case: str) -> None:
    joined = pay(id="f-2")
    by_hand = pay(cast.ada())

    assert (joined.state, joined.answer["rule"]["name"]) == ("escalated", "held")
    assert by_hand.state == "committed"
    assert (Escalation.objects.get().state, cast.reading(REFUND).held) == ("settled", ())


@pytest.mark.parametrize(("verb", "state"), [(Verb.KEEP, "rejected"), (Verb.SEND_BACK, "retry")])
def test_keeping_and_sending_back_freeze_nothing(case: str, verb: Verb, state: str) -> None:
    settle(case, verb)

    assert not Snapshot.objects.exists()
    assert pay(on=2, id="f-stale").state == state


def test_a_freeze_is_never_amended(case: str) -> None:
    refused(InvalidTransition, lambda: authorization.resolve(
        cast.person_operating("nora"), case,
        ResolutionRequest("r-1", Verb.AMEND, "Another one.", 3, 1, params={"action": "pay"}),
    ))  # fmt: skip


def test_applying_checks_again_whether_the_proposer_may(case: str) -> None:
    set_workflow_suspended("refund", True, cast.SETUP)

    refused(WorkflowSuspended, lambda: settle(case))


def test_a_change_that_the_operator_has_not_seen_refuses_the_application(case: str) -> None:
    request = ResolutionRequest("r-1", Verb.APPLY, "The new amount is right.", 3, 1)
    cast.command(cast.ada(), REFUND, "set-recipient", recipient="Ana Silva")

    refused(VersionConflict, lambda: authorization.resolve(cast.person_operating("nora"), case, request))


# ---- compensation ----------------------------------------------------------------------------------------


def sent() -> Effect:
    """A refund that was paid: version 6."""
    review.destination("payments-recall", url="https://provider.example.com/recall")
    return succeed(review.refund_approved())


def recall(of: str | None, **other: Any) -> Outcome:
    return review.freeze(cashier(), REFUND, "recall", of=of, **other)


def test_a_compensation_names_what_it_takes_back_and_does_not_move_its_run() -> None:
    effect = sent()
    before = cast.reading(REFUND)

    frozen = recall(effect.pk)

    row = Snapshot.objects.order_by("-candidate")[0]
    after = cast.reading(REFUND)
    assert json.loads(bytes(row.manifest))["of"] == "R-7:pay:v4"
    assert json.loads(bytes(row.payload or b"")) == {
        "case": "R-7", "of": "R-7:pay:v4", "amount": "25.00", "currency": "EUR", "recipient": "Ana Lima",
    }  # fmt: skip
    assert (before.state.status, after.state.status) == ("sent", "sent")
    assert (after.version, after.state.active_snapshot) == (before.version + 1, frozen.answer["snapshot"])


def test_denying_a_compensation_leaves_the_run_sent() -> None:
    snapshot = recall(sent().pk).answer["snapshot"]

    review.deny(cast.ben(), snapshot)

    assert standing_of(REFUND)[1:] == ("sent", None)


@pytest.mark.parametrize("of", [None, "R-7:pay:v9", "R-8:pay:v4"])
def test_a_compensation_needs_a_succeeded_operation_of_its_own_run(of: str | None) -> None:
    effect = sent()
    succeed(review.refund_approved("R-8"))

    assert refused(InvalidParams, lambda: recall(of)).errors[0].pointer == "/of"
    assert effect.state == EffectState.SUCCEEDED


def test_what_has_not_succeeded_is_not_compensated() -> None:
    review.destination("payments-recall", url="https://provider.example.com/recall")
    effect = review.refund_approved()

    assert refused(InvalidParams, lambda: recall(effect.pk)).errors[0].pointer == "/of"
