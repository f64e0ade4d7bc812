"""Authorizing and revoking: the one commit, every fact it checks, and what a revocation can still do."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from approvals.errors import (
    ApprovalExpired,
    ApprovalMissing,
    ApprovalRevoked,
    DestinationChanged,
    FactsChanged,
    HashMismatch,
    ManifestMismatch,
    SnapshotNotActive,
)
from approvals.models import Artifact, Content, Decision, DestinationRevision, Snapshot
from outbox import authorization
from outbox.leases import claim
from outbox.models import Effect, Remediation
from runs.administration import set_halt, set_person, set_workflow_suspended
from runs.errors import (
    AlreadyDecided,
    CommandIdReused,
    Halted,
    InvalidTransition,
    NotFound,
    OperationMismatch,
    ScopeMissing,
    VersionConflict,
    WorkflowSuspended,
)
from runs.models import Installation, LedgerEntry, Run
from tests import cast, review
from tests.outbox.settling import ACCEPTED, NEVER_LEFT, REFUSED, UNKNOWN, attempt, claimed, succeed
from tests.review import REFUND, REPORT, approve, authorize, bea, coordinator
from tests.unguarded import take_guards_away

pytestmark = pytest.mark.django_db

JSON = Any


def kinds(count: int) -> list[str]:
    """The kinds of the last entries of the ledger."""
    return [entry.kind for entry in LedgerEntry.objects.order_by("seq")][-count:]


# ---- the one commit --------------------------------------------------------------------------------------


def test_the_coordinator_spends_the_approval_and_creates_the_one_effect() -> None:
    snapshot = review.report_reviewed()

    receipt = authorize(coordinator(), snapshot, on=7)

    run, effect, row = cast.reading(REPORT), Effect.objects.get(), Snapshot.objects.get()
    assert receipt.answer == {"effect": "R-42:send:v8", "effect_state": "pending"}
    assert (run.version, run.state.status, run.state.active_snapshot, run.effect) == (
        8, "approved", None, "R-42:send:v8",
    )  # fmt: skip
    assert (effect.snapshot_id, effect.manifest_sha256, effect.payload_sha256) == (
        snapshot, row.manifest_sha256, row.payload_sha256,
    )  # fmt: skip
    assert (effect.destination, effect.destination_revision, effect.idempotency_key) == (
        "customer-reports", 1, "R-42:send:v8",
    )  # fmt: skip
    assert (effect.authorized_by, effect.authorized_version) == ("agent:coordinator", 8)
    assert Decision.objects.get().spent_by == "R-42:send:v8"
    assert kinds(3) == ["snapshot.frozen", "decision.approved", "effect.authorized"]
    body = json.loads(bytes(LedgerEntry.objects.order_by("-seq")[0].body or b""))
    assert body["approvals"] == [review.approval_of(effect)]
    assert (body["manifest_sha256"], body["payload_sha256"]) == (row.manifest_sha256, row.payload_sha256)


def test_an_approval_alone_authorizes_nothing_where_the_coordinator_does() -> None:
    review.report_reviewed()

    assert not Effect.objects.exists()
    assert cast.reading(REPORT).state.status == "ready_for_review"


def test_the_last_needed_approval_authorizes_in_the_same_commit_where_that_is_automatic() -> None:
    snapshot = review.refund_ready_for_review()

    answer = approve(cast.ben(), snapshot).answer

    assert (answer["effect"], answer["authorization_refused"]) == ("R-7:pay:v4", None)
    assert cast.reading(REFUND).state.status == "approved"
    assert kinds(2) == ["decision.approved", "effect.authorized"]


def test_all_counting_approvals_are_spent_and_no_other() -> None:
    snapshot = review.report_ready_for_review()
    withdrawn = approve(review.reviewer("cleo"), snapshot).answer["decision"]
    review.revoke(cast.ben(), withdrawn)
    for who in (cast.ben(), bea()):
        approve(who, snapshot)

    authorize(coordinator(), snapshot)

    spent = dict(Decision.objects.values_list("person__username", "spent_by"))
    assert spent == {"cleo": None, "ben": "R-42:send:v8", "bea": "R-42:send:v8"}


def test_where_a_check_fails_the_decision_stands_and_the_answer_names_the_fact() -> None:
    snapshot = review.refund_ready_for_review()
    review.destination("payments", url="https://elsewhere.example.com/")

    answer = approve(cast.ben(), snapshot).answer

    refused = answer["authorization_refused"]
    assert (answer["effect"], answer["approvals_active"]) == (None, 1)
    assert (refused["code"], refused["expected"], refused["actual"]) == ("destination-changed", 1, 2)
    assert Decision.objects.get().spent_by is None
    assert kinds(1) == ["decision.approved"]


def test_what_was_refused_then_can_be_authorized_later() -> None:
    snapshot = review.refund_ready_for_review()
    cast.policy("refund", quorum=2)
    approve(cast.ben(), snapshot)
    review.destination("payments", url="https://elsewhere.example.com/")
    refused = approve(bea(), snapshot).answer["authorization_refused"]
    take_guards_away()
    DestinationRevision.objects.filter(revision=2).delete()

    receipt = authorize(cast.ada(), snapshot)

    assert refused["code"] == "destination-changed"
    assert receipt.answer["effect"] == "R-7:pay:v4"


# ---- twice -----------------------------------------------------------------------------------------------


def test_a_second_spender_gets_the_first_receipt_with_the_state_of_the_effect() -> None:
    effect = review.report_approved()
    attempt(effect, ACCEPTED)

    second = authorize(cast.ada(), effect.snapshot_id, on=7, id="z-second")

    assert (second.is_replay, second.answer) == (True, {"effect": "R-42:send:v8", "effect_state": "succeeded"})
    assert Effect.objects.count() == 1
    with pytest.raises(CommandIdReused):
        authorize(cast.ada(), effect.snapshot_id, on=7, id="z-second", reason="Another.")


def test_a_second_spender_of_what_was_withdrawn_is_told_so() -> None:
    effect = review.report_approved()
    review.revoke(cast.ben(), review.approval_of(effect))

    with pytest.raises(ApprovalRevoked) as refusal:
        authorize(cast.ada(), effect.snapshot_id)

    assert refusal.value.members["effect"] == "R-42:send:v8"


def test_the_same_request_again_is_answered_as_it_stands() -> None:
    snapshot = review.report_reviewed()
    authorize(coordinator(), snapshot, id="z-1")
    claimed(review.effect_of(REPORT))

    again = authorize(coordinator(), snapshot, on=1, id="z-1")

    assert (again.is_replay, again.answer["effect_state"]) == (True, "dispatching")


def test_an_operation_id_that_stands_for_something_else_is_an_alarm() -> None:
    effect = review.report_approved()
    take_guards_away()
    Effect.objects.update(snapshot_id=review.refund_ready_for_review(), payload_sha256="sha256:0")
    Run.objects.filter(key=REPORT).update(
        version=7, status="ready_for_review", effect=None, active_snapshot=effect.snapshot_id,
        consent_contract="exact", consent_facts=["audience", "question"],
    )  # fmt: skip
    Decision.objects.update(spent_by=None)

    with pytest.raises(OperationMismatch) as refusal:
        authorize(coordinator(), effect.snapshot_id, on=7)

    assert set(refusal.value.members["differing"]) == {"snapshot_id", "payload_sha256"}


# ---- every refusal, in the order of the API --------------------------------------------------------------


@dataclass
class Scene:
    """An authorization of a report with everything wrong that a refusal could name."""

    who: Any
    snapshot: str
    on: int
    sha256: str | None


def wrong_in_every_way() -> Scene:
    """Nobody approved; the artifact is altered, the destination is another; version, hash and snapshot are old ones."""
    old = review.report_ready_for_review()
    artifacts = {slot: f"R-42:{slot}:6:a" for slot in ("research", "calculation")}
    review.freeze(coordinator(), REPORT, "send", artifacts=artifacts, payload=review.report_payload(artifacts))
    review.destination("customer-reports", url="https://elsewhere.example.com/")
    set_halt(True, cast.SETUP)
    set_workflow_suspended("report", True, cast.SETUP)
    return Scene(cast.cy(), old, 6, "sha256:" + "0" * 64)


def as_a_member(scene: Scene) -> None:
    scene.who = cast.ben()


def as_the_coordinator(scene: Scene) -> None:
    scene.who = coordinator()


def unhalted(scene: Scene) -> None:
    set_halt(False, cast.SETUP)


def unsuspended(scene: Scene) -> None:
    set_workflow_suspended("report", False, cast.SETUP)


def of_the_active_one(scene: Scene) -> None:
    scene.snapshot = cast.reading(REPORT).state.active_snapshot or ""


def with_its_hash(scene: Scene) -> None:
    scene.sha256 = Snapshot.objects.get(pk=scene.snapshot).manifest_sha256


def on_its_version(scene: Scene) -> None:
    scene.on = cast.reading(REPORT).version


def to_the_frozen_destination(scene: Scene) -> None:
    take_guards_away()
    DestinationRevision.objects.filter(name="customer-reports", revision=2).delete()


def approved(scene: Scene) -> None:
    approve(cast.ben(), scene.snapshot)


ORDER: list[tuple[type[Exception], Callable[[Scene], None]]] = [
    (NotFound, as_a_member),
    (ScopeMissing, as_the_coordinator),
    (Halted, unhalted),
    (WorkflowSuspended, unsuspended),
    (SnapshotNotActive, of_the_active_one),
    (ManifestMismatch, with_its_hash),
    (VersionConflict, on_its_version),
    (DestinationChanged, to_the_frozen_destination),
    (ApprovalMissing, approved),
]


def test_of_several_faults_the_first_in_the_order_of_the_api_is_told() -> None:
    scene = wrong_in_every_way()

    for error, mend in ORDER:
        with pytest.raises(error):
            authorize(scene.who, scene.snapshot, scene.on, manifest_sha256=scene.sha256)
        assert not Effect.objects.exists()
        mend(scene)

    receipt = authorize(scene.who, scene.snapshot, scene.on, manifest_sha256=scene.sha256)
    assert receipt.answer["effect"] == "R-42:send:v9"


def refused(error: type[Exception], snapshot: str, **other: Any) -> Any:
    """The members of the refusal; nothing is created and no approval spent."""
    key = snapshot.partition(":")[0]
    before = cast.reading(key).head_seq
    with pytest.raises(error) as refusal:
        authorize(cast.ada(), snapshot, **other)
    assert not Effect.objects.exists()
    assert not Decision.objects.exclude(spent_by=None).exists()
    assert cast.reading(key).head_seq == before
    return getattr(refusal.value, "members", None)


def test_a_run_in_another_status_is_named() -> None:
    snapshot = review.report_reviewed()
    take_guards_away()
    Run.objects.filter(key=REPORT).update(status="sent")

    assert refused(InvalidTransition, snapshot) == {
        "expected": "ready_for_review", "actual": "sent", "status": "sent", "next": ["reopen"],
    }  # fmt: skip


def test_a_fact_that_differs_is_named() -> None:
    snapshot = review.report_reviewed()
    take_guards_away()
    Run.objects.filter(key=REPORT).update(fields=Run.objects.get().fields.replace("board", "crowd"))

    assert refused(FactsChanged, snapshot) == {"field": "audience", "expected": "board", "actual": "crowd"}


def test_an_artifact_that_is_not_what_was_frozen_is_named() -> None:
    snapshot = review.report_reviewed()
    take_guards_away()
    other = Content.objects.create(sha256="sha256:other", size=1, body=b"x")
    Artifact.objects.filter(slot="research").update(content=other)

    told = refused(HashMismatch, snapshot)
    assert (told["expected"], told["actual"]) == (review.tagged(review.RESEARCH), "sha256:other")


def test_another_address_under_the_frozen_revision_is_noticed() -> None:
    snapshot = review.report_reviewed()
    take_guards_away()
    DestinationRevision.objects.filter(name="customer-reports").update(url="https://elsewhere.example.com/")

    assert refused(DestinationChanged, snapshot)["expected"] == review.tagged(b"https://provider.example.com/deliver")


def revoked_since(snapshot: str) -> None:
    review.revoke(bea(), f"d-{Decision.objects.get().pk.hex}")


def expired_since(snapshot: str) -> None:
    take_guards_away()
    Decision.objects.update(expires_at=datetime(2020, 1, 1, tzinfo=UTC))


def under_another_authority(snapshot: str) -> None:
    cast.policy("report", reviewers=frozenset({"report-reviewers", "others"}))


def the_giver_reviews_no_more(snapshot: str) -> None:
    set_person("ben", cast.SETUP, groups=["others"])


def the_giver_is_suspended(snapshot: str) -> None:
    set_person("ben", cast.SETUP, roles=[])


def one_more_is_needed(snapshot: str) -> None:
    cast.policy("report", quorum=2)
    approve(cast.ben(), snapshot)


def before_a_restore(snapshot: str) -> None:
    Installation.objects.update(ledger_epoch=2)


#: Why an approval does not count -> the refusal and how it is said.
LAPSES: dict[Callable[[str], None], tuple[type[Exception], str]] = {
    revoked_since: (ApprovalRevoked, "revoked by user:bea"),
    expired_since: (ApprovalExpired, "expired"),
    under_another_authority: (ApprovalMissing, "given under an older authority of the workflow"),
    the_giver_reviews_no_more: (ApprovalMissing, "ben no longer reviews this workflow"),
    the_giver_is_suspended: (ApprovalMissing, "ben no longer reviews this workflow"),
    one_more_is_needed: (ApprovalMissing, "counts"),
    before_a_restore: (ApprovalMissing, "older than a restore of this installation"),
}


@pytest.mark.parametrize("lapse", LAPSES, ids=lambda lapse: lapse.__name__)
def test_an_approval_that_does_not_count_is_named_with_the_reason(lapse: Callable[[str], None]) -> None:
    snapshot = review.report_reviewed()
    lapse(snapshot)
    error, words = LAPSES[lapse]

    told = refused(error, snapshot)

    assert words in told["because"]
    assert told["expected"] - told["actual"] == 1


def test_a_note_on_what_is_bound_to_facts_and_a_budget_refuse_nothing() -> None:
    snapshot = review.refund_ready_for_review()
    cast.command(cast.ada(), REFUND, "add-note", note={"id": "n1", "text": "called back"})
    budget = cast.definition().policy.budget
    cast.policy("refund", budget=type(budget)(attempts=9, elapsed_seconds=budget.elapsed_seconds))

    assert approve(cast.ben(), snapshot).answer["effect"] == "R-7:pay:v5"


# ---- revoking, by the side of the boundary ---------------------------------------------------------------


@dataclass(frozen=True)
class Side:
    """What a revocation meets and what it does."""

    scene: Callable[[], str]  # gives the decision
    boundary: str
    result: str
    effect: str | None
    status: str
    told: list[str]


def of(effect: Effect) -> str:
    return review.approval_of(effect)


def not_yet_spent() -> str:
    snapshot = review.refund_ready_for_review()
    cast.policy("refund", quorum=2)
    decision: str = approve(cast.ben(), snapshot).answer["decision"]
    return decision


def of_a_superseded_snapshot() -> str:
    decision = not_yet_spent()
    review.freeze(review.cashier(), REFUND, "pay")
    return decision


def of_what_nobody_claimed() -> str:
    return of(review.refund_approved())


def of_what_waits_to_be_sent_again() -> str:
    return of(attempt(review.refund_approved(), NEVER_LEFT))


def of_what_a_worker_holds() -> str:
    effect = review.refund_approved()
    claimed(effect)
    return of(effect)


def of_what_waits_for_a_replay() -> str:
    return of(attempt(review.refund_approved(), UNKNOWN))


def of_what_a_person_looks_into() -> str:
    review.destination("payments", recognises_repeats=False, key_retention_seconds=None)
    return of(attempt(review.refund_approved(), UNKNOWN))


def of_what_was_sent() -> str:
    return of(succeed(review.refund_approved()))


def of_what_failed() -> str:
    return of(attempt(review.refund_approved(), REFUSED))


SIDES = [
    Side(not_yet_spent, "before-authorization", "approval-withdrawn", None, "ready_for_review", ["approval.revoked"]),
    Side(of_a_superseded_snapshot, "none", "approval-withdrawn", None, "ready_for_review", ["approval.revoked"]),
    Side(
        of_what_nobody_claimed, "revocable", "effect-cancelled", "cancelled", "revoked",
        ["approval.revoked", "effect.cancelled"],
    ),
    Side(
        of_what_waits_to_be_sent_again, "revocable", "effect-cancelled", "cancelled", "revoked",
        ["approval.revoked", "effect.cancelled"],
    ),
    Side(of_what_a_worker_holds, "in-flight", "in-flight", "dispatching", "dispatching", ["approval.revoked"]),
    Side(of_what_waits_for_a_replay, "in-flight", "in-flight", "dispatching", "dispatching", ["approval.revoked"]),
    Side(
        of_what_a_person_looks_into, "in-flight", "in-flight", "needs_reconciliation", "needs_reconciliation",
        ["approval.revoked"],
    ),
    Side(
        of_what_was_sent, "sent", "remediation-opened", "succeeded", "sent",
        ["approval.revoked", "remediation.opened"],
    ),
    Side(of_what_failed, "none", "approval-withdrawn", "failed", "failed", ["approval.revoked"]),
]  # fmt: skip


@pytest.mark.parametrize("side", SIDES, ids=lambda side: side.scene.__name__)
def test_what_revoking_does_on_each_side_of_the_boundary(side: Side) -> None:
    decision = side.scene()

    answer = review.revoke(bea(), decision).answer

    effect = Effect.objects.first()
    remediation = Remediation.objects.first()
    assert (answer["boundary"], answer["result"]) == (side.boundary, side.result)
    assert (effect.state if effect else None, cast.reading(REFUND).state.status) == (side.effect, side.status)
    assert answer["effect"] == (effect.pk if effect else None)
    assert (answer["remediation"] is not None) is (remediation is not None) is (side.boundary == "sent")
    assert kinds(len(side.told)) == side.told
    row = Decision.objects.get()
    assert (row.revoked_by, row.revoked_seq) == (
        "user:bea", LedgerEntry.objects.filter(kind="approval.revoked").values_list("seq", flat=True).get(),
    )  # fmt: skip
    assert claim("worker-9") == []


def test_the_same_revocation_again_is_answered_and_another_is_told_who_did_it() -> None:
    decision = of_what_nobody_claimed()
    first = authorization.revoke(bea(), decision, "rv-1", "wrong customer")

    again = authorization.revoke(bea(), decision, "rv-1", "wrong customer")

    assert (again.is_replay, again.answer) == (True, first.answer)
    with pytest.raises(AlreadyDecided, match="user:bea"):
        authorization.revoke(cast.ben(), decision, "rv-2", "wrong customer")


def test_revoking_one_of_those_spent_withdraws_the_authorization() -> None:
    snapshot = review.refund_ready_for_review()
    cast.policy("refund", quorum=2)
    first = approve(cast.ben(), snapshot).answer["decision"]
    approve(bea(), snapshot)

    answer = review.revoke(bea(), first).answer

    assert (answer["result"], Effect.objects.get().state) == ("effect-cancelled", "cancelled")


def test_a_halt_does_not_keep_anybody_from_revoking() -> None:
    decision = of_what_nobody_claimed()
    set_halt(True, cast.SETUP)

    assert review.revoke(bea(), decision).answer["result"] == "effect-cancelled"


# ---- compensation ----------------------------------------------------------------------------------------


def recalled() -> Effect:
    """The recall of a refund that was paid, authorized."""
    review.destination("payments-recall", url="https://provider.example.com/recall")
    sent = succeed(review.refund_approved())
    snapshot = review.freeze(review.cashier(), REFUND, "recall", of=sent.pk).answer["snapshot"]
    approve(cast.ben(), snapshot)
    return review.effect_of()


@pytest.mark.parametrize(("result", "state"), [(ACCEPTED, "succeeded"), (REFUSED, "failed"), (UNKNOWN, "dispatching")])
def test_nothing_about_a_compensation_moves_its_run(result: Any, state: str) -> None:
    effect = recalled()
    after_authorization = cast.reading(REFUND)

    attempt(effect, result)

    run = cast.reading(REFUND)
    assert (effect.pk, effect.compensates, effect.state) == ("R-7:recall:v8", "R-7:pay:v4", state)
    assert (run.version, run.state.status, run.effect) == (after_authorization.version, "sent", "R-7:pay:v4")
    assert after_authorization.state.active_snapshot is None


def test_a_revoked_compensation_is_cancelled_and_its_run_stays_sent() -> None:
    effect = recalled()

    answer = review.revoke(bea(), review.approval_of(effect)).answer

    assert (answer["result"], cast.reading(REFUND).state.status) == ("effect-cancelled", "sent")


def test_a_compensation_is_authorized_only_while_its_run_is_sent() -> None:
    review.destination("payments-recall", url="https://provider.example.com/recall")
    sent = succeed(review.refund_approved())
    snapshot = review.freeze(review.cashier(), REFUND, "recall", of=sent.pk).answer["snapshot"]
    cast.command(cast.ada(), REFUND, "reopen")

    answer = approve(cast.ben(), snapshot).answer

    assert answer["authorization_refused"]["code"] == "invalid-transition"
    assert (answer["authorization_refused"]["expected"], answer["authorization_refused"]["actual"]) == (
        "sent", "working",
    )  # fmt: skip
