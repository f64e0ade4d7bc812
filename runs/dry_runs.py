"""What would become of a command computed on one version of a run and sent on another. Writes nothing.

Judged as the command itself would be, but for what only the moment knows: open escalations and the budget of
the intent.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from runs import store
from runs.conflicts import MAX_VERSIONS_BACK, Case, changed_since, classify, state_at_base
from runs.definitions import Command, Workflow
from runs.errors import Fault, InvalidParams
from runs.transitions import apply, check_params, require_legal
from runs.values import Between, ChangedField, Judgement, RunReading, RunState

JSON = Any


@dataclass(frozen=True, slots=True)
class Trial:
    """The command to be tried, and the two versions: the one it was computed on, and the one it meets."""

    command: str
    params: Mapping[str, JSON]
    base_version: int
    current_version: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What would become of it: a disposition, or `commit` or `unchanged` where the version is not stale."""

    disposition: str
    rule: str | None
    because: str


def try_command(actor: str, run: RunReading, workflow: Workflow, trial: Trial) -> Verdict:
    """Judge `trial` as a command of `actor`.

    Raises `InvalidParams`, `InvalidTransition`, `ItemIdReused` and `FieldsTooLarge`, as the command would.
    """
    command = _command(workflow, trial)
    _check_versions(run, trial)
    if trial.base_version == trial.current_version:
        return _on_current(workflow, _state_at(run, trial.current_version), command, trial)
    judgement = _judge(actor, run, workflow, command, trial)
    if judgement.unchanged:
        return Verdict("unchanged", judgement.rule, judgement.because)
    return Verdict(judgement.disposition.value, judgement.rule, judgement.because)


def changed_between(run: RunReading, base_version: int, current_version: int) -> tuple[ChangedField, ...]:
    """What was touched between two versions of a run, and by whom last. Raises `InvalidParams` as a trial does."""
    between = _between(run, base_version, current_version)
    current = _state_at(run, current_version)
    return changed_since(state_at_base(current, between), current, between)


def _command(workflow: Workflow, trial: Trial) -> Command:
    command = workflow.commands.get(trial.command)
    if command is None:
        fault = Fault("/command", "unknown-command", f"{workflow.slug} defines no command {trial.command}.")
        raise InvalidParams(fault.detail, errors=[fault])
    check_params(command, trial.params)
    return command


def _check_versions(run: RunReading, trial: Trial) -> None:
    if trial.current_version > run.version:
        words = f"{run.key} is at version {run.version}."
        raise InvalidParams(words, errors=[Fault("/current_version", "range", words)])
    if trial.base_version > trial.current_version:
        words = "The base version comes before the current version, or is the same."
        raise InvalidParams(words, errors=[Fault("/base_version", "range", words)])
    if run.version - trial.base_version > MAX_VERSIONS_BACK:
        words = f"A version more than {MAX_VERSIONS_BACK} back is not reconstructed."
        raise InvalidParams(words, errors=[Fault("/base_version", "range", words)])


def _state_at(run: RunReading, version: int) -> RunState:
    return state_at_base(run.state, _between(run, version, run.version))


def _between(run: RunReading, base: int, current: int) -> tuple[Between, ...]:
    """The entries from one version to another. Raises `InvalidParams` when one was erased."""
    between = store.entries_between(replace(run, version=current), base)
    if between is None:
        words = "What happened between these versions has been erased."
        raise InvalidParams(words, errors=[Fault("/base_version", "erased", words)])
    return between


def _on_current(workflow: Workflow, state: RunState, command: Command, trial: Trial) -> Verdict:
    require_legal(workflow, state, command)
    if apply(workflow, state, command, trial.params).is_empty:
        return Verdict("unchanged", None, "Everything that this asks for already holds.")
    return Verdict("commit", None, "The version is current and the record allows it.")


def _judge(actor: str, run: RunReading, workflow: Workflow, command: Command, trial: Trial) -> Judgement:
    between = _between(run, trial.base_version, trial.current_version)
    current = _state_at(run, trial.current_version)
    base = state_at_base(current, between)
    return classify(Case(workflow, command, trial.params, actor, base, current, between))
