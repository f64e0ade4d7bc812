"""One throwaway PostgreSQL and one Valkey for a whole test session, started from the embedded programs.

The process that starts pytest announces the addresses in its environment before the settings are read, so
that parallel workers and every process a test starts inherit them; it alone starts and stops the services.
"""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from console import binaries, embedded
from console.environment import SETTINGS
from console.home import APP_ROLE, OWNER_ROLE, Home
from console.processes import Program, kill_rest, spawn

#: How long a service may take to answer, and to stop.
PATIENCE_SECONDS = 30

_HOME = "TEST_HOME"


def environment() -> dict[str, str]:
    """Every setting of a test process; what is not needed is empty, so that no `.env` of a developer leaks in."""
    home = _home()
    urls = {
        "DATABASE_URL": home.database_url(APP_ROLE),
        "DATABASE_OWNER_URL": home.database_url(OWNER_ROLE),
        "REDIS_URL": home.redis_url().replace("db=0", f"db={_worker_number()}"),
        "SECRET_KEY": home.secrets["secret_key"],
        "CLEARANCE_HOME": str(home.root),
    }
    return {setting.name: "" for setting in SETTINGS} | urls | {_HOME: str(home.root)}


class Services:
    """The running pair."""

    def __init__(self) -> None:
        self.home = _home()
        self._processes: list[tuple[Program, subprocess.Popen[bytes]]] = []

    def start(self) -> None:
        """Start both and wait until both answer; on failure, stop what runs."""
        try:
            valkey = embedded.prepare_valkey(self.home, binaries.valkey_program())
            postgres = embedded.prepare_postgres(self.home, binaries.postgres_programs())
            for service in (postgres, valkey):
                with (self.home.logs / f"{service.name}.log").open("ab") as log:
                    self._processes.append((service, spawn(service, log)))
            _wait_for(lambda: embedded.postgres_is_ready(self.home), "PostgreSQL")
            _wait_for(lambda: embedded.valkey_is_ready(self.home), "Valkey")
            embedded.ensure_roles(self.home, create_databases=True)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop both in reverse order and remove their data."""
        for service, process in reversed(self._processes):
            process.send_signal(service.stop_signal)
            with suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE_SECONDS)
            kill_rest(process)
        self._processes.clear()
        shutil.rmtree(self.home.root, ignore_errors=True)
        os.environ.pop(_HOME, None)


def _home() -> Home:
    """The session's home, from the environment or new."""
    root = os.environ.get(_HOME) or tempfile.mkdtemp(prefix="clearance-test-")
    return Home.open(Path(root), account=binaries.service_account(create=False), throwaway=True)


def _worker_number() -> int:
    """0 for a session without workers, else 1 and up: each worker has its own database of the broker."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    return int(worker.removeprefix("gw")) + 1 if worker else 0


def _wait_for(is_ready: Callable[[], bool], name: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_ready():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{name} did not become ready within {PATIENCE_SECONDS} seconds.")
        time.sleep(0.02)
