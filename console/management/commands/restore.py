"""`manage.py restore FILE`: put a backup back, halted and with everything unfinished in quarantine."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from console import backups
from console.management.acting import ActingCommand, Plan
from runs.administration import By


class Command(ActingCommand):
    help = "Put a backup back. Halts, raises the ledger epoch, and quarantines every effect that is not at an end."

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)

    def plan(self, options: dict[str, Any]) -> Plan:
        file: Path = options["file"]
        if not file.is_file():
            raise CommandError(f"There is no file {file}.")

        def act(by: By) -> str:
            try:
                count = backups.restore(file, by)
            except backups.BackupFailed as failure:
                raise CommandError(f"Nothing was restored. {failure}") from failure
            return (
                f"Restored {file}. The installation is halted and under a new ledger epoch; {count} effects are in"
                " quarantine. Release each one when somebody has found out what became of it, then: manage.py halt off"
            )

        return Plan(f"put {file} back in place of everything there is", [], act)
