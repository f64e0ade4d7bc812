"""A run as one person meets it: the reading, their authority, and which of its commands they may take."""

from dataclasses import dataclass

from console.access import RunAccess, access_run
from runs import steps
from runs.definitions import Command, Workflow
from runs.errors import NotFound
from runs.steps import Standpoint
from runs.values import Principal, RunReading, version_tag


@dataclass(frozen=True, slots=True)
class Met:
    """A run as one person meets it."""

    access: RunAccess
    at: Standpoint

    @property
    def run(self) -> RunReading:
        return self.access.run

    @property
    def workflow(self) -> Workflow:
        return self.access.workflow

    @property
    def principal(self) -> Principal:
        return self.access.principal

    @property
    def seen(self) -> str:
        """The version shown, with the epoch of the ledger, as forms carry it."""
        return version_tag(self.access.found.ledger_epoch, self.run.version).strip('"')

    def command(self, name: str) -> Command:
        """A command that people may ask for. Raises `NotFound`."""
        command = self.workflow.command(name)
        if command is None or command.scope == "system":
            raise NotFound
        return command

    def because(self, name: str) -> str | None:
        """Why the person cannot take a command now; None when they can."""
        return next(step.because for step in steps.next_steps(self.at) if step.step == f"command:{name}")


def meet(principal: Principal, key: str) -> Met:
    """Read run `key` for a person. Raises `NotFound` when there is none or it may not be seen."""
    access = access_run(principal, key)
    at = Standpoint(access.principal, access.run, access.workflow, access.policy, access.found.is_halted)
    return Met(access, at)
