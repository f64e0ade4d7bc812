"""`manage.py up`: one installation in the foreground, with everything it needs.

Starts what is not configured, migrates, and keeps web, worker and beat running until it is told to stop.
"""

from argparse import ArgumentParser
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from console import parts
from console.binaries import ProgramsMissing
from console.embedded import EmbeddedFailure
from console.home import HomeUnusable
from console.locks import AlreadyRunning, PartsLeft
from console.startup import Startup, Unstartable
from console.supervisor import PartFailed, StopRequested


class Command(BaseCommand):
    help = "Start the console and everything it needs, in the foreground; Ctrl-C stops all of it."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, help="port of the console (default: CLEARANCE_PORT)")
        parser.add_argument("--home", type=Path, help="data folder (default: CLEARANCE_HOME)")
        parser.add_argument("--demo", action="store_true", help="with demo people, agents and a sandbox provider")
        parser.add_argument("--only", default=",".join(parts.NAMES), help="these parts alone (default: %(default)s)")

    def handle(self, *_: Any, port: int | None, home: Path | None, demo: bool, only: str, **__: Any) -> None:
        """Run until told to stop; a second call for the same home says where the first one is."""
        startup = Startup(
            home=home or settings.CLEARANCE_HOME,
            port=port,
            names=_part_names(only),
            demo=demo,
            say=self._say,
        )
        try:
            startup.run()
        except AlreadyRunning as running:
            self._say(f"Already running at {running}")
        except (StopRequested, KeyboardInterrupt):
            self._say("Stopped. The data is kept.")
        except (Unstartable, PartsLeft, HomeUnusable, ProgramsMissing, EmbeddedFailure, PartFailed) as failure:
            raise CommandError(str(failure)) from failure

    def _say(self, line: str) -> None:
        with suppress(OSError):  # the terminal may be gone while the parts still have to be stopped
            self.stdout.write(line)
            self.stdout.flush()


def _part_names(only: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in only.split(","))
    if unknown := set(names) - set(parts.NAMES):
        raise CommandError(f"--only knows {', '.join(parts.NAMES)}; not {', '.join(sorted(unknown))}.")
    return names
