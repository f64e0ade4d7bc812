"""`manage.py erase --due` or `--run KEY`: erase content whose term is over, or all of one run.

What is erased does not come back; its hash, every decision and the chain of the ledger stay.
"""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from console.management.acting import ActingCommand, Plan
from outbox import erasure
from runs.administration import By


class Command(ActingCommand):
    help = "Erase content that is past its term, or everything of one run that has come to rest."
    needs_reason = False

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("--due", action="store_true", help="what is past the terms of the policies")
        which.add_argument("--run", metavar="KEY", help="everything of this run; needs --reason")

    def plan(self, options: dict[str, Any]) -> Plan:
        return _due() if options["due"] else _one(options["run"])


def _due() -> Plan:
    planned = erasure.plan_due()

    def act(by: By) -> str:
        because = by.reason.strip() or erasure.CLOCK.reason
        return _told("Erased", erasure.erase_due(By(by.actor, because)))

    return Plan(_told("erase", planned), [], act)


def _one(key: str) -> Plan:
    planned = erasure.plan_run(key)

    def act(by: By) -> str:
        if not by.reason.strip():
            raise CommandError("Say why: --reason must not be blank.")
        return f"Erased of {erasure.erase_run(key, by)}."

    return Plan(f"erase of {planned}", [], act)


def _told(verb: str, erasures: list[erasure.Erasure]) -> str:
    lines = "".join(f"\n  {each}" for each in erasures)
    return f"{verb} of {len(erasures)} runs what is past its term{lines}"
