"""Settling an escalation by one verb: apply, amend, keep or send back.

A resolution is itself a command through the one mutation boundary, on the version the operator saw. It is
refused only when something relevant moved since; unrelated traffic on a busy record refuses nothing.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from runs import store
from runs.attempts import Advance, advance, request_sha256
from runs.conflicts import changed_since, state_at_base
from runs.definitions import Workflow
from runs.errors import CommandIdReused, Fault, InvalidParams
from runs.locks import claim_id, hold_run
from runs.moved import version_conflict
from runs.overtaken import Settlement, close_overtaken, settle_case
from runs.refusals import conflict_ref
from runs.store import Record
from runs.transactions import durable
from runs.transitions import check_params
from runs.values import NewEntry, Principal, RunReading, Step
from runs.verbs import (
    ENDS_AS,
    Case,
    Verb,
    as_own_command,
    load_case,
    require_verb,
    step_of,
)

JSON = Any


@dataclass(frozen=True, slots=True)
class ResolutionRequest:
    """How an operator settles a case, and the versions of run and case they saw."""

    id: str
    verb: Verb
    reason: str
    run_version: int
    escalation_version: int
    params: Mapping[str, JSON] | None = None  # only for amend
    evidence: tuple[str, ...] = ()

    def identity(self, escalation: str) -> dict[str, JSON]:
        return {
            "name": "resolve",
            "escalation": escalation,
            "verb": self.verb.value,
            "params": None if self.params is None else dict(self.params),
            "reason": self.reason,
            "evidence": list(self.evidence),
        }


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a resolution did: the recorded answer and the run after it."""

    answer: Mapping[str, JSON]
    run: RunReading
    workflow: Workflow
    ledger_epoch: int
    is_replay: bool = False


@durable
def resolve(principal: Principal, ref: str, request: ResolutionRequest) -> Resolution:
    """Settle a case by one verb, on the versions of run and case that the operator saw.

    Locks: authority (shared), the id, the run. Raises `NotFound`, `CommandIdReused`, `Forbidden`,
    `AgentsCannotDecide`, `SeparationOfDuties`, `Halted`, `WorkflowSuspended`, `AuthorityRevoked`,
    `InvalidParams`, `InvalidTransition`, `AlreadyDecided`, `EscalationClaimed`, `VersionConflict`.
    """
    opened = open_case(principal, ref, request)
    return opened if isinstance(opened, Resolution) else _settle(opened.case, request, opened.step)


@dataclass(frozen=True, slots=True)
class Opened:
    """A case under the run's lock that may be settled as asked, and what that does to the run's state."""

    case: Case
    step: Step | None


def open_case(principal: Principal, ref: str, request: ResolutionRequest) -> Opened | Resolution:
    """Lock the run, and check everything that could refuse this resolution; or the recorded answer of a repeat."""
    key = load_case(principal, ref).run.key
    claim_id(key, principal.actor, request.id)
    hold_run(key)
    case = load_case(principal, ref)
    if replay := _replay(case, request):
        return replay
    require_verb(case, request.verb)
    _check_params(case, request)
    _require_seen(case, request)
    return Opened(case, step_of(case, request.verb, request.params))


def _check_params(case: Case, request: ResolutionRequest) -> None:
    if (request.params is not None) != (request.verb is Verb.AMEND):
        fault = Fault("/params", "amend-only", "Parameters belong to amend, and to nothing else.")
        raise InvalidParams(fault.detail, errors=[fault])
    if request.params is not None and not case.is_freeze:
        check_params(case.command, request.params)


def _replay(case: Case, request: ResolutionRequest) -> Resolution | None:
    recorded = store.read(case.run.key, case.operator.actor, request.id).recorded
    if recorded is None:
        return None
    if recorded.request_sha256 != request_sha256(request.identity(case.ref)):
        raise CommandIdReused
    return Resolution(json.loads(recorded.answer), case.run, case.workflow, case.found.ledger_epoch, is_replay=True)


def _require_seen(case: Case, request: ResolutionRequest) -> None:
    """Raise `VersionConflict` when the case, or anything relevant of the run, moved since the operator looked."""
    moved = moved_since(case, request.run_version)
    if case.row.version == request.escalation_version and not moved:
        return
    what = ", ".join(moved) or "a newer proposal joined this case"
    words = f"This moved since you looked: {what}. Nothing was applied."
    refusal = version_conflict(
        words, case.found, case.run, case.policy, command_id=request.id, name="resolve", seen=request.run_version
    )
    refusal.members |= {
        "conflict": conflict_ref(case.row.conflict_id),
        "changed_fields": _changed_since(case, request.run_version, moved),
        "escalation": {"id": case.ref, "url": f"/escalations/{case.ref}/", "version": case.row.version},
    }
    raise refusal


def _changed_since(case: Case, seen: int, names: list[str]) -> list[dict[str, JSON]]:
    """What of `names` was touched since version `seen`, as the operator should see it now."""
    since = store.entries_between(case.run, seen) or ()
    changed = changed_since(state_at_base(case.run.state, since), case.run.state, since)
    return [item.as_json() for item in changed if item.field in names]


def moved_since(case: Case, seen: int) -> list[str]:
    """What of status, revision, proposed, read or shown fields was touched after version `seen`: it needs a look."""
    since = store.entries_between(case.run, seen) if 1 <= seen <= case.run.version else None
    if since is None:
        return ["the record"]
    earlier = store.entries_between(replace(case.run, version=seen), case.base_version) or ()
    shown = {name for entry in earlier for name in entry.changes}
    relevant = {"status", "revision"} | case.concerns | shown
    return sorted({name for entry in since for name in entry.changes} & relevant)


def _settle(case: Case, request: ResolutionRequest, step: Step | None) -> Resolution:
    """Write the resolution: the step it makes, its ledger entry, the end of the case and of the proposal's command."""
    proposal = replace(case.proposal, reason=request.reason, evidence=request.evidence)
    attempt = as_own_command(case, proposal, request.params, request.id)
    ahead = advance(attempt, step) if step is not None and not step.is_empty else None
    after = without_case(ahead.after if ahead else case.run, case)
    after, overtaken = close_overtaken(attempt, after)
    settlement = settlement_of(case, request, after.version)
    answer = {"verb": request.verb.value, "command": _outcome(case, request, ahead)}
    touched = tuple(ahead.changes) if ahead else ()
    entry = entry_of(case, settlement, attempt.body(**_facts(ahead)), touched)
    store.require_step(case.run, after, [entry, *overtaken.entries], record_of(case, request, answer), case.found.now)
    finish(case, settlement)
    overtaken.settle()
    return Resolution(answer, after, case.workflow, case.found.ledger_epoch)


def without_case(run: RunReading, case: Case) -> RunReading:
    """The run with nothing held for this case any more."""
    return replace(run, held=tuple(item for item in run.held if item.escalation != case.ref))


def settlement_of(case: Case, request: ResolutionRequest, version: int) -> Settlement:
    """How the case ends: what becomes of the proposal's command, and the resolution that tells why."""
    held = next(item for item in case.run.held if item.escalation == case.ref)
    resolution = {
        "verb": request.verb.value,
        "by": case.operator.actor,
        "note": request.reason,
        "command_id": request.id,
        "version": version,
    }
    return Settlement(held, case.row.command_id, "escalation.resolved", ENDS_AS[request.verb], resolution)


def record_of(case: Case, request: ResolutionRequest, answer: dict[str, JSON]) -> Record:
    """What is recorded for the id of the resolution."""
    identity = request_sha256(request.identity(case.ref))
    return Record(case.operator.actor, request.id, "resolve", identity, "done", answer)


def finish(case: Case, settlement: Settlement) -> None:
    """Write the end of the case and of the proposal's command, and end the episode that led to it."""
    settle_case(case.run.id, settlement, case.found.now)
    store.end_episode(case.run.id, case.row.principal, case.row.intent)


def entry_of(case: Case, settlement: Settlement, body: dict[str, JSON], touched: tuple[str, ...] = ()) -> NewEntry:
    """The ledger entry of a resolution: it names the proposal in its body, and the resolution's own id."""
    proposal = {
        "principal": case.row.principal,
        "command_id": case.row.command_id,
        "params": dict(case.proposal.params),
    }
    resolution = settlement.resolution
    told = {**body, **resolution, "escalation": case.ref, "proposal": proposal}
    version: int = resolution["version"]
    return NewEntry(settlement.kind, case.operator.actor, resolution["command_id"], told, version, touched)


def _facts(ahead: Advance | None) -> dict[str, JSON]:
    if ahead is None:
        return {"changes": {}, "consent": None}
    return {"changes": dict(ahead.changes), "consent": ahead.consent.as_json() if ahead.consent else None}


def _outcome(case: Case, request: ResolutionRequest, ahead: Advance | None) -> dict[str, JSON]:
    """What the resolution did, as an outcome of a command."""
    if request.verb in (Verb.KEEP, Verb.SEND_BACK):
        return {"id": case.row.command_id, "outcome": ENDS_AS[request.verb], "version": case.run.version}
    facts = _facts(ahead)
    return {
        "id": request.id,
        "outcome": "committed" if ahead else "unchanged",
        "base_version": case.run.version,
        "version": ahead.after.version if ahead else case.run.version,
        "changed": facts["changes"],
        "consent": facts["consent"],
    }
