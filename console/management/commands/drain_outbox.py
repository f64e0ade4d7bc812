"""`manage.py drain_outbox`: send what is due now, one after the other, without a worker."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from console.management.acting import refusals_in_words
from outbox.dispatch import BATCH, dispatch_due
from outbox.leases import due_operations
from outbox.tasks import worker_name

#: How many operations a dry run names.
SHOWN = 1000


class Command(BaseCommand):
    help = "One pass of the outbox: claims, sends and records whatever is due. Safe beside running workers."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="name what is due, and send nothing")

    def handle(self, *_: Any, dry_run: bool, **__: Any) -> None:
        with refusals_in_words():
            self._pass(dry_run=dry_run)

    def _pass(self, *, dry_run: bool) -> None:
        if dry_run:
            due = due_operations(SHOWN)
            self.stdout.write("\n".join([*due, f"{len(due)} due; nothing was sent."]))
            return
        attempted = 0
        while count := dispatch_due(worker_name(), BATCH):
            attempted += count
        self.stdout.write(f"{attempted} attempted.")
