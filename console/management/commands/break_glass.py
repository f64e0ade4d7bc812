"""`manage.py break-glass confirm WAITING_ID --reason TEXT`: what waits for a second admin, confirmed without one.

For an installation with one admin, or on the day when the other cannot be reached. It says so for ever: in the record
of the change, on the list of waiting steps, in the audit, and in the log.
"""

from argparse import ArgumentParser
from typing import Any

import structlog

from console.management.acting import ActingCommand, Plan
from console.waiting_kinds import KINDS
from runs.administration import By
from runs.confirmations import confirm_alone, get_step, overtaken_by
from runs.errors import AlreadyDecided

log = structlog.get_logger(__name__)


class Command(ActingCommand):
    help = "Confirm without a second person what waits for one. In force when this returns, and marked for ever."

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("verb", choices=["confirm"])
        parser.add_argument("waiting", metavar="WAITING_ID", help="such as w-019…, from the list of waiting steps")

    def plan(self, options: dict[str, Any]) -> Plan:
        ref = options["waiting"]
        row = get_step(ref)
        if row.state != "open":
            raise AlreadyDecided(f"{ref} was {row.state} already.")
        if void := overtaken_by(KINDS, row):
            raise AlreadyDecided(f"{ref} is void: {void}")

        def act(by: By) -> None:
            confirm_alone(KINDS, ref, by.actor, by.reason)
            log.warning("confirmed_without_second_person", waiting=ref, kind=row.kind, subject=row.subject)

        asked_by = f"which {row.proposed_by.username} asked for"
        return Plan(
            f"confirm {ref}: {KINDS[row.kind].title.lower()} {row.subject}, {asked_by}", [row.because.rstrip(".")], act
        )
