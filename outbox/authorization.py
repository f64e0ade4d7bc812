"""The actions that join approval and effect: freeze, decide, authorize, revoke. Each is one durable transaction.

Every one locks the run first and checks in later statements: a check that is joined to a lock reads what
was true before the wait.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from approvals import blobs, freezing
from approvals.deciding import DecisionRequest, decision_number, decision_ref, require_decidable, write_decision
from approvals.models import Artifact, Decision, Snapshot
from approvals.reviewing import Review, load_review
from approvals.standing import spend_standing
from approvals.states import Boundary, Verdict
from approvals.values import FreezeRequest
from outbox.authorizing import create_effect, operation_id_of, refusal_json, require_authorizable, require_unchanged
from outbox.following import Fact, Movement, move
from outbox.models import Effect
from outbox.receipts import boundary_of, compensated, effect_of, freeze_as_it_stands, freeze_told, receipt
from outbox.remediations import open_remediation, remediation_ref
from outbox.states import EffectState, Step
from runs import escalations, store
from runs.attempts import request_sha256
from runs.chain import rfc3339
from runs.definitions import Workflow
from runs.digest import tagged
from runs.errors import AgentsCannotDecide, AlreadyDecided, ClearanceError, CommandIdReused, Forbidden, NotFound
from runs.escalations import Resolution, ResolutionRequest, open_case
from runs.locks import claim_id, hold_run
from runs.outcomes import Outcome, replayed, require_strong, visible
from runs.permissions import is_admin, is_reviewer, require_going_on, require_scope
from runs.store import Found, Record
from runs.transactions import durable
from runs.values import NewEntry, Principal, RunReading, cited
from runs.verbs import Verb, load_case

JSON = Any


@dataclass(frozen=True, slots=True)
class Receipt:
    """The recorded answer of an action on a snapshot, and the run after it."""

    answer: Mapping[str, JSON]
    run: RunReading
    workflow: Workflow
    ledger_epoch: int
    is_replay: bool = False


# ---- freeze ----------------------------------------------------------------------------------------------


def freeze_snapshot(principal: Principal, key: str, expected: int, request: FreezeRequest) -> Outcome:
    """Put a candidate under review: snapshot, pointer and status in one commit. Freezing again supersedes.

    The artifacts' bytes are hashed before the transaction. Locks: the id, the run. A stale freeze is
    answered by the action's rules. Raises `NotFound`, the refusals of authority, `InvalidParams`,
    `InvalidTransition`, `InputOutdated`, `PayloadIncomplete`, `DestinationUnknown`, `EscalationOpen`.
    """
    return _freeze(principal, key, expected, request, _altered(request.artifacts.values()))


def _altered(artifacts: Iterable[str]) -> dict[str, str]:
    """Which contents of these artifacts are not what they were. Reads and hashes all of their bytes."""
    return blobs.altered(Artifact.objects.filter(pk__in=list(artifacts)).values_list("content_id", flat=True))


@durable
def _freeze(
    principal: Principal, key: str, expected: int, request: FreezeRequest, altered: Mapping[str, str]
) -> Outcome:
    command = request.as_command()
    claim_id(key, principal.actor, request.id)
    hold_run(key)
    found = store.read(key, principal.actor, request.id, command.counted_intent)
    run, principal, policy = visible(principal, found)
    if replay := replayed(principal, found, run, expected, command):
        return replay if replay.is_refusal else replace(replay, answer=freeze_as_it_stands(run.id, replay))
    source = compensated(run.id, request.of)
    outcome = freezing.freeze(freezing.admit(principal, found, run, policy, expected, command, source, altered))
    return outcome if outcome.is_refusal else _authorize_by_standing(principal, found, outcome, request)


def _authorize_by_standing(principal: Principal, found: Found, outcome: Outcome, request: FreezeRequest) -> Outcome:
    """Where a standing approval completes the quorum at once, authorize in the commit of the freeze."""
    assert outcome.run is not None
    review = load_review(principal, outcome.answer["snapshot"], replace(found, run=outcome.run))
    approval = spend_standing(review, request.id)
    if approval is None:
        return outcome
    review = _again(review)
    require_authorizable(review, review.row.manifest_sha256, review.run.version, request.id)
    _, run = create_effect(review, request.id, request.reason, None, request.evidence)
    return replace(outcome, answer=freeze_told(outcome.answer), run=run)


@durable
def _apply_freeze(principal: Principal, ref: str, request: ResolutionRequest, altered: Mapping[str, str]) -> Resolution:
    """Freeze the current candidate of an escalated freeze, as its operator. Whoever proposed it first counts too.

    Locks: the id, the run. Raises what `runs.escalations.resolve` and `freeze_snapshot` raise.
    """
    opened = open_case(principal, ref, request)
    if isinstance(opened, Resolution):
        return opened
    case = opened.case
    command = replace(case.proposal, id=request.id, reason=request.reason, evidence=request.evidence)
    source = compensated(case.run.id, command.params["of"])
    version = case.run.version
    attempted = freezing.admit(case.operator, case.found, case.run, case.policy, version, command, source, altered)
    outcome = freezing.put_under_review(attempted, applied=freezing.Applied(case, request))
    assert outcome.run is not None
    return Resolution(outcome.answer, outcome.run, case.workflow, case.found.ledger_epoch)


def resolve(principal: Principal, ref: str, request: ResolutionRequest) -> Resolution:
    """Settle any escalation. See `runs.escalations.resolve`; applying a freeze freezes the current candidate."""
    case = load_case(principal, ref)
    if request.verb is Verb.APPLY and case.is_freeze:
        return _apply_freeze(principal, ref, request, _altered(case.proposal.params["artifacts"].values()))
    return escalations.resolve(principal, ref, request)


# ---- decide ----------------------------------------------------------------------------------------------


def decide(principal: Principal, snapshot: str, request: DecisionRequest) -> Receipt:
    """Approve or deny one snapshot id and manifest hash. The last needed approval authorizes where that is automatic.

    The artifacts' bytes are hashed before the transaction. Locks: the id, the run. If a check of the
    authorization fails then, the decision stands and the answer names the fact. Raises `NotFound`,
    `AgentsCannotDecide`, `Forbidden`, `AuthorityChanged`, `SnapshotNotActive`, `ManifestMismatch`,
    `HashMismatch`, `NotShown`, `VersionConflict`, `FactsChanged`, `SeparationOfDuties`, `AlreadyDecided`.
    """
    is_approval = request.verdict is Verdict.APPROVE
    return _decide(principal, snapshot, request, _altered_of(snapshot) if is_approval else {})


@durable
def _decide(principal: Principal, snapshot: str, request: DecisionRequest, altered: Mapping[str, str]) -> Receipt:
    review = _locked_review(principal, snapshot, request.id, altered)
    identity = request.identity(snapshot)
    if replay := _replay(review, identity):
        return replay
    require_decidable(review, request)
    decided = write_decision(review, request, None)
    review = _again(review)
    effect, refused, run = None, None, decided.run
    if request.verdict is Verdict.APPROVE and review.action.authorize == "automatic":
        effect, refused, run = _authorize_if_complete(review, request)
    answer = {
        "decision": decision_ref(decided.decision.pk),
        "approvals_active": len(review.counting),
        "approvals_needed": review.policy.quorum,
        "effect": effect.operation_id if effect else None,
        "authorization_refused": refused,
    }
    store.record_only(run.id, _record(review, request.id, identity, answer), review.found.now)
    return Receipt(answer, run, review.workflow, review.found.ledger_epoch)


def _authorize_if_complete(
    review: Review, request: DecisionRequest
) -> tuple[Effect | None, dict[str, JSON] | None, RunReading]:
    """Authorize when the quorum is there, with a standing approval or without. A failing check leaves the decision.

    Everything else is checked before a use is spent, because a use is never given back.
    """
    try:
        require_unchanged(review, review.row.manifest_sha256, review.run.version, request.id)
    except ClearanceError as refusal:
        is_complete = len(review.counting) >= review.policy.quorum
        return None, refusal_json(refusal) if is_complete else None, review.run
    if spend_standing(review, request.id):
        review = _again(review)
    if len(review.counting) < review.policy.quorum:
        return None, None, review.run
    effect, run = create_effect(review, request.id, request.reason, None, request.evidence)
    return effect, None, run


# ---- authorize -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """A coordinator spends the approvals of exactly these bytes."""

    id: str
    snapshot: str
    manifest_sha256: str
    reason: str
    evidence: tuple[str, ...] = ()

    def identity(self) -> dict[str, JSON]:
        names = ("snapshot", "manifest_sha256", "reason")
        return {"name": "authorize", **{name: getattr(self, name) for name in names}, **cited(self.evidence)}


def authorize(principal: Principal, key: str, expected: int, request: AuthorizationRequest) -> Receipt:
    """Spend the needed approvals and create the one effect. Whoever comes second gets the first receipt.

    The artifacts' bytes are hashed before the transaction. Locks: the id, the run. Raises `NotFound`,
    `ScopeMissing`, `Halted`, `WorkflowSuspended`, `SnapshotNotActive`, `ManifestMismatch`, `HashMismatch`,
    `VersionConflict`, `InvalidTransition`, `FactsChanged`, `DestinationChanged`, `ApprovalMissing`,
    `ApprovalExpired`, `ApprovalRevoked`, `OperationMismatch`.
    """
    return _authorize(principal, key, expected, request, _altered_of(request.snapshot))


@durable
def _authorize(
    principal: Principal, key: str, expected: int, request: AuthorizationRequest, altered: Mapping[str, str]
) -> Receipt:
    review = _locked_review(principal, request.snapshot, request.id, altered)
    if review.run.key != key:
        raise NotFound
    if replay := _replay(review, request.identity()):
        return replay
    require_strong(expected)
    require_scope(review.principal, review.run.workflow, review.action.scope, review.policy)
    require_going_on(review.policy, is_halted=review.found.is_halted)
    if (known := effect_of(request.snapshot)) is not None:
        answer = receipt(known)
        store.record_only(review.run.id, _record(review, request.id, request.identity(), answer), review.found.now)
        return Receipt(answer, review.run, review.workflow, review.found.ledger_epoch, is_replay=True)
    require_authorizable(review, request.manifest_sha256, expected, request.id)
    answer = {"effect": operation_id_of(review), "effect_state": EffectState.PENDING.value}
    record = _record(review, request.id, request.identity(), answer)
    _, run = create_effect(review, request.id, request.reason, record, request.evidence)
    return Receipt(answer, run, review.workflow, review.found.ledger_epoch)


# ---- revoke ----------------------------------------------------------------------------------------------

#: What revoking did, by the side of the boundary it met.
RESULTS = {
    Boundary.BEFORE_AUTHORIZATION: "approval-withdrawn",
    Boundary.NONE: "approval-withdrawn",
    Boundary.REVOCABLE: "effect-cancelled",
    Boundary.IN_FLIGHT: "in-flight",
    Boundary.SENT: "remediation-opened",
}


@durable
def revoke(principal: Principal, decision: str, request_id: str, reason: str, evidence: Sequence[str] = ()) -> Receipt:
    """Revoke an approval. Before the boundary nothing can be sent any more; past it, it ends as what is found.

    Locks: the id, the run. Raises `NotFound`, `AgentsCannotDecide`, `Forbidden`, `AlreadyDecided`.
    """
    given = Decision.objects.filter(pk=decision_number(decision)).first()
    if given is None:
        raise NotFound
    review = _locked_review(principal, given.snapshot_id, request_id)
    words = {"reason": reason, **cited(evidence)}
    identity = {"name": "revoke", "decision": decision, **words}
    if replay := _replay(review, identity):
        return replay
    given.refresh_from_db()
    _require_revocable(review, given)
    effect = effect_of(given.snapshot_id)
    withdrawn = effect if effect is not None and given.pk in effect.approvals else None
    boundary = boundary_of(review, withdrawn)
    answer = {
        "boundary": boundary.value,
        "result": RESULTS[boundary],
        "effect": withdrawn.operation_id if withdrawn else None,
        "remediation": None,
    }
    run = _write_revocation(review, given, withdrawn if boundary is Boundary.REVOCABLE else None, words, request_id)
    if withdrawn is not None and boundary is Boundary.SENT:
        because = f"its approval was revoked after it had happened: {reason}"
        opened = open_remediation(withdrawn, because, review.principal.actor, review.found.now, request_id)
        answer["remediation"] = remediation_ref(opened.pk)
    store.record_only(run.id, _record(review, request_id, identity, answer), review.found.now)
    return Receipt(answer, run, review.workflow, review.found.ledger_epoch)


def _require_revocable(review: Review, given: Decision) -> None:
    if review.principal.is_agent:
        raise AgentsCannotDecide
    if not (is_reviewer(review.principal, review.policy) or is_admin(review.principal)):
        raise Forbidden("Reviewers of this workflow and admins revoke approvals.")
    if given.verdict != Verdict.APPROVE:
        raise Forbidden("Only an approval can be revoked.")
    if given.revoked_at is not None:
        raise AlreadyDecided(
            f"{given.revoked_by} revoked this already.",
            at=rfc3339(given.revoked_at),
            expected="not revoked",
            actual="revoked",
        )


def _write_revocation(
    review: Review, given: Decision, cancelled: Effect | None, words: Mapping[str, JSON], request_id: str
) -> RunReading:
    """Revoke, and where nothing may have left cancel the effect in the same commit."""
    run, now, actor = review.run, review.found.now, review.principal.actor
    told = {"decision": decision_ref(given.pk), "snapshot": given.snapshot_id, **words}
    if cancelled is None:
        store.require_step(run, run, [NewEntry("approval.revoked", actor, request_id, told, run.version)], None, now)
    else:
        because = "its approval was revoked before anything happened"
        movement = Movement(EffectState.CANCELLED, Step.NONE, None, because)
        facts = [Fact("approval.revoked", told), Fact("effect.cancelled", {"because": because})]
        move(cancelled, run, movement, facts, actor=actor, now=now, command_id=request_id)
    Decision.objects.filter(pk=given.pk).update(revoked_at=now, revoked_by=actor, revoked_seq=run.head_seq + 1)
    return store.read_by_id(run.id)


# ---- common ----------------------------------------------------------------------------------------------


def _altered_of(snapshot: str) -> dict[str, str]:
    """Which contents that a snapshot names are not what was frozen. Altered manifests name none: they are refused."""
    row = Snapshot.objects.filter(pk=snapshot).first()
    if row is None or tagged(bytes(row.manifest)) != row.manifest_sha256:
        return {}
    return _altered(item["id"] for item in json.loads(bytes(row.manifest))["artifacts"])


def _locked_review(
    principal: Principal, snapshot: str, request_id: str, altered: Mapping[str, str] | None = None
) -> Review:
    """A snapshot read under its run's lock, as `principal` sees it. Raises `NotFound`."""
    key = Snapshot.objects.filter(pk=snapshot).values_list("run__key", flat=True).first()
    if key is None:
        raise NotFound
    claim_id(key, principal.actor, request_id)
    hold_run(key)
    found = store.read(key, principal.actor, request_id)
    _, principal, _ = visible(principal, found)
    return replace(load_review(principal, snapshot, found), altered=altered or {})


def _again(review: Review) -> Review:
    """The review read again, after this transaction wrote to it."""
    found = replace(review.found, run=store.read_by_id(review.run.id))
    return replace(load_review(review.principal, review.row.pk, found), altered=review.altered)


def _replay(review: Review, identity: Mapping[str, JSON]) -> Receipt | None:
    recorded = review.found.recorded
    if recorded is None:
        return None
    if recorded.request_sha256 != request_sha256(identity):
        raise CommandIdReused(f"{recorded.name} has this id.")
    answer = json.loads(recorded.answer)
    if recorded.name == "authorize" and (effect := effect_of(review.row.pk)) is not None:
        answer = receipt(effect)
    return Receipt(answer, review.run, review.workflow, review.found.ledger_epoch, is_replay=True)


def _record(review: Review, request_id: str, identity: Mapping[str, JSON], answer: dict[str, JSON]) -> Record:
    return Record(review.principal.actor, request_id, identity["name"], request_sha256(identity), "done", answer)
