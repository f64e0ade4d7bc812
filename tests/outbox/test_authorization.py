"""Freeze, decide, authorize, revoke: the actions that join approval and effect."""

import hashlib
import json

import pytest

from approvals import destinations
from approvals.artifacts import Submission, submit_artifact
from approvals.deciding import DecisionRequest, record_shown
from approvals.errors import SnapshotNotActive
from approvals.models import Snapshot
from approvals.states import Verdict
from approvals.values import FreezeRequest
from outbox import authorization
from outbox.authorization import AuthorizationRequest
from outbox.models import Effect
from runs import authority
from runs.models import LedgerEntry
from runs.values import Principal
from tests import cast

pytestmark = pytest.mark.django_db


def destination(name: str) -> None:
    """A registered destination, unless the test has registered one of its own."""
    if destinations.newest_revision(name):
        return
    url = "https://provider.example.com/deliver"
    terms = destinations.Terms(adapter="http", url=url, recognises_repeats=True, key_retention_seconds=86400)
    destinations.register_destination(name, terms, cast.SETUP)


def artifact(who: Principal, key: str, slot: str, inputs: int, content: bytes) -> str:
    sha256 = "sha256:" + hashlib.sha256(content).hexdigest()
    media_type = "application/json"
    sent = Submission(f"{slot}-{inputs}", slot, inputs, media_type, content, sha256)
    return submit_artifact(who, key, sent).artifact.pk


def approve(who: Principal, snapshot: str, version: int, number: str = "d1") -> authorization.Receipt:
    row = Snapshot.objects.get(pk=snapshot)
    record_shown(who.id, snapshot, row.manifest_sha256)
    epoch = authority.current_epoch()
    request = DecisionRequest(number, Verdict.APPROVE, row.manifest_sha256, version, epoch, "looks right")
    return authorization.decide(who, snapshot, request)


def report_ready_for_review(key: str = "R-42") -> str:
    """The report of the walk, frozen: version 7."""
    coordinator = cast.agent("coordinator", cast.REPORT_SCOPES, ("report",)).principal
    destination("customer-reports")
    cast.run_received(key, "report", question="Q3 churn?", audience="team")
    cast.command(coordinator, key, "start")
    cast.command(coordinator, key, "add-tag", tag="q3")
    cast.command(coordinator, key, "add-tag", tag="churn")
    cast.command(coordinator, key, "add-note", note={"id": "n1", "text": "Use the warehouse."})
    cast.command(coordinator, key, "set-audience", audience="board")
    research = artifact(coordinator, key, "research", 6, b'{"sources": 4}')
    calculation = artifact(coordinator, key, "calculation", 6, b'{"churn": "1.9"}')
    named = {
        slot: {"id": number, "sha256": "sha256:" + hashlib.sha256(content).hexdigest()}
        for slot, number, content in (
            ("research", research, b'{"sources": 4}'),
            ("calculation", calculation, b'{"churn": "1.9"}'),
        )
    }
    request = FreezeRequest(
        "f1", "send", "ready", {"research": research, "calculation": calculation}, {"title": "Q3", "artifacts": named}
    )
    outcome = authorization.freeze_snapshot(coordinator, key, 6, request)
    snapshot: str = outcome.answer["snapshot"]
    return snapshot


def test_the_walk_goes_from_two_artifacts_to_one_authorized_effect() -> None:
    snapshot = report_ready_for_review()
    row = Snapshot.objects.get(pk=snapshot)
    coordinator = Principal("agent", "coordinator")

    approved = approve(cast.ben(), snapshot, 7)
    request = AuthorizationRequest("a1", snapshot, row.manifest_sha256, "approved")
    receipt = authorization.authorize(coordinator, "R-42", 7, request)
    second = authorization.authorize(
        coordinator, "R-42", 7, AuthorizationRequest("a2", snapshot, row.manifest_sha256, "approved")
    )

    assert snapshot == "R-42:review:v7:c1"
    assert approved.answer["approvals_active"] == 1 and approved.answer["effect"] is None
    assert receipt.answer == {"effect": "R-42:send:v8", "effect_state": "pending"}
    assert second.is_replay and second.answer == receipt.answer
    run = cast.reading("R-42")
    assert (run.version, run.state.status.value, run.state.active_snapshot) == (8, "approved", None)
    assert run.effect == "R-42:send:v8"
    assert Effect.objects.get().payload_sha256 == row.payload_sha256
    kinds = list(LedgerEntry.objects.order_by("seq").values_list("kind", flat=True))
    assert kinds[-3:] == ["snapshot.frozen", "decision.approved", "effect.authorized"]
    assert json.loads(bytes(row.manifest))["artifacts"][0]["id"] == "R-42:calculation:6:a"


# ---- refunds: automatic authorization, consent by field, revocation --------------------------------------


def refund_ready_for_review(key: str = "R-7", amount: str = "25.00") -> str:
    """A refund whose payment is frozen by an agent of Ada's; Mara set the amount."""
    cashier = cast.agent("cashier").principal
    destination("payments")
    cast.run_received(key, recipient="Ana Lima")
    cast.command(cashier, key, "set-refund-amount", amount=amount, currency="EUR")
    outcome = authorization.freeze_snapshot(cashier, key, 2, FreezeRequest("f1", "pay", "complete"))
    snapshot: str = outcome.answer["snapshot"]
    return snapshot


def test_the_last_needed_approval_authorizes_in_the_same_commit() -> None:
    snapshot = refund_ready_for_review()

    receipt = approve(cast.ben(), snapshot, 3)

    assert receipt.answer["effect"] == "R-7:pay:v4"
    assert cast.reading("R-7").state.status == "approved"
    assert Snapshot.objects.get().sentence == "Pay 25.00 EUR to Ana Lima for case R-7."


def test_a_note_voids_nothing_and_a_changed_amount_voids_in_its_own_commit() -> None:
    snapshot = refund_ready_for_review()

    noted = cast.command(cast.ada(), "R-7", "add-note", note={"id": "n1", "text": "called back"})
    changed = cast.command(cast.ada(), "R-7", "set-refund-amount", amount="26.00", currency="EUR")

    assert noted.answer["consent"] == {"stands": True, "because": "stands: only `notes` changed"}
    assert changed.answer["consent"]["stands"] is False
    run = cast.reading("R-7")
    assert (run.state.status, run.state.active_snapshot) == ("working", None)
    with pytest.raises(SnapshotNotActive):
        approve(cast.ben(), snapshot, 5)


def test_revoking_before_anything_left_cancels_the_effect_in_the_same_commit() -> None:
    snapshot = refund_ready_for_review()
    decision = approve(cast.ben(), snapshot, 3).answer["decision"]

    revoked = authorization.revoke(cast.ben(), decision, "rv1", "wrong customer")

    assert revoked.answer["boundary"] == "revocable" and revoked.answer["result"] == "effect-cancelled"
    assert Effect.objects.get().state == "cancelled"
    assert cast.reading("R-7").state.status == "revoked"
    assert authorization.revoke(cast.ben(), decision, "rv1", "wrong customer").is_replay
