"""Freezing a candidate: verify artifacts, render the payload, build and hash the manifest, put it under review.

Needs an open transaction that holds the run's lock; `outbox.authorization` opens it. Snapshot, pointer and
status are one commit.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any

from approvals import destinations, manifest, payload
from approvals.errors import InputOutdated
from approvals.models import Artifact, Decision, DestinationRevision, Snapshot
from approvals.parts import parts_in
from approvals.reviewing import require_unaltered
from approvals.values import Compensated
from runs import catalog, store
from runs.attempts import Attempt
from runs.definitions import Action, Policy
from runs.digest import tagged
from runs.errors import EscalationOpen, Fault, InvalidParams, Unavailable
from runs.escalations import ResolutionRequest, entry_of, finish, record_of, settlement_of, without_case
from runs.outcomes import Outcome, refused
from runs.overtaken import close_overtaken
from runs.permissions import require_command, require_going_on, require_grant
from runs.refusals import Refusal, escalate_held, problem, refuse, store_conflict
from runs.states import Disposition, RunStatus
from runs.store import Found
from runs.transitions import require_legal
from runs.values import CommandRequest, Judgement, NewEntry, Principal, RunReading, RunState, UnderReview
from runs.verbs import Case

JSON = Any


@dataclass(frozen=True)
class Freeze:
    """A freeze being attempted: the command it is judged as, the action, what it compensates, and altered contents."""

    attempt: Attempt
    action: Action
    compensated: Compensated | None
    altered: Mapping[str, str]  # contents that are not what their hash says, with what they hash to

    @property
    def params(self) -> Mapping[str, JSON]:
        return self.attempt.request.params

    @property
    def facts(self) -> frozenset[str]:
        return self.attempt.workflow.facts_of_consent(self.action)


def admit(
    principal: Principal,
    found: Found,
    run: RunReading,
    policy: Policy,
    expected: int,
    request: CommandRequest,
    compensated: Compensated | None,
    altered: Mapping[str, str],
) -> Freeze:
    """Check authority and the form of a freeze; nothing about the run's state yet."""
    workflow = catalog.definition(run.workflow, run.revision)
    action = workflow.actions.get(request.params["action"])
    require_going_on(policy, is_halted=found.is_halted)
    if action is None:
        raise _unfit("/action", f"{run.workflow} has no action {request.params['action']}.")
    command = workflow.freezes[request.name]
    require_command(principal, workflow, policy, command)
    require_grant(principal, request.on_behalf_of)
    _check_form(action, request.params, compensated)
    attempt = Attempt(principal, request, expected, found, run, workflow, policy, command)
    return Freeze(attempt, action, compensated, altered)


def _check_form(action: Action, params: Mapping[str, JSON], compensated: Compensated | None) -> None:
    if (params["payload"] is not None) != (action.payload is None):
        words = (
            "supply it: the action does not render one" if action.payload is None else "leave it out: it is rendered"
        )
        raise _unfit("/payload", f"The payload of {action.name}: {words}.")
    if set(params["artifacts"]) != set(action.slots):
        slots = ", ".join(action.slots) or "no slots"
        raise _unfit("/artifacts", f"{action.name} freezes {slots}, neither more nor less.")
    if action.compensates is None and params["of"] is not None:
        raise _unfit("/of", f"{action.name} compensates nothing.")
    if action.compensates is not None and (compensated is None or compensated.action != action.compensates):
        raise _unfit("/of", f"{action.name} needs the succeeded operation of {action.compensates} that it compensates.")


def _unfit(pointer: str, words: str) -> InvalidParams:
    return InvalidParams(words, errors=[Fault(pointer, "unacceptable", words)])


def freeze(attempted: Freeze) -> Outcome:
    """Freeze on the current state, or refuse a stale freeze by the action's rules."""
    attempt = attempted.attempt
    merge = None
    if attempt.expected == attempt.run.version:
        require_legal(attempt.workflow, attempt.run.state, attempt.command)
    else:
        judgement = attempt.judge()
        if judgement.disposition is not Disposition.MERGE:
            return _written(refused(attempt, refuse(attempt, judgement)))
        merge = judgement
    held = next((case for case in attempt.run.held if attempt.command.name in case.elements), None)
    if held is not None and attempt.principal.is_agent:
        return _written(refused(attempt, escalate_held(attempt, held, [attempt.command.name])))
    return put_under_review(attempted, merge)


def _written(outcome: Outcome | None) -> Outcome:
    """Under the run's lock nothing can come between."""
    if outcome is None:
        raise Unavailable
    return outcome


# ---- putting a candidate under review --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Applied:
    """The escalated freeze that an operator applies: its case, how it ends, and the id's record."""

    case: Case
    request: ResolutionRequest


def put_under_review(attempted: Freeze, merge: Judgement | None = None, applied: Applied | None = None) -> Outcome:
    """Freeze the candidate: snapshot row, pointer, status and ledger entries in this one commit.

    Raises `EscalationOpen`, `InputOutdated`, `PayloadIncomplete`, `DestinationUnknown`, `InvalidParams`.
    """
    attempt, run = attempted.attempt, attempted.attempt.run
    _require_facts_settled(attempted)
    row = _snapshot(attempted, applied.case.row.principal if applied else None)
    after = _under_review(attempted, row)
    conflict = None if merge is None else Refusal.of(merge, attempt)
    answer = told(row)
    facts = {"sentence": row.sentence} | ({"conflict": conflict.ref} if conflict else {})
    entries = [_entry(attempted, after, {**answer, **facts})]
    record = attempt.record("done", answer)
    if applied:
        settlement = settlement_of(applied.case, applied.request, after.version)
        outcome = {"id": applied.request.id, "outcome": "committed", "version": after.version, **answer}
        answer = {"verb": applied.request.verb.value, "command": outcome}
        after = without_case(after, applied.case)
        entries.append(entry_of(applied.case, settlement, {"snapshot": row.pk}))
        record = record_of(applied.case, applied.request, answer)
    after, overtaken = close_overtaken(attempt, after)
    store.require_step(run, after, [*entries, *overtaken.entries], record, attempt.found.now)
    row.save(force_insert=True)
    if conflict:
        store_conflict(attempt, conflict, problem(attempt, conflict))
    if applied:
        finish(applied.case, settlement)
    overtaken.settle()
    return Outcome("committed", answer, store.read_by_id(run.id), attempt.workflow, attempt.found.ledger_epoch)


def told(row: Snapshot) -> dict[str, JSON]:
    """What is answered to whoever froze a candidate."""
    hashes = {"manifest_sha256": row.manifest_sha256, "payload_sha256": row.payload_sha256}
    return {"snapshot": row.pk, **hashes, "standing": None, "effect": None}


def _entry(attempted: Freeze, after: RunReading, facts: Mapping[str, JSON]) -> NewEntry:
    attempt, changes = attempted.attempt, _changes(attempted.attempt.run, after)
    body = attempt.body(changes=changes, **facts)
    return NewEntry(
        attempt.command.entry_kind, attempt.principal.actor, attempt.request.id, body, after.version, tuple(changes)
    )


def _require_facts_settled(attempted: Freeze) -> None:
    for case in attempted.attempt.run.held:
        if disputed := sorted(case.elements.keys() & attempted.facts):
            words = f"An open escalation proposes to change {', '.join(disputed)}: settle it first."
            differs = {"expected": None, "actual": case.escalation}
            raise EscalationOpen(words, escalation=case.escalation, fields=disputed, **differs)


def _artifacts(attempted: Freeze) -> list[Artifact]:
    """The artifacts of the candidate, each of its slot and made from the current inputs."""
    run = attempted.attempt.run
    given: Mapping[str, str] = attempted.params["artifacts"]
    rows = {
        row.pk: row for row in Artifact.objects.filter(run_id=run.id, pk__in=given.values()).select_related("content")
    }
    found = []
    for slot, number in sorted(given.items()):
        row = rows.get(number)
        if row is None or row.slot != slot or row.content.erased_at is not None:
            raise _unfit(f"/artifacts/{slot}", f"{number} is no artifact of the slot {slot} of this run.")
        if row.input_version != run.input_version:
            words = f"{number} was made from inputs {row.input_version}; they changed in version {run.input_version}."
            raise InputOutdated(words, artifact=number, expected=run.input_version, actual=row.input_version)
        require_unaltered(number, row.content_id, attempted.altered)
        found.append(row)
    return found


def _payload(attempted: Freeze, artifacts: Sequence[Artifact]) -> bytes:
    run = attempted.attempt.run
    if attempted.action.payload is None:
        named = {row.slot: {"id": row.pk, "sha256": row.content_id} for row in artifacts}
        return payload.supplied(attempted.params["payload"], named)
    effect = attempted.compensated.as_source() if attempted.compensated else {}
    return payload.render(attempted.action, payload.Sources(run.key, run.state.fields, effect))


def _snapshot(attempted: Freeze, also_proposed_by: str | None) -> Snapshot:
    """The snapshot row, not yet written."""
    attempt, run = attempted.attempt, attempted.attempt.run
    artifacts = _artifacts(attempted)
    candidate = _candidate(attempted, artifacts)
    sealed = manifest.manifest_bytes(candidate)
    proposer = (attempt.principal.actor, attempt.request.on_behalf_of)
    parts = parts_in(run, attempted.facts, proposer, artifacts, also_proposed_by)
    shown = json.loads(candidate.payload)
    return Snapshot(
        id=candidate.snapshot,
        run_id=run.id,
        run_version=candidate.run_version,
        candidate=run.candidate_count + 1,
        action=candidate.action,
        contract=candidate.contract,
        manifest=sealed,
        manifest_sha256=tagged(sealed),
        payload=candidate.payload,
        payload_sha256=tagged(candidate.payload),
        facts_sha256=manifest.facts_sha256(candidate.facts),
        destination=candidate.destination.name,
        destination_revision=candidate.destination.revision,
        sentence=payload.sentence(attempted.action.sentence, run.key, candidate.facts, shown),
        compensates=candidate.of,
        proposed_by=candidate.proposed_by,
        parts=json.dumps([asdict(part) for part in parts], ensure_ascii=False),
        authority_version=attempt.policy.authority_version,
        frozen_at=attempt.found.now,
        expires_at=attempt.found.now + timedelta(seconds=attempt.policy.decision_expires_after),
    )


def _candidate(attempted: Freeze, artifacts: Sequence[Artifact]) -> manifest.Candidate:
    """Everything that comes under review, as it is now."""
    attempt, run, action = attempted.attempt, attempted.attempt.run, attempted.action
    destination = destinations.current_revision(action.destination)
    body = _payload(attempted, artifacts)
    return manifest.Candidate(
        snapshot=manifest.snapshot_id(run.key, run.version + 1, run.candidate_count + 1),
        run=run.key,
        workflow=run.workflow,
        workflow_revision=run.revision,
        run_version=run.version + 1,
        action=action.name,
        input_version=run.input_version,
        facts={name: run.state.fields[name] for name in sorted(attempted.facts)},
        artifacts=[
            manifest.FrozenArtifact(row.pk, row.slot, row.content_id, row.input_version, row.content.size)
            for row in artifacts
        ],
        destination=destinations.frozen(destination),
        payload=body,
        media_type=payload.MEDIA_TYPE,
        contract=action.contract,
        proposed_by=attempt.principal.actor,
        denied_before=_denied_before(run, body, destination),
        of=attempted.params["of"],
    )


def _denied_before(run: RunReading, body: bytes, destination: DestinationRevision) -> int:
    """How often the same payload for the same destination was denied on this run."""
    return Decision.objects.filter(
        run_id=run.id,
        verdict="deny",
        snapshot__payload_sha256=tagged(body),
        snapshot__destination=destination.name,
    ).count()


def _under_review(attempted: Freeze, row: Snapshot) -> RunReading:
    """The run pointing at the new candidate. A compensation never moves its run's status."""
    run = attempted.attempt.run
    status = run.state.status if attempted.action.compensates else RunStatus.READY_FOR_REVIEW
    return replace(
        run,
        version=run.version + 1,
        state=RunState(status, run.state.fields, row.pk),
        under_review=UnderReview(row.contract, attempted.facts),
        candidate_count=row.candidate,
        updated_at=attempted.attempt.found.now,
    )


def _changes(before: RunReading, after: RunReading) -> dict[str, dict[str, JSON]]:
    changes = {"active_snapshot": {"from": before.state.active_snapshot, "to": after.state.active_snapshot}}
    if before.state.status is not after.state.status:
        changes["status"] = {"from": before.state.status.value, "to": after.state.status.value}
    return changes
