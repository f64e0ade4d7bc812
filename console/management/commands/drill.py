"""`manage.py drill [NAME…]`: play recovery drills with real processes on services that are thrown away afterwards.

Makes a home for them and starts itself once more in it, so that nothing of it can touch an installation.
"""

import logging
import os
import random
import signal
import socket
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from console import parts
from console.binaries import service_account
from console.drills import playing
from console.drills.harness import MARK
from console.environment import SETTINGS
from console.home import APP_ROLE, OWNER_ROLE, Home
from console.processes import Program, kill_rest, spawn

_SEEDS = 10**6


class Command(BaseCommand):
    help = "Play recovery drills with real processes on throwaway services; one line for each. Ends with 1 if broken."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        names = ", ".join(drill.name for drill in playing.DRILLS)
        parser.add_argument("names", nargs="*", metavar="NAME", help=f"these alone: {names}")
        parser.add_argument("--seed", type=int, help="decides order and amounts (default: another one each time)")
        parser.add_argument("--json", type=Path, metavar="FILE", help="write the report for programs, too")

    def handle(self, *_: Any, names: list[str], seed: int | None, json: Path | None, **__: Any) -> None:
        try:
            drills = playing.chosen(names)
        except LookupError as error:
            raise CommandError(f"There is no drill {error}.") from error
        if not (settings.CLEARANCE_HOME / MARK).exists():
            sys.exit(_play_apart())
        logging.disable(logging.INFO)  # the report is for people; the worker's log has the rest
        seed = random.randrange(_SEEDS) if seed is None else seed
        self._say(f"seed {seed}")
        results = playing.play(drills, settings.CLEARANCE_HOME, seed, self._say)
        if json is not None:
            playing.write_report(json, seed, results)
        broken = [result.name for result in results if not result.held]
        if broken:
            raise CommandError(f"{len(broken)} of {len(results)} drills broken: {', '.join(broken)} (seed {seed}).")
        self._say(f"All {len(results)} drills held.")

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _play_apart() -> int:
    """Run this command in a new home, which is removed afterwards; gives its exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="clearance-drill-", ignore_cleanup_errors=True) as folder:
        home = Home.open(Path(folder), account=service_account(create=True))
        (home.root / MARK).touch()
        os.environ.update(_environment(home))
        command = [sys.executable, *sys.argv]
        child = spawn(Program("drills", command, Path.cwd(), stop_signal=signal.SIGINT), sys.stdout.buffer)
        try:
            return child.wait()
        except KeyboardInterrupt:
            child.send_signal(signal.SIGINT)
            return child.wait()
        finally:
            kill_rest(child)


def _environment(home: Home) -> dict[str, str]:
    """Every setting of the drills; what they do not need is empty, so that nothing of an installation is read."""
    urls = {
        "DATABASE_URL": home.database_url(APP_ROLE),
        "DATABASE_OWNER_URL": home.database_url(OWNER_ROLE),
        "REDIS_URL": home.redis_url(),
        "SECRET_KEY": home.secrets["secret_key"],
        "CLEARANCE_HOME": str(home.root),
        "CLEARANCE_PORT": str(_console_port()),
        "CLEARANCE_ALLOW_PRIVATE_DESTINATIONS": "on",
        "CLEARANCE_SWEEP_SECONDS": "1",
        "PG_BIN": os.environ.get("PG_BIN", ""),
    }
    return {setting.name: "" for setting in SETTINGS} | urls


def _console_port() -> int:
    """A port for a console, of which only the sandbox provider's is used: that one is free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free: int = probe.getsockname()[1]
    return free - parts.sandbox_port(0)
