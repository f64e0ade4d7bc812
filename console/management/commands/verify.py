"""`manage.py verify`: check every invariant against everything that is stored, in one consistent view.

Reads only and takes no locks, so it is safe on a live system. Ends with 1 when something does not hold.
"""

import json
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from approvals import verify as approvals
from console.management.acting import refusals_in_words
from outbox import verify as outbox
from runs import verify as runs
from runs.verify.checks import Check, Violation, frozen_view

#: What is checked, app by app.
CHECKS: tuple[Check, ...] = (*runs.INVARIANTS, *approvals.INVARIANTS, *outbox.INVARIANTS)


class Command(BaseCommand):
    help = "Check every invariant against everything that is stored; one line for each violation."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")

    def handle(self, *_: Any, json: bool, **__: Any) -> None:
        seen: Counter[str] = Counter()
        with refusals_in_words(), frozen_view():
            count = self._print_json(seen) if json else self._print_lines(seen)
        if count:
            raise CommandError(f"{count} violation{'s' * (count > 1)}.")

    def _print_lines(self, seen: Counter[str]) -> int:
        """Print each violation as it is found; where there is none, what was looked at."""
        count = 0
        for count, violation in enumerate(_violations(seen), 1):  # noqa: B007  # the last number is the count
            self.stdout.write(str(violation))
        if not count:
            looked_at = ", ".join(f"{things}: {number}" for things, number in sorted(seen.items()))
            self.stdout.write(f"All {len(_rules())} invariants hold. {looked_at or 'Nothing is stored'}.")
        return count

    def _print_json(self, seen: Counter[str]) -> int:
        found = [asdict(violation) for violation in _violations(seen)]
        report = {"holds": not found, "seen": dict(sorted(seen.items())), "violations": found, "invariants": _rules()}
        self.stdout.write(json.dumps(report, ensure_ascii=False, indent=2))
        return len(found)


def _violations(seen: Counter[str]) -> Iterator[Violation]:
    for check in CHECKS:
        yield from check.find(seen)


def _rules() -> dict[str, str]:
    return {name: rule for check in CHECKS for name, rule in check.rules.items()}
