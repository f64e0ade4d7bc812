"""What a command does to a state, and why it may not.

Pure. `legality` answers whether a command may be applied now; `apply` computes the next state and each
change by name; `consent_after` says whether a review survives a change.
"""

from collections.abc import Mapping
from typing import Any

from runs.definitions import Action, Command, Workflow, schema_faults
from runs.digest import canonical
from runs.errors import Fault, FieldsTooLarge, InvalidParams, InvalidTransition
from runs.fields import Change, apply_op, same
from runs.states import ENDS, LEGAL_STEPS, RunStatus
from runs.values import ConsentNote, RunState, Step, UnderReview

JSON = Any

#: All fields of a run together, as canonical JSON.
MAX_FIELDS_BYTES = 256 * 1024


def legality(workflow: Workflow, state: RunState, command: Command | Action) -> str | None:
    """Why `command` may not be applied to `state` now, as a sentence; None when it may."""
    if state.status not in command.allowed_in:
        allowed = ", ".join(workflow.label(status) for status in RunStatus if status in command.allowed_in)
        return f"“{command.title}” is possible while the run is {allowed}; it is {workflow.label(state.status)}."
    for name, values in command.only_when.items():
        if not any(same(state.fields[name], value) for value in values):
            wanted = " or ".join(str(value) for value in values)
            return f"“{command.title}” is possible only while {name} is {wanted}; it is {state.fields[name]}."
    return None


def require_legal(workflow: Workflow, state: RunState, command: Command) -> None:
    """Raise `InvalidTransition`, naming what differs, unless `command` may be applied now."""
    if because := legality(workflow, state, command):
        differs = _difference(state, command)
        raise InvalidTransition(because, status=state.status.value, next=legal_commands(workflow, state), **differs)


def _difference(state: RunState, command: Command) -> dict[str, JSON]:
    """The first fact that forbids `command`: what would allow it, and what is; `field` where it is no status."""
    if state.status not in command.allowed_in:
        allowed = [status.value for status in RunStatus if status in command.allowed_in]
        return {"expected": allowed, "actual": state.status.value}
    for name, values in command.only_when.items():
        if not any(same(state.fields[name], value) for value in values):
            return {"field": name, "expected": list(values), "actual": state.fields[name]}
    return {}


def legal_commands(workflow: Workflow, state: RunState) -> list[str]:
    """The names of the commands that the state allows, built-in ones included."""
    commands = {**workflow.commands, **workflow.builtins}
    return [
        name for name, command in commands.items() if name != "expire" and legality(workflow, state, command) is None
    ]


def check_params(command: Command, params: Mapping[str, JSON]) -> None:
    """Raise `InvalidParams`, naming each fault, unless `params` fit the command's schema."""
    if faults := schema_faults(command.validator, dict(params), "/params"):
        raise InvalidParams(f"The parameters of {command.name} do not fit.", errors=faults)


def apply(workflow: Workflow, state: RunState, command: Command, params: Mapping[str, JSON]) -> Step:
    """What `command` with `params` makes of `state`; an empty step when everything already holds.

    Legality is judged apart. Raises `ItemIdReused` and `FieldsTooLarge`.
    """
    fields = dict(state.fields)
    changes: dict[str, Change] = {}
    for op in command.ops(params):
        fields[op.field], change = apply_op(fields[op.field], op)
        if change is not None:
            changes[op.field] = change
    status = _next_status(workflow, state.status, command, bool(changes))
    if status is not state.status:
        changes["status"] = {"from": state.status.value, "to": status.value}
    _check_size(fields, changes)
    return Step(RunState(status, fields, state.active_snapshot), changes)


def _next_status(workflow: Workflow, status: RunStatus, command: Command, changed: bool) -> RunStatus:
    if command.status is not None:
        return command.status
    starts_by_itself = changed and status is RunStatus.RECEIVED and not workflow.declares_start
    return RunStatus.WORKING if starts_by_itself else status


def _check_size(fields: Mapping[str, JSON], changes: Mapping[str, Change]) -> None:
    size = len(canonical(fields))
    if size <= MAX_FIELDS_BYTES:
        return
    largest = max(changes, key=lambda name: len(canonical(fields.get(name))))
    detail = f"With this, the fields of the run take {size} bytes; at most {MAX_FIELDS_BYTES} are kept."
    raise FieldsTooLarge(detail, errors=[Fault(f"/fields/{largest}", FieldsTooLarge.code, detail)])


def move(state: RunState, old: Workflow, new: Workflow) -> Step:
    """What moving from one revision to another makes of `state`.

    New fields start with their first value. Raises `InvalidTransition` when a field that holds something
    would vanish, or holds what the new revision does not allow.
    """
    if new.revision == old.revision:
        return Step(state, {})
    fields = {name: state.fields.get(name, item.first_value) for name, item in new.fields.items()}
    lost = [name for name in state.fields if name not in fields and not _is_untouched(old, state, name)]
    unfit = [name for name, item in new.fields.items() if not _fits(new, name, fields[name])]
    if lost or unfit:
        names = ", ".join(sorted({*lost, *unfit}))
        raise InvalidTransition(f"Revision {new.revision} cannot hold what is in {names}.", status=state.status.value)
    changes: dict[str, Change] = {
        name: {"from": state.fields.get(name), "to": value}
        for name, value in fields.items()
        if name not in state.fields
    }
    changes["revision"] = {"from": old.revision, "to": new.revision}
    return Step(RunState(state.status, fields, state.active_snapshot), changes, revision=new.revision)


def _is_untouched(workflow: Workflow, state: RunState, name: str) -> bool:
    return same(state.fields[name], workflow.fields[name].first_value)


def _fits(workflow: Workflow, name: str, value: JSON) -> bool:
    item = workflow.fields[name]
    return value is None or bool(item.validator.is_valid(value))


def is_legal_step(start: RunStatus, to: RunStatus) -> bool:
    """Whether a run may go from one status to another (staying is always legal)."""
    return start is to or (start, to) in LEGAL_STEPS


def consent_after(review: UnderReview, step: Step, actor: str, version: int) -> ConsentNote:
    """Whether the review of a run survives `step`, which made `version`, and why, in words.

    `exact`: no version but the frozen one is consented to. `until_changed`: every fact of consent keeps
    the value that was frozen; commits are judged one by one, so a changed fact voids at once.
    """
    touched = sorted(step.changes)
    if step.state.status in ENDS:
        return ConsentNote(False, f"void: the run was {step.state.status} by {actor} at v{version}")
    broken = touched if review.contract == "exact" else [name for name in touched if name in review.facts]
    names = ", ".join(f"`{name}`" for name in broken or touched)
    if broken:
        return ConsentNote(False, f"void: {names} changed by {actor} at v{version}")
    return ConsentNote(True, f"stands: only {names} changed")


def void_review(step: Step, snapshot: str) -> Step:
    """`step` with the review ended: pointer cleared and the run back at work, unless the step ended it otherwise."""
    status = step.state.status
    back = RunStatus.WORKING if status is RunStatus.READY_FOR_REVIEW else status
    changes = {**step.changes, "active_snapshot": {"from": snapshot, "to": None}}
    if back is not status:
        changes["status"] = {"from": status.value, "to": back.value}
    return Step(RunState(back, step.state.fields, None), changes, step.revision)
