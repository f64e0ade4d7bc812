"""`manage.py backup FILE`: the whole database in one file that only its owner reads; `-` for a pipe."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from console import backups


class Command(BaseCommand):
    help = "Write the database to FILE (mode 0600), or to standard output for -, such as for an encryptor."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file")

    def handle(self, *args: Any, file: str, **options: Any) -> None:
        try:
            backups.back_up(file)
        except FileExistsError as error:
            raise CommandError(f"{file} exists already; name another file.") from error
        except backups.BackupFailed as failure:
            raise CommandError(f"The backup failed. {failure}") from failure
        if file != "-":
            self.stdout.write(f"Wrote {file}.")
