"""`manage.py quarantine`: after the database was put back by other means, such as a snapshot of its volume."""

from argparse import ArgumentParser
from typing import Any

from console.management.acting import ActingCommand, Plan
from outbox import quarantine
from runs.administration import By, set_halt


class Command(ActingCommand):
    help = "Halt, and quarantine every effect that is not at an end, because the database is older than the world."

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        """None but those of every such command."""

    def plan(self, options: dict[str, Any]) -> Plan:
        def act(by: By) -> str:
            set_halt(True, by)
            count = quarantine.quarantine_all(by)
            quarantine.note_database()
            return f"Halted; {count} effects are in quarantine."

        return Plan("halt and quarantine every effect that is not at an end", [], act)
