"""What the commands that change authority share: who acts and why, trying it out first, refusals in words.

Nothing waits for a second admin here: it is in force when the command ends, and what would have waited elsewhere is
marked as done without a second person for ever.
"""

import os
from abc import abstractmethod
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from console import command_line
from runs.administration import By
from runs.errors import ClearanceError, InputError
from runs.loosening import Standing


@dataclass(frozen=True, slots=True)
class Plan:
    """What a command is about to do: in words, what of it gives somebody power, and the deed.

    The deed returns what is printed alone on standard output, where there is something to hand over.
    """

    words: str
    gains: list[str]
    act: Callable[[By], str | None]


class ActingCommand(BaseCommand):
    """A command that changes somebody's authority."""

    requires_system_checks = ()
    needs_reason = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        self.add_own_arguments(parser)
        parser.add_argument("--reason", default="", required=self.needs_reason, help="why; kept for ever")
        parser.add_argument("--dry-run", action="store_true", help="say what would happen, and change nothing")

    @abstractmethod
    def add_own_arguments(self, parser: ArgumentParser) -> None:
        """The arguments beside those that every such command has."""

    @abstractmethod
    def plan(self, options: dict[str, Any]) -> Plan:
        """What these options ask for. Raises the errors of the domain when it cannot be done."""

    def handle(self, *_: Any, reason: str, dry_run: bool, **options: Any) -> None:
        if self.needs_reason and not reason.strip():
            raise CommandError("Say why: --reason must not be blank.")
        with refusals_in_words(" Nothing was changed."):
            plan = self.plan(options)
            if dry_run:
                self.stdout.write(f"Would {plan.words}.{_mark(plan)}")
            else:
                self._do(plan, By(command_line.actor(), reason, without_second_person=bool(plan.gains)))

    def _do(self, plan: Plan, by: By) -> None:
        handed_over = plan.act(by)
        if handed_over is not None:
            self.stdout.write(handed_over)
        else:
            self.stdout.write(f"Done and in force: {plan.words}.{_mark(plan)}")


@contextmanager
def refusals_in_words(besides: str = "") -> Iterator[None]:
    """Whatever is refused inside ends the command with one sentence; `besides` is said of a database out of reach."""
    try:
        yield
    except ClearanceError as refusal:
        raise CommandError(_in_words(refusal)) from refusal
    except OperationalError as error:
        raise CommandError(f"The database cannot be reached, or is busy.{besides}") from error


def _mark(plan: Plan) -> str:
    return f" Without a second person: {', '.join(plan.gains)}." if plan.gains else ""


def _in_words(refusal: ClearanceError) -> str:
    """A refusal with every fault of the input on a line of its own."""
    faults = refusal.errors if isinstance(refusal, InputError) else ()
    return "\n  ".join([refusal.detail, *(fault.detail for fault in faults if fault.detail != refusal.detail)])


def password_from(variable: str) -> str:
    """The password in an environment variable. Raises `CommandError` when it is not set or blank."""
    password = os.environ.get(variable, "")
    if not password.strip():
        raise CommandError(f"{variable} is not set, or blank.")
    return password


def describe(standing: Standing) -> str:
    """Roles and groups in words."""
    roles = ", ".join(sorted(standing.roles)) or "none"
    groups = ", ".join(sorted(standing.groups)) or "none"
    return f"roles: {roles}; groups: {groups}"
