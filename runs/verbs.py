"""An escalated case as an operator sees it: which verbs are legal now, why one is not, and what each would do.

Reads and judges; writes nothing. `escalations` and `claims` act on what is said here.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any
from uuid import UUID

from runs import authority, catalog, store
from runs.attempts import Attempt, advance
from runs.chain import rfc3339
from runs.definitions import Command, Policy, Workflow
from runs.errors import (
    AgentsCannotDecide,
    AlreadyDecided,
    AuthorityRevoked,
    ClearanceError,
    EscalationClaimed,
    Forbidden,
    InvalidTransition,
    NotFound,
    SeparationOfDuties,
)
from runs.models import Escalation
from runs.permissions import (
    is_admin,
    is_operator,
    may_see,
    require_command,
    require_going_on,
    require_grant,
    require_running,
    require_within_limits,
)
from runs.refusals import escalation_ref
from runs.store import Found
from runs.transitions import check_params, require_legal
from runs.values import CommandRequest, Principal, RunReading, Step

JSON = Any


class Verb(StrEnum):
    """What an operator may do with an escalated proposal."""

    APPLY = "apply"  # the proposal as it is, on the record as it is now
    AMEND = "amend"  # the same command with other parameters
    KEEP = "keep"  # the record stays; the proposal is rejected
    SEND_BACK = "send-back"  # the record stays; the principal decides anew


#: What becomes of the proposal's command.
ENDS_AS = {Verb.APPLY: "committed", Verb.AMEND: "superseded", Verb.KEEP: "rejected", Verb.SEND_BACK: "retry"}


@dataclass(frozen=True)
class Case:
    """An escalation with everything that settling it needs, read in one transaction."""

    row: Escalation
    proposal: CommandRequest
    command: Command
    base_version: int
    found: Found
    run: RunReading
    workflow: Workflow
    policy: Policy
    operator: Principal

    @property
    def ref(self) -> str:
        return escalation_ref(self.row.pk)

    @property
    def is_freeze(self) -> bool:
        """Whether a candidate was to be frozen, rather than fields changed."""
        return self.command.entry_kind == "snapshot.frozen"

    @property
    def concerns(self) -> frozenset[str]:
        """What the proposal writes or reads; of a freeze, what it would put under review."""
        action = self.workflow.actions.get(self.proposal.params["action"]) if self.is_freeze else None
        facts = self.workflow.facts_of_consent(action) if action else frozenset[str]()
        return self.command.writes | self.command.reads | facts


def number_of(ref: str) -> UUID:
    """The number behind a public id. Raises `NotFound` for what is no id of an escalation."""
    try:
        number = UUID(ref.removeprefix("es-"))
    except ValueError as error:
        raise NotFound from error
    if escalation_ref(number) != ref:
        raise NotFound
    return number


def load_case(principal: Principal, ref: str) -> Case:
    """Read a case as `principal` sees it. Raises `NotFound` when there is none or it may not be seen."""
    row = Escalation.objects.select_related("conflict", "run").filter(pk=number_of(ref)).first()
    if row is None:
        raise NotFound
    found = store.read(row.run.key)
    run = found.run
    assert run is not None
    operator = authority.current(principal, found.authority_epoch, found.now)
    policy = authority.policy_of(run.workflow, found.authority_epoch)
    if not may_see(operator, run.workflow, policy):
        raise NotFound
    workflow = catalog.definition(run.workflow, run.revision)
    proposal = _proposal(row)
    command = workflow.judged(proposal.name) or _command_at_conflict(row, proposal)
    return Case(row, proposal, command, row.conflict.base_version, found, run, workflow, policy, operator)


def _command_at_conflict(row: Escalation, proposal: CommandRequest) -> Command:
    """What was proposed, by the revision it was judged by: a later one may not have it any more."""
    command = catalog.definition(row.workflow, row.conflict.revision).judged(proposal.name)
    if command is None:
        raise NotFound
    return command


def _proposal(row: Escalation) -> CommandRequest:
    given = json.loads(row.conflict.proposal or "{}")
    if not given:
        raise NotFound("What was proposed has been erased.", erased=True)
    return CommandRequest(**{**given, "evidence": tuple(given["evidence"])})


# ---- which verbs are legal ---------------------------------------------------------------------------------


def check_verb(case: Case, verb: Verb, params: Mapping[str, JSON] | None = None) -> Step | None:
    """Raise the typed refusal unless `verb` is legal for this operator now; return what it would do to the run.

    Keep and send back return None: they leave the record as it is.
    """
    require_verb(case, verb)
    return step_of(case, verb, params)


def require_verb(case: Case, verb: Verb) -> None:
    """Raise unless this operator may use `verb` while the case is open, whatever the record allows."""
    require_operator(case)
    if case.row.state != "open":
        raise already_settled(case.row)
    _require_not_claimed(case)
    _require_other_side(case, verb)
    if verb in (Verb.KEEP, Verb.SEND_BACK):
        return
    require_going_on(case.policy, is_halted=case.found.is_halted)
    if verb is Verb.APPLY:
        _require_original_authority(case)


def step_of(case: Case, verb: Verb, params: Mapping[str, JSON] | None) -> Step | None:
    """What `verb` does to the run's state; None where it changes none of its fields. Raises what forbids it."""
    if verb in (Verb.KEEP, Verb.SEND_BACK):
        return None
    if case.workflow.judged(case.proposal.name) is None:
        words = f"Revision {case.run.revision} of {case.run.workflow} has no {case.proposal.name}."
        raise InvalidTransition(words, status=case.run.state.status)
    if case.is_freeze and verb is Verb.AMEND:
        raise InvalidTransition("A freeze is not amended: freeze another candidate.", status=case.run.state.status)
    if not case.is_freeze:
        check_params(case.command, case.proposal.params if params is None else params)
    require_legal(case.workflow, case.run.state, case.command)
    return None if case.is_freeze else as_own_command(case, case.proposal, params).next_step()


def require_operator(case: Case) -> None:
    if case.operator.is_agent:
        raise AgentsCannotDecide
    if not is_operator(case.operator, case.policy):
        raise Forbidden("Only operators of this workflow settle its conflicts.")


def _require_other_side(case: Case, verb: Verb) -> None:
    """Nobody settles for their own side where it matters."""
    actor = case.operator.actor
    if case.row.principal == actor and verb is not Verb.SEND_BACK:
        raise SeparationOfDuties("You proposed this: another operator settles it.", because="proposer")
    if verb not in (Verb.KEEP, Verb.AMEND):
        return
    own = [item["field"] for item in shown_changes(case) if item["changed_by"] == actor]
    if material := sorted(case.command.writes & case.workflow.material & set(own)):
        words = f"You wrote the current {', '.join(material)}: apply the other side or send it back."
        raise SeparationOfDuties(words, because="current-side")


def shown_changes(case: Case) -> list[dict[str, JSON]]:
    """The fields that changed between the base of the proposal and now."""
    between = store.entries_between(case.run, case.base_version) or ()
    last = {name: entry for entry in between for name in entry.changes}
    return [{"field": name, "changed_by": entry.actor, "version": entry.version} for name, entry in last.items()]


def _require_original_authority(case: Case) -> None:
    """The principal that proposed must still be allowed to. Raises `AuthorityRevoked` and `LimitExceeded`."""
    kind, _, name = case.row.principal.partition(":")
    proposer = Principal("person" if kind == "user" else kind, name)
    try:
        proposer = authority.current(proposer, case.found.authority_epoch, case.found.now)
        require_running(proposer, case.policy, is_halted=case.found.is_halted)
        require_command(proposer, case.workflow, case.policy, case.command)
        require_grant(proposer, case.proposal.on_behalf_of)
    except ClearanceError as refusal:
        words = f"{case.row.principal} may no longer do this: {refusal.detail}"
        raise AuthorityRevoked(words, principal=case.row.principal) from refusal
    written = {op.field: op.value for op in case.command.ops(case.proposal.params)}
    require_within_limits(proposer, case.policy, written)


def as_own_command(
    case: Case, proposal: CommandRequest, params: Mapping[str, JSON] | None, request_id: str = ""
) -> Attempt:
    """The proposal as the operator's own command on the record as it is now."""
    request = replace(proposal, id=request_id or proposal.id, params=proposal.params if params is None else params)
    return Attempt(
        case.operator, request, case.run.version, case.found, case.run, case.workflow, case.policy, case.command
    )


def verbs_for(case: Case) -> list[dict[str, JSON]]:
    """Every verb, with a preview where it is legal for this operator now and the reason where it is not."""
    return [_verb_for(case, verb) for verb in Verb]


def _verb_for(case: Case, verb: Verb) -> dict[str, JSON]:
    try:
        step = check_verb(case, verb)
    except ClearanceError as refusal:
        return {"verb": verb.value, "legal": False, "because": refusal.detail}
    return {"verb": verb.value, "legal": True, "preview": preview(case, verb, step)}


def preview(case: Case, verb: Verb, step: Step | None) -> dict[str, JSON]:
    """What exactly settling by `verb` would do to the run and to the proposal."""
    if step is None or step.is_empty:
        version = case.run.version + (verb is Verb.APPLY and case.is_freeze)
        return {"version": version, "changed": {}, "command": ENDS_AS[verb]}
    ahead = advance(as_own_command(case, case.proposal, None), step)
    consent = ahead.consent.as_json() if ahead.consent else None
    changed = dict(ahead.changes)
    return {"version": ahead.after.version, "changed": changed, "consent": consent, "command": ENDS_AS[verb]}


def preview_amended(case: Case, params: Mapping[str, JSON]) -> dict[str, JSON]:
    """What amending with `params` would do. Raises what `resolve` would raise."""
    return preview(case, Verb.AMEND, check_verb(case, Verb.AMEND, params))


# ---- claims of others --------------------------------------------------------------------------------------


def _require_not_claimed(case: Case) -> None:
    """A claim of another operator stops everybody but admins."""
    row, now = case.row, case.found.now
    held = row.claimed_by and row.claimed_until and row.claimed_until > now
    if held and row.claimed_by != case.operator.actor and not is_admin(case.operator):
        raise claimed_by_other(case)


def claimed_by_other(case: Case) -> EscalationClaimed:
    """The refusal to whoever does not hold the case: who does, and until when."""
    holder, until = case.row.claimed_by, case.row.claimed_until
    return EscalationClaimed(
        f"{holder} holds this case.",
        expected=case.operator.actor,
        actual=holder,
        held_by=holder,
        held_until=rfc3339(until) if until else None,
    )


def already_settled(row: Escalation) -> AlreadyDecided:
    """The refusal to whoever comes too late: how the case was settled, and by whom."""
    resolution = json.loads(row.resolution or "{}")
    return AlreadyDecided("This case is settled.", expected="open", actual=row.state, **resolution)
