"""What a definition says as a whole: whether its parts fit each other and break none of the product's promises.

Pure. Each check is a small function of the workflow; it keeps silent about what has faults already.
"""

from collections.abc import Iterable

from runs.definitions import Action, Command, Rule, Workflow
from runs.fields import FieldKind
from runs.loading.faults import FaultCode, Findings
from runs.loading.payloads import check_payloads
from runs.loading.reachability import reachable
from runs.states import BEFORE_CONSENT_IS_SPENT, OPEN_FOR_WORK, REOPENABLE, Disposition, RunStatus


def check(workflow: Workflow, findings: Findings) -> None:
    """Name everything by which `workflow` contradicts itself."""
    _check_names(workflow, findings)
    _check_owners(workflow, findings)
    _check_steps(workflow, findings)
    _check_reachable(workflow, findings)
    for command in workflow.commands.values():
        place = f"commands.{command.name}"
        _check_consent(workflow, command, findings)
        _check_merges(command.on_conflict, _exclusive(workflow, command.writes), place, findings)
    for action in workflow.actions.values():
        place = f"actions.{action.name}"
        _check_merges(action.on_conflict, _frozen(workflow, action), place, findings)
    check_payloads(workflow, findings)


# ---- names and scopes ------------------------------------------------------------------------------------


def _check_names(workflow: Workflow, findings: Findings) -> None:
    """A name means one command or one action, never one of the commands that every workflow has."""
    for table, names in ("commands", workflow.commands.keys()), ("actions", workflow.actions.keys()):
        for name in sorted(names & workflow.builtins.keys()):
            words = f"Every workflow has a command “{name}” of its own."
            findings.refuse(f"{table}.{name}", FaultCode.RESERVED_NAME, words)
    for name in sorted(workflow.commands.keys() & workflow.actions.keys()):
        findings.refuse(f"actions.{name}", FaultCode.NAME_TAKEN, f"A command is called “{name}” too.")


def _check_owners(workflow: Workflow, findings: Findings) -> None:
    """Only its owner writes an owned field, be it by a command or by creating a run."""
    writers = [(f"commands.{item.name}.scope", item.scope, item.writes) for item in workflow.commands.values()]
    for place, scope, written in [*writers, ("create.scope", workflow.create.scope, workflow.create.fields)]:
        for name in sorted(written):
            owner = workflow.fields[name].owner
            if owner not in (None, scope) and not findings.touches(place):
                words = f"Only `{owner}` may write `{name}`, which this writes."
                findings.refuse(place, FaultCode.OWNER_SCOPE, words)


# ---- statuses --------------------------------------------------------------------------------------------


def _check_steps(workflow: Workflow, findings: Findings) -> None:
    """Commands start the work and actions freeze; every other step has another owner."""
    for command in workflow.commands.values():
        place = f"commands.{command.name}.status"
        if command.status is None or findings.touches(place):
            continue
        if command.status is not RunStatus.WORKING:
            findings.refuse(place, FaultCode.ILLEGAL_STEP, f"No command of a workflow makes a run {command.status}.")
        elif wrong := _named(command.allowed_in - OPEN_FOR_WORK):
            words = f"No command of a workflow moves a run from {wrong} to {command.status}."
            findings.refuse(place, FaultCode.ILLEGAL_STEP, words)
    for action in workflow.actions.values():
        possible = frozenset({RunStatus.SENT}) if action.compensates else BEFORE_CONSENT_IS_SPENT
        if wrong := _named(action.allowed_in - possible):
            words = f"This action is frozen while a run is {_named(possible)}, not {wrong}."
            findings.refuse(f"actions.{action.name}.allowed_in", FaultCode.ILLEGAL_STEP, words)


def _check_reachable(workflow: Workflow, findings: Findings) -> None:
    allowed = {f"commands.{item.name}": item.allowed_in for item in workflow.commands.values()}
    allowed |= {f"actions.{item.name}": item.allowed_in for item in workflow.actions.values()}
    if findings.touches(*(f"{place}.{key}" for place in allowed for key in ("status", "allowed_in", "compensates"))):
        return
    possible = reachable(workflow)
    for place, statuses in allowed.items():
        if never := _named(statuses - possible):
            words = f"No run of this workflow is ever {never}."
            findings.refuse(f"{place}.allowed_in", FaultCode.UNREACHABLE_STATUS, words)


def _named(statuses: Iterable[RunStatus]) -> str:
    wanted = frozenset(statuses)
    return " or ".join(status for status in RunStatus if status in wanted)


# ---- consent and merges ----------------------------------------------------------------------------------


def _check_consent(workflow: Workflow, command: Command, findings: Findings) -> None:
    """No fact of consent changes after consent was spent. A mere condition may, at the end of a cycle."""
    firm = {name for action in workflow.actions.values() for name in _firm_facts(workflow, action)}
    conditions = {name for action in workflow.actions.values() for name in action.only_when} - firm
    for facts, allowed in (firm, BEFORE_CONSENT_IS_SPENT), (conditions, BEFORE_CONSENT_IS_SPENT | REOPENABLE):
        names = ", ".join(f"`{name}`" for name in sorted(command.writes & facts))
        late = _named(command.allowed_in - allowed)
        if names and late:
            words = f"Approvals are given for {names}: this must not change while a run is {late}."
            findings.refuse(f"commands.{command.name}.allowed_in", FaultCode.CONSENT_WRITTEN_LATE, words)


def _firm_facts(workflow: Workflow, action: Action) -> frozenset[str]:
    """The facts of consent that are more than a condition."""
    return workflow.material | action.reads | action.payload_fields


def _check_merges(rules: tuple[Rule, ...], decided: frozenset[str], place: str, findings: Findings) -> None:
    """An explicit merge must be out of reach while a decision it would override was touched.

    It is when, for each decision, an earlier rule decides whenever that was touched, whatever its value.
    """
    if findings.touches(f"{place}.on_conflict"):
        return
    for index, rule in enumerate(rules):
        if rule.then is Disposition.MERGE and decided:
            names = ", ".join(f"`{name}`" for name in sorted(decided))
            words = f"This can decide when {names} changed too, which is never merged: let an earlier rule decide that."
            findings.refuse(f"{place}.on_conflict[{index}].then", FaultCode.UNSAFE_MERGE, words)
        if rule.to is None:
            decided -= frozenset(rule.when_changed)


def _exclusive(workflow: Workflow, names: Iterable[str]) -> frozenset[str]:
    return frozenset(name for name in names if workflow.fields[name].kind is FieldKind.EXCLUSIVE)


def _frozen(workflow: Workflow, action: Action) -> frozenset[str]:
    """What a freeze decides: the values it shows to reviewers, and which candidate is under review."""
    return _exclusive(workflow, _firm_facts(workflow, action) & workflow.fields.keys()) | {"active_snapshot"}
