"""`manage.py halt on|off`: nothing that could lead to an effect is accepted while it is on."""

from argparse import ArgumentParser
from typing import Any

from console.management.acting import ActingCommand, Plan
from runs.administration import By, set_halt


class Command(ActingCommand):
    help = "Halt the whole installation, or let it go on. In force when this returns."

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("switch", choices=["on", "off"])

    def plan(self, options: dict[str, Any]) -> Plan:
        is_on = options["switch"] == "on"

        def act(by: By) -> None:
            set_halt(is_on, by)

        return Plan("halt the installation" if is_on else "let the installation go on", [], act)
