"""Deciding on a snapshot: what refuses a decision, and what is written for one.

Needs an open transaction that holds the run's lock; `outbox.authorization` opens it, because the last
needed approval may authorize in the same commit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from uuid6 import uuid7

from approvals.errors import AuthorityChanged, FactsChanged, ManifestMismatch, NotShown, SnapshotNotActive
from approvals.models import Decision, Shown
from approvals.reviewing import Review
from approvals.states import Verdict
from runs import store
from runs.chain import rfc3339
from runs.errors import (
    AgentsCannotDecide,
    AlreadyDecided,
    Fault,
    Forbidden,
    InvalidParams,
    NotFound,
    ReauthenticationRequired,
    SeparationOfDuties,
    VersionConflict,
)
from runs.fields import same
from runs.models import AuthorityChange
from runs.moved import version_conflict
from runs.permissions import is_reviewer, require_going_on
from runs.states import RunStatus
from runs.store import Record
from runs.transactions import execute
from runs.values import NewEntry, RunReading, RunState, cited

JSON = Any

_SHOWN = """
INSERT INTO approvals_shown (snapshot_id, person_id, manifest_sha256, first_at, last_at)
VALUES (%s, %s, %s, clock_timestamp(), clock_timestamp())
ON CONFLICT (snapshot_id, person_id) DO UPDATE SET last_at = excluded.last_at
"""


@dataclass(frozen=True, slots=True)
class DecisionRequest:
    """What a person says of a snapshot, naming exactly what they were shown."""

    id: str
    verdict: Verdict
    manifest_sha256: str
    run_version: int
    authority_epoch: int
    reason: str = ""
    evidence: tuple[str, ...] = ()
    authenticated_at: datetime | None = None  # when the person last proved who they are

    def identity(self, snapshot: str) -> dict[str, JSON]:
        return {
            "name": "decide",
            "snapshot": snapshot,
            "verdict": self.verdict.value,
            "manifest_sha256": self.manifest_sha256,
            "reason": self.reason,
            **cited(self.evidence),
        }


def decision_ref(number: UUID) -> str:
    """The public id of a decision."""
    return f"d-{number.hex}"


def decision_number(ref: str) -> UUID:
    """The number behind a public id. Raises `NotFound` for what is no id of a decision."""
    try:
        number = UUID(ref.removeprefix("d-"))
    except ValueError as error:
        raise NotFound from error
    if decision_ref(number) != ref:
        raise NotFound
    return number


# ---- what refuses a decision -----------------------------------------------------------------------------


def require_decidable(review: Review, request: DecisionRequest) -> None:
    """Raise the typed refusal, in the order of the API's checks, unless this person may decide so now."""
    _require_authority(review, request)
    if request.verdict is Verdict.DENY and not request.reason.strip():
        raise InvalidParams("A deny needs a reason.", errors=[Fault("/reason", "blank", "Say why.")])
    if not review.is_active:
        raise SnapshotNotActive(expected=review.row.pk, actual=review.run.state.active_snapshot)
    _require_seen(review, request)
    if request.verdict is Verdict.APPROVE:
        _require_approvable(review, request)


def _require_authority(review: Review, request: DecisionRequest) -> None:
    if review.principal.is_agent:
        raise AgentsCannotDecide
    if not is_reviewer(review.principal, review.policy):
        raise Forbidden("Only reviewers of this workflow decide on its snapshots.")
    if request.verdict is Verdict.APPROVE:
        require_going_on(review.policy, is_halted=review.found.is_halted)
        _require_fresh_proof(review, request.authenticated_at)
    _require_same_authority(review, request.authority_epoch)


def _require_fresh_proof(review: Review, authenticated_at: datetime | None) -> None:
    """Where the policy asks for it, approving needs a proof of identity that is fresh by the database's clock."""
    within = review.policy.reauthenticate_within
    if within is None:
        return
    if authenticated_at is None or review.found.now - authenticated_at > timedelta(seconds=within):
        raise ReauthenticationRequired(expected=f"within {within} s")


def _require_same_authority(review: Review, seen_epoch: int) -> None:
    """Neither the workflow's authority nor this person's changed since the epoch that was shown."""
    since = AuthorityChange.objects.filter(epoch__gt=seen_epoch)
    changed = since.filter(subject=review.principal.name, kind__startswith="person.") | since.filter(
        subject=review.run.workflow, kind__startswith="workflow."
    )
    if changed.exists() or seen_epoch > review.found.authority_epoch:
        raise AuthorityChanged(expected=review.found.authority_epoch, actual=seen_epoch)


def _require_seen(review: Review, request: DecisionRequest) -> None:
    """The person saw this snapshot, these bytes, this version."""
    row = review.row
    if request.manifest_sha256 != row.manifest_sha256:
        raise ManifestMismatch(expected=row.manifest_sha256, actual=request.manifest_sha256)
    review.require_bytes()
    shown = Shown.objects.filter(snapshot_id=row.pk, person_id=review.principal.id, manifest_sha256=row.manifest_sha256)
    if not shown.exists():
        raise NotShown(expected=row.manifest_sha256, actual=None)
    if row.contract == "exact" and not review.run.version == row.run_version == request.run_version:
        raise _moved(review, request)
    if row.contract != "exact" and not row.run_version <= request.run_version <= review.run.version:
        raise _moved(review, request)


def _moved(review: Review, request: DecisionRequest) -> VersionConflict:
    words = "The record is not at the version you were shown."
    return version_conflict(
        words,
        review.found,
        review.run,
        review.policy,
        command_id=request.id,
        name="decide",
        seen=request.run_version,
    )


def _require_approvable(review: Review, request: DecisionRequest) -> None:
    require_facts(review)
    if part := review.part_of(review.principal.id):
        raise SeparationOfDuties(f"You {part.because}: somebody else has to approve.", because=part.because)
    mine = next((item for item in review.counting if item.person_id == review.principal.id), None)
    if mine is not None:
        row = next(row for row in review.decisions if decision_ref(row.pk) == mine.id)
        raise AlreadyDecided(
            "You approved this already.",
            expected="undecided",
            actual=row.verdict,
            decision=mine.id,
            at=rfc3339(row.decided_at),
        )


def require_facts(review: Review) -> None:
    """Raise `FactsChanged` unless every fact of consent and `only_when` still hold."""
    frozen: Mapping[str, JSON] = review.manifest["facts"]["values"]
    now = review.run.state.fields
    for name, value in frozen.items():
        if not same(now.get(name), value):
            raise FactsChanged(f"{name} changed since it was frozen.", field=name, expected=value, actual=now.get(name))
    for name, allowed in review.action.only_when.items():
        if not any(same(now.get(name), value) for value in allowed):
            raise FactsChanged(
                f"{name} does not allow this now.", field=name, expected=list(allowed), actual=now.get(name)
            )


# ---- what is written -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision that was written, and the run after it."""

    decision: Decision
    run: RunReading


def write_decision(review: Review, request: DecisionRequest, record: Record | None) -> Decided:
    """Write a decision with its ledger entry. A deny also ends the review: pointer cleared, back to work."""
    row, run, now = review.row, review.run, review.found.now
    number = uuid7()
    after, changes = _after_deny(review) if request.verdict is Verdict.DENY else (run, {})
    body = {
        "decision": decision_ref(number),
        "snapshot": row.pk,
        "manifest_sha256": row.manifest_sha256,
        "reason": request.reason,
        **cited(request.evidence),
        "changes": changes,
    }
    kind = "decision.approved" if request.verdict is Verdict.APPROVE else "decision.denied"
    entry = NewEntry(kind, review.principal.actor, request.id, body, after.version, tuple(changes))
    store.require_step(run, after, [entry], record, now)
    decision = Decision.objects.create(
        id=number,
        snapshot_id=row.pk,
        manifest_sha256=row.manifest_sha256,
        run_id=run.id,
        verdict=request.verdict.value,
        person_id=review.principal.id,
        run_version=request.run_version,
        authority_version=review.policy.authority_version,
        ledger_epoch=review.found.ledger_epoch,
        seq=run.head_seq + 1,
        reason=request.reason,
        decided_at=now,
        expires_at=now + timedelta(seconds=review.policy.decision_expires_after),
    )
    return Decided(decision, store.read_by_id(run.id))


def _after_deny(review: Review) -> tuple[RunReading, dict[str, dict[str, JSON]]]:
    """The run with its review ended. The end of a compensation's review leaves the status as it is."""
    run = review.run
    back = RunStatus.WORKING if run.state.status is RunStatus.READY_FOR_REVIEW else run.state.status
    changes: dict[str, dict[str, JSON]] = {"active_snapshot": {"from": run.state.active_snapshot, "to": None}}
    if back is not run.state.status:
        changes["status"] = {"from": run.state.status.value, "to": back.value}
    after = replace(
        run,
        version=run.version + 1,
        state=RunState(back, run.state.fields, None),
        under_review=None,
        updated_at=review.found.now,
    )
    return after, changes


def record_shown(person_id: int, snapshot: str, manifest_sha256: str) -> None:
    """Record that a person was shown a snapshot. The only thing a reading request writes."""
    execute(_SHOWN, [snapshot, person_id, manifest_sha256])
