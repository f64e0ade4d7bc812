"""`manage.py reconcile`: close expired leases and ask about unknown outcomes, once, without a worker."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from console.management.acting import refusals_in_words
from outbox.reconcile import due_lookups, expired_leases, reconcile


class Command(BaseCommand):
    help = "One pass of the reconciler. Safe beside running workers: whoever comes second finds nothing to do."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="name what would be done, and do nothing")

    def handle(self, *_: Any, dry_run: bool, **__: Any) -> None:
        with refusals_in_words():
            self._pass(dry_run=dry_run)

    def _pass(self, *, dry_run: bool) -> None:
        if dry_run:
            lines = [f"close the lease of {number}" for number in expired_leases()]
            lines += [f"ask about {number}" for number in due_lookups()]
            self.stdout.write("\n".join([*lines, "Nothing was done."]))
            return
        done = reconcile()
        self.stdout.write(f"{done.closed} leases closed, {done.asked} outcomes asked about.")
