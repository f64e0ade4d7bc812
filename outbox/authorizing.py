"""The check and the one commit that spends approvals and creates the one effect.

Needs an open transaction that holds the run's lock: lock first, then check in separate statements.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from approvals import destinations
from approvals.deciding import decision_number, require_facts
from approvals.errors import (
    ApprovalExpired,
    ApprovalMissing,
    ApprovalRevoked,
    DestinationChanged,
    HashMismatch,
    ManifestMismatch,
    SnapshotNotActive,
)
from approvals.models import Artifact, Decision
from approvals.reviewing import Review
from outbox.bell import ring_after_commit
from outbox.models import Effect
from runs import store
from runs.errors import ClearanceError, InvalidTransition, OperationMismatch, VersionConflict
from runs.moved import version_conflict
from runs.permissions import require_going_on
from runs.states import RunStatus
from runs.store import Record
from runs.transitions import legal_commands
from runs.values import NewEntry, RunReading, RunState, cited

JSON = Any

#: What an operation id stands for: an effect that exists must be equal in all of these.
FROZEN = ("run_id", "snapshot_id", "action", "compensates", "manifest_sha256", "payload_sha256", "destination",
          "destination_revision", "idempotency_key")  # fmt: skip


def require_authorizable(review: Review, manifest_sha256: str, expected_version: int, request_id: str) -> None:
    """Raise the refusal that names the differing fact, in the order of the API's checks, unless all of it holds now."""
    require_unchanged(review, manifest_sha256, expected_version, request_id)
    _require_approvals(review)


def require_unchanged(review: Review, manifest_sha256: str, expected_version: int, request_id: str) -> None:
    """The same for all but the approvals: that everything still is as it was frozen."""
    row, run = review.row, review.run
    require_going_on(review.policy, is_halted=review.found.is_halted)
    if not review.is_active:
        raise SnapshotNotActive(expected=row.pk, actual=run.state.active_snapshot)
    if manifest_sha256 != row.manifest_sha256:
        raise ManifestMismatch(expected=row.manifest_sha256, actual=manifest_sha256)
    review.require_bytes()
    if expected_version != run.version or (row.contract == "exact" and run.version != row.run_version):
        raise _moved(review, expected_version, request_id)
    _require_status(review)
    require_facts(review)
    _require_artifacts(review)
    _require_destination(review)


def _require_status(review: Review) -> None:
    wanted = RunStatus.SENT if review.action.compensates else RunStatus.READY_FOR_REVIEW
    status = review.run.state.status
    if status is not wanted:
        words = f"The run is {status}, not {wanted}."
        steps = legal_commands(review.workflow, review.run.state)
        raise InvalidTransition(words, status=status.value, next=steps, expected=wanted.value, actual=status.value)


def _moved(review: Review, expected: int, request_id: str) -> VersionConflict:
    run = review.run
    frozen = review.row.run_version
    words = "The run is not at the version that was named."
    if review.row.contract == "exact" and run.version != frozen:
        words = f"The run is at version {run.version}; the approval is for exactly version {frozen}."
    return version_conflict(
        words, review.found, run, review.policy, command_id=request_id, name="authorize", seen=expected
    )


def _require_artifacts(review: Review) -> None:
    """Every artifact that the manifest names is there with the hash it names."""
    named = {item["id"]: item["sha256"] for item in review.manifest["artifacts"]}
    stored = dict(Artifact.objects.filter(pk__in=named).values_list("pk", "content_id"))
    for number, sha256 in named.items():
        if stored.get(number) != sha256:
            words = f"{number} is not what was frozen."
            raise HashMismatch(words, artifact=number, expected=sha256, actual=stored.get(number))


def _require_destination(review: Review) -> None:
    row = review.row
    now = destinations.current_revision(row.destination)
    if now.revision != row.destination_revision:
        raise DestinationChanged(
            f"{row.destination} is at revision {now.revision}; revision {row.destination_revision} was frozen.",
            expected=row.destination_revision,
            actual=now.revision,
        )
    if destinations.frozen(now).url_sha256 != review.manifest["destination"]["url_sha256"]:
        raise DestinationChanged(expected=review.manifest["destination"]["url_sha256"], actual="another address")


def _require_approvals(review: Review) -> None:
    needed, active = review.policy.quorum, len(review.counting)
    if active >= needed:
        return
    reasons = [review.standing_of(item).because for item in review.given]
    kind: type[ClearanceError] = ApprovalMissing
    if any(words.startswith("revoked") for words in reasons):
        kind = ApprovalRevoked
    elif "expired" in reasons:
        kind = ApprovalExpired
    raise kind(f"{active} of {needed} needed approvals count.", expected=needed, actual=active, because=reasons)


# ---- the one commit --------------------------------------------------------------------------------------


def create_effect(
    review: Review, request_id: str, reason: str, record: Record | None, evidence: Sequence[str] = ()
) -> tuple[Effect, RunReading]:
    """Step the run to `approved`, spend the counting approvals and create the effect, as one commit."""
    run, now = review.run, review.found.now
    effect = _effect(review)
    _require_no_other(effect)
    after = _authorized(review, effect)
    changes = _changes(run, after)
    body = {
        "effect": effect.operation_id,
        "snapshot": review.row.pk,
        "manifest_sha256": review.row.manifest_sha256,
        "payload_sha256": review.row.payload_sha256,
        "approvals": [item.id for item in review.counting],
        "reason": reason,
        **cited(evidence),
        "changes": changes,
    }
    entry = NewEntry("effect.authorized", review.principal.actor, request_id, body, after.version, tuple(changes))
    store.require_step(run, after, [entry], record, now)
    effect.save(force_insert=True)
    Decision.objects.filter(pk__in=effect.approvals).update(spent_by=effect.operation_id)
    ring_after_commit(effect.operation_id)
    return effect, after


def operation_id_of(review: Review) -> str:
    """The id of the effect that authorizing now creates: run, action, and the version that authorizes."""
    return f"{review.run.key}:{review.action.name}:v{review.run.version + 1}"


def _effect(review: Review) -> Effect:
    """The effect row, not yet written."""
    row, run, epoch = review.row, review.run, review.found.ledger_epoch
    operation_id = operation_id_of(review)
    return Effect(
        operation_id=operation_id,
        run_id=run.id,
        workflow=run.workflow,
        snapshot_id=row.pk,
        action=row.action,
        compensates=row.compensates,
        manifest_sha256=row.manifest_sha256,
        payload_sha256=row.payload_sha256,
        destination=row.destination,
        destination_revision=row.destination_revision,
        idempotency_key=operation_id if epoch == 1 else f"{operation_id}:e{epoch}",
        authorized_version=run.version + 1,
        authorized_seq=run.head_seq + 1,
        authorized_by=review.principal.actor,
        authorized_at=review.found.now,
        ledger_epoch=epoch,
        approvals=[decision_number(item.id) for item in review.counting],
        attempts_allowed=review.action.dispatch.attempts,
        timeout_seconds=review.action.dispatch.timeout_seconds,
        lease_seconds=review.action.dispatch.lease_seconds,
        next_at=review.found.now,
    )


def _require_no_other(effect: Effect) -> None:
    """An operation id that exists stands for one effect for ever: any difference is an alarm."""
    known = Effect.objects.filter(pk=effect.operation_id).first()
    if known is None:
        return
    differing = [name for name in FROZEN if getattr(known, name) != getattr(effect, name)]
    raise OperationMismatch(f"{effect.operation_id} exists already.", differing=differing or ["already created"])


def _authorized(review: Review, effect: Effect) -> RunReading:
    """The run after authorization. A compensation moves neither status nor the run's own effect."""
    run, is_compensation = review.run, review.action.compensates is not None
    status = run.state.status if is_compensation else RunStatus.APPROVED
    return replace(
        run,
        version=run.version + 1,
        state=RunState(status, run.state.fields, None),
        under_review=None,
        effect=run.effect if is_compensation else effect.operation_id,
        updated_at=review.found.now,
    )


def _changes(before: RunReading, after: RunReading) -> dict[str, dict[str, JSON]]:
    changes: dict[str, dict[str, JSON]] = {"active_snapshot": {"from": before.state.active_snapshot, "to": None}}
    if before.state.status is not after.state.status:
        changes["status"] = {"from": before.state.status.value, "to": after.state.status.value}
    return changes


def refusal_json(error: ClearanceError) -> dict[str, JSON]:
    """A refusal of the authorization as an approver is told it."""
    members: dict[str, JSON] = json.loads(json.dumps(error.members, default=str))
    return {"code": error.code, "detail": error.detail, **members}
