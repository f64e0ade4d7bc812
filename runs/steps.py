"""Which steps a run allows now, to whom, and why one is missing.

Pure: a judgement over a reading of the run, its workflow and the policy, for one principal.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from runs.definitions import Action, Command, Policy, Workflow
from runs.errors import ClearanceError
from runs.permissions import require_command, require_running, require_scope
from runs.states import CANCELLABLE
from runs.transitions import legality
from runs.values import Principal, RunReading

JSON = Any


@dataclass(frozen=True, slots=True)
class NextStep:
    """One command or action: who may take it, and why this principal cannot take it now (None: it can)."""

    step: str  # command:<name> | action:<name>
    title: str
    by: str  # the scope, or operators, or admins
    because: str | None

    def as_json(self) -> dict[str, JSON]:
        told = {"step": self.step, "title": self.title, "legal": self.because is None, "by": self.by}
        return told if self.because is None else {**told, "because": self.because}


@dataclass(frozen=True, slots=True)
class Standpoint:
    """A run as one principal meets it."""

    principal: Principal
    run: RunReading
    workflow: Workflow
    policy: Policy
    is_halted: bool


def next_steps(at: Standpoint) -> list[NextStep]:
    """Every command and action of the workflow, built-in ones included. What only the clock does is left out."""
    return [*_commands(at), *_actions(at)]


def _commands(at: Standpoint) -> Iterator[NextStep]:
    for command in (*at.workflow.commands.values(), *at.workflow.builtins.values()):
        if command.scope != "system":
            because = _refused_command(at, command) or legality(at.workflow, at.run.state, command)
            yield NextStep(f"command:{command.name}", command.title, command.scope, because)


def _refused_command(at: Standpoint, command: Command) -> str | None:
    try:
        require_running(at.principal, at.policy, is_halted=at.is_halted)
        require_command(at.principal, at.workflow, at.policy, command)
    except ClearanceError as refusal:
        return refusal.detail
    return None


def _actions(at: Standpoint) -> Iterator[NextStep]:
    for action in at.workflow.actions.values():
        because = _refused_action(at, action) or legality(at.workflow, at.run.state, action) or _unready(at, action)
        yield NextStep(f"action:{action.name}", action.title, action.scope, because)


def _refused_action(at: Standpoint, action: Action) -> str | None:
    try:
        require_scope(at.principal, at.workflow.slug, action.scope, at.policy)
    except ClearanceError as refusal:
        return refusal.detail
    if at.is_halted:
        return "The installation is halted: nothing is frozen."
    return "The workflow is suspended: nothing is frozen." if at.policy.suspended else None


def _unready(at: Standpoint, action: Action) -> str | None:
    """Why the run cannot be frozen although its status allows it."""
    empty = sorted(name for name in action.payload_fields if at.run.state.fields[name] is None)
    if empty:
        return f"“{action.title}” shows {', '.join(empty)}, which nobody has set yet."
    disputed = sorted(at.workflow.facts_of_consent(action) & set(held_fields(at.run)))
    if disputed:
        return f"An open escalation proposes to change {', '.join(disputed)}: an operator settles it first."
    return None


def held_fields(run: RunReading) -> list[str]:
    """The fields that open escalations keep agents from writing, whole or in part."""
    return sorted({name for case in run.held for name in case.elements})


def expires_at(run: RunReading, policy: Policy) -> datetime | None:
    """When the clock ends this run, unless somebody gets it further before; None when it no longer can."""
    if run.state.status not in CANCELLABLE:
        return None
    return run.cycle_started_at + timedelta(seconds=policy.run_expires_after)
