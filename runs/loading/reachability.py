"""Which statuses the runs of a workflow can ever have.

Pure. Starting the work and freezing are up to the workflow's commands and actions; every later step, and
ending early, is up to people, the clock and the effect, which every workflow has.
"""

from collections.abc import Iterable, Iterator

from runs.definitions import Workflow
from runs.states import ENDS, LEGAL_STEPS, OPEN_FOR_WORK, RunStatus


def reachable(workflow: Workflow) -> frozenset[RunStatus]:
    """Every status that a run can have, from `received` on."""
    steps = {*_given_steps(), *_declared_steps(workflow)}
    found = {RunStatus.RECEIVED}
    while new := {to for start, to in steps if start in found} - found:
        found |= new
    return frozenset(found)


def _given_steps() -> Iterator[tuple[RunStatus, RunStatus]]:
    return ((start, to) for start, to in LEGAL_STEPS if start not in OPEN_FOR_WORK or to in ENDS)


def _declared_steps(workflow: Workflow) -> Iterator[tuple[RunStatus, RunStatus]]:
    for command in workflow.commands.values():
        if command.status is not None:
            yield from _product(command.allowed_in, command.status)
        elif command.effects and RunStatus.RECEIVED in command.allowed_in and not workflow.declares_start:
            yield RunStatus.RECEIVED, RunStatus.WORKING
    for action in workflow.actions.values():
        if action.compensates is None:
            yield from _product(action.allowed_in, RunStatus.READY_FOR_REVIEW)


def _product(starts: Iterable[RunStatus], to: RunStatus) -> Iterator[tuple[RunStatus, RunStatus]]:
    return ((start, to) for start in starts)
