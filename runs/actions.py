"""The actions on runs: create one, apply a command to one. Each is one durable transaction.

Order inside: authority lock, id, read, replay, authority, decide (pure), conditional write, and once more
under the run lock when something came between. No loops and no outside work.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runs import authority, catalog, store
from runs.attempts import Attempt, advance, request_sha256
from runs.conflicts import holding
from runs.definitions import Policy, Workflow, schema_faults
from runs.digest import canonical
from runs.errors import (
    Fault,
    FieldsTooLarge,
    InvalidParams,
    NotFound,
    RunExists,
    Unavailable,
)
from runs.fields import FieldKind, same
from runs.locks import claim_id, hold_run
from runs.outcomes import Outcome, refused, replayed, visible
from runs.overtaken import close_overtaken
from runs.permissions import (
    may_see,
    require_command,
    require_create,
    require_grant,
    require_running,
    require_within_limits,
)
from runs.refusals import Refusal, escalate_held, problem, refuse, store_conflict
from runs.states import Disposition
from runs.store import Found
from runs.transactions import durable
from runs.transitions import MAX_FIELDS_BYTES, check_params, require_legal
from runs.values import UNKNOWN_BASE, CommandRequest, Held, Judgement, NewEntry, Principal, RunReading, Step

JSON = Any


# ---- commands --------------------------------------------------------------------------------------------


@durable
def apply_command(
    principal: Principal, key: str, expected: int, request: CommandRequest, *, epoch: int | None = None
) -> Outcome:
    """Apply one command to run `key` on version `expected`: commit, merge, refuse, escalate, or replay its outcome.

    `epoch` is the ledger epoch of the version, where it came with one: a version of another epoch matches nothing.

    Locks: authority (shared), the id, and the run only when the first try met a change.
    Raises `NotFound`, `CommandIdReused`, `CommandInProgress`, the refusals of authority, `InvalidParams`,
    `InvalidTransition`, `ItemIdReused`, `FieldsTooLarge`, `Unavailable`. What is refused by rule
    (`retry`, `reject`, `escalate`) is recorded and returned, not raised.
    """
    claim_id(key, principal.actor, request.id)
    outcome = _evaluate(principal, key, expected, request, epoch)
    if outcome is None:
        hold_run(key)
        outcome = _evaluate(principal, key, expected, request, epoch)
    if outcome is None:
        raise Unavailable
    return outcome


def _evaluate(
    principal: Principal, key: str, expected: int, request: CommandRequest, epoch: int | None
) -> Outcome | None:
    """Look up, read, judge and write once. None when something came between reading and writing."""
    found = store.read(key, principal.actor, request.id, request.counted_intent)
    run, principal, policy = visible(principal, found)
    if epoch not in (None, found.ledger_epoch):
        expected = UNKNOWN_BASE
    if replay := replayed(principal, found, run, expected, request):
        return replay
    attempt = _admit(principal, found, run, policy, expected, request)
    if expected == run.version:
        require_legal(attempt.workflow, run.state, attempt.command)
        return _apply(attempt, None)
    return _apply_stale(attempt)


def _admit(
    principal: Principal, found: Found, run: RunReading, policy: Policy, expected: int, request: CommandRequest
) -> Attempt:
    """Check authority and the form of the command; nothing about the run's state yet."""
    workflow = catalog.definition(run.workflow, run.revision)
    command = workflow.command(request.name)
    require_running(principal, policy, is_halted=found.is_halted)
    if command is None:
        fault = Fault("/name", "unknown-command", f"{run.workflow} has no command {request.name}.")
        raise InvalidParams(fault.detail, errors=[fault])
    require_command(principal, workflow, policy, command)
    require_grant(principal, request.on_behalf_of)
    check_params(command, request.params)
    written = {op.field: op.value for op in command.ops(request.params)}
    require_within_limits(principal, policy, written)
    return Attempt(principal, request, expected, found, run, workflow, policy, command)


def _apply_stale(attempt: Attempt) -> Outcome | None:
    judgement = attempt.judge()
    if judgement.unchanged:
        return _unchanged(attempt)
    if judgement.disposition is Disposition.MERGE:
        return _apply(attempt, judgement)
    return refused(attempt, refuse(attempt, judgement))


def _apply(attempt: Attempt, merge: Judgement | None) -> Outcome | None:
    """Apply the command to the current state, as a commit or as a merge, unless something holds what it writes."""
    step = attempt.next_step()
    if step.is_empty:
        return _unchanged(attempt)
    if held := _held_against(attempt, step):
        names = sorted(held.elements.keys() & step.changes.keys())
        return refused(attempt, escalate_held(attempt, held, names))
    return _commit(attempt, step, merge)


def _held_against(attempt: Attempt, step: Step) -> Held | None:
    """People may write held fields; an agent's change of one waits for the operator."""
    if not attempt.principal.is_agent:
        return None
    changing = [op for op in attempt.command.ops(attempt.request.params) if op.field in step.changes]
    own_first = sorted(attempt.run.held, key=lambda item: item.principal != attempt.principal.actor)
    return holding(own_first, changing)


def _unchanged(attempt: Attempt) -> Outcome:
    run = attempt.run
    answer = {
        "id": attempt.request.id,
        "outcome": "unchanged",
        "base_version": attempt.expected,
        "version": run.version,
        "changed": {},
        "consent": None,
    }
    store.record_only(run.id, attempt.record("unchanged", answer), attempt.found.now)
    return Outcome("unchanged", answer, run, attempt.workflow, attempt.found.ledger_epoch)


def _commit(attempt: Attempt, step: Step, merge: Judgement | None) -> Outcome | None:
    run, now, ahead = attempt.run, attempt.found.now, advance(attempt, step)
    refusal = None if merge is None else Refusal.of(merge, attempt)
    state = "merged" if refusal else "committed"
    consent = ahead.consent.as_json() if ahead.consent else None
    answer = {
        "id": attempt.request.id,
        "outcome": state,
        "base_version": attempt.expected,
        "version": ahead.after.version,
        "changed": ahead.changes,
        "consent": consent,
    }
    if refusal:
        answer |= {
            "merged_onto": run.version,
            "conflict": refusal.ref,
            "changed_since_base": [item.as_json() for item in refusal.judgement.changed],
        }
    kind = "command.merged" if refusal else attempt.command.entry_kind
    body = attempt.body(changes=ahead.changes, consent=consent, **({"conflict": refusal.ref} if refusal else {}))
    entry = NewEntry(kind, attempt.principal.actor, attempt.request.id, body, ahead.after.version, tuple(ahead.changes))
    after, overtaken = close_overtaken(attempt, ahead.after)
    if not store.step(run, after, [entry, *overtaken.entries], attempt.record(state, answer), now):
        return None
    if refusal:
        store_conflict(attempt, refusal, problem(attempt, refusal))
    overtaken.settle()
    if attempt.found.episode.counted:
        store.end_episode(run.id, attempt.principal.actor, attempt.intent)
    workflow = attempt.workflow if after.revision == run.revision else catalog.definition(run.workflow, after.revision)
    return Outcome(state, answer, after, workflow, attempt.found.ledger_epoch)


# ---- creation --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Created:
    """A run that was created, or found as asked for."""

    run: RunReading
    workflow: Workflow
    ledger_epoch: int
    is_replay: bool


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A business record to be put under control."""

    id: str
    workflow: str
    key: str
    fields: Mapping[str, JSON]
    reason: str
    evidence: tuple[str, ...] = ()

    def identity(self) -> dict[str, JSON]:
        return {"workflow": self.workflow, "key": self.key, "fields": dict(self.fields), "reason": self.reason}


@durable
def create_run(principal: Principal, request: RunRequest) -> Created:
    """Create a run at version 1 on the newest revision of its workflow; the same run again is found, not made twice.

    Locks: authority (shared), the key. Raises `NotFound`, `RunExists`, the refusals of authority,
    `InvalidParams`, `FieldsTooLarge`.
    """
    found = store.read(request.key)
    principal = authority.current(principal, found.authority_epoch, found.now)
    policy = authority.policy_of(request.workflow, found.authority_epoch)
    if not may_see(principal, request.workflow, policy):
        raise NotFound
    if found.run is not None:
        return _existing(found, request)
    workflow = catalog.latest(request.workflow)
    require_running(principal, policy, is_halted=found.is_halted)
    _check_fields(workflow, request.fields)
    require_create(principal, workflow, policy, request.fields)
    require_within_limits(principal, policy, request.fields)
    entry = _created_entry(principal, workflow, request)
    fields = entry.body["fields"]
    written = store.insert_run(
        request.key, workflow.slug, workflow.revision, fields, entry, request_sha256(request.identity()), found.now
    )
    found = store.read(request.key)
    assert found.run is not None
    return Created(found.run, workflow, found.ledger_epoch, False) if written else _existing(found, request)


def _created_entry(principal: Principal, workflow: Workflow, request: RunRequest) -> NewEntry:
    fields = {name: item.first_value for name, item in workflow.fields.items()} | dict(request.fields)
    body = {
        "fields": fields,
        "given": sorted(request.fields),
        "reason": request.reason,
        "evidence": list(request.evidence),
        "revision": workflow.revision,
    }
    return NewEntry("run.created", principal.actor, request.id, body, 1)


def _existing(found: Found, request: RunRequest) -> Created:
    """The run that already has this key, if it was created with the same content."""
    run = found.run
    assert run is not None
    if run.workflow != request.workflow:
        raise RunExists(f"{request.key} exists in another workflow.", expected=request.workflow)
    given = store.fields_given_at_creation(run.id)
    if given is None or not same(given, dict(request.fields)):
        raise RunExists(f"{request.key} exists and was created with other fields.")
    return Created(run, catalog.definition(run.workflow, run.revision), found.ledger_epoch, True)


def _check_fields(workflow: Workflow, fields: Mapping[str, JSON]) -> None:
    """Raise `InvalidParams` or `FieldsTooLarge`, naming every fault, unless the first values fit."""
    faults: list[Fault] = []
    for name, value in fields.items():
        if name not in workflow.fields:
            faults.append(Fault(f"/fields/{name}", "unknown-field", f"{workflow.slug} has no field {name}."))
            continue
        faults += schema_faults(workflow.fields[name].validator, value, f"/fields/{name}")
        if not faults and workflow.fields[name].kind is FieldKind.LOG and _repeats_an_id(value):
            faults.append(Fault(f"/fields/{name}", "item-id-reused", "Two items have the same id."))
    if faults:
        raise InvalidParams("The fields do not fit the workflow.", errors=faults)
    if (size := len(canonical(dict(fields)))) > MAX_FIELDS_BYTES:
        largest = max(fields, key=lambda name: len(canonical(fields[name])))
        detail = f"The fields take {size} bytes; a run holds at most {MAX_FIELDS_BYTES}."
        raise FieldsTooLarge(detail, errors=[Fault(f"/fields/{largest}", FieldsTooLarge.code, detail)])


def _repeats_an_id(value: JSON) -> bool:
    ids = [item["id"] for item in value]
    return len(ids) != len(set(ids))
