"""`manage.py agent_demo`: scripted agents that keep producing realistic work, each a process of its own.

They are given an address and a credential and know nothing else of this installation.
"""

import json
import sys
from argparse import ArgumentParser
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from console import demo
from console.processes import Program
from console.supervisor import Part, StopRequested, Supervisor


class Command(BaseCommand):
    help = "Run the demo's agents, its intake webhook and its scripted people until stopped, over the API only."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--home", type=Path, help="data folder with the demo's credentials (default: CLEARANCE_HOME)"
        )
        parser.add_argument("--url", help="address of the console (default: this machine, CLEARANCE_PORT)")
        parser.add_argument("--speed", type=float, default=1.0, help="how fast time passes (default: as for people)")
        parser.add_argument("--seed", type=int, help="makes what comes in the same every time")

    def handle(self, *_: Any, home: Path | None, url: str | None, speed: float, seed: int | None, **__: Any) -> None:
        """Keep all of them running until told to stop."""
        made = demo.read(home or settings.CLEARANCE_HOME)
        if made is None:
            raise CommandError("There is no demo here yet. Start it once with: python manage.py up --demo")
        address = url or f"http://127.0.0.1:{settings.CLEARANCE_PORT}"
        given = {"url": address, "provider": demo.provider_address(), "speed": speed, "seed": seed}
        with suppress(StopRequested), Supervisor(None, self.stdout.write) as supervisor:
            supervisor.start(*(_part(name, {**given, "credential": who}) for name, who in demo.credentials(made)))
            supervisor.watch()


def _part(name: str, given: dict[str, Any]) -> Part:
    """One process. Its credential travels on standard input: arguments and environments can be read by others."""
    command = [sys.executable, "-m", "console.demo_agents", name]
    program = Program(name, command, settings.BASE_DIR, stdin=json.dumps(given))
    return Part(name, prepare=lambda: program, is_ready=lambda: True)
