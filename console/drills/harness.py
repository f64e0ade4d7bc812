"""The throwaway installation of the drills: database, broker, provider and worker as real processes.

Signals only processes that it started, or that the worker it started forked.
"""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from django.conf import settings
from django.core.management import call_command
from django.db import connections

from console import embedded, parts
from console.binaries import service_account
from console.drills.observing import Broken, seen
from console.drills.provider import Provider
from console.home import Home
from console.processes import Program, kill_rest, spawn
from console.supervisor import Part

#: Made in a home by the command, so that drills never run on anybody's installation.
MARK = "for-drills-only"

_LINES_OF_LOG = 15


class Installation:
    """A context: inside it database, broker and provider run. The worker is started where a drill needs it."""

    def __init__(self, root: Path) -> None:
        if not (root / MARK).exists():
            raise Broken(f"{root} was not made for drills.")
        # Durable, unlike the services of tests: what a crash leaves is what is looked at.
        self.home = Home.open(root, account=service_account(create=False))
        self.provider = Provider(parts.sandbox_port(settings.CLEARANCE_PORT))
        self._running: dict[str, tuple[Program, subprocess.Popen[bytes]]] = {}

    def __enter__(self) -> Self:
        try:
            self.start_services()
            embedded.ensure_roles(self.home)
            call_command("migrate", interactive=False, verbosity=0)
            self._start(parts.demo(self.home.root)[0])
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        connections.close_all()
        for name in reversed(list(self._running)):
            self.stop(name)
        self.home.leave()

    def start_services(self) -> None:
        """Start of database and broker what does not run, and wait until it answers."""
        for part in parts.services(self.home, postgres=True, valkey=True):
            if part.name not in self._running:
                self._start(part)

    def start_worker(self) -> None:
        """Start a worker with its beat as `up` does."""
        self._start(parts.application(("worker", "beat"), self.home.root)[0])

    def stop(self, name: str) -> None:
        """Stop a part in order; what does not end in its time is killed."""
        program, process = self._running.pop(name)
        process.send_signal(program.stop_signal)
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        kill_rest(process)

    def crash_database(self) -> None:
        """Have the database end at once, as in a crash: no checkpoint, every connection lost."""
        _, process = self._running.pop("postgresql")
        process.send_signal(signal.SIGQUIT)
        process.wait(30)
        embedded.discard_stale_lock(self.home)
        connections.close_all()

    def is_ours(self, pid: int) -> bool:
        """Whether a process was forked by the worker: it then belongs to the session that the worker leads."""
        with suppress(ProcessLookupError):
            return "worker" in self._running and os.getsid(pid) == self._running["worker"][1].pid
        return False

    @contextmanager
    def worker_standing_still(self) -> Iterator[None]:
        """Stop the worker with its children and its beat where they are, and let them go on afterwards."""
        _, process = self._running["worker"]
        os.killpg(process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGCONT)

    def has(self, name: str) -> bool:
        """Whether this part was started."""
        return name in self._running

    def end_of_log(self, name: str) -> str:
        """The last lines that a part wrote."""
        log = self.home.logs / f"{name}.log"
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        return "\n".join(lines[-_LINES_OF_LOG:])

    def _start(self, part: Part) -> None:
        program = part.prepare()
        with (self.home.logs / f"{part.name}.log").open("ab") as log:
            process = spawn(program, log)
        self._running[part.name] = (program, process)
        seen(lambda: process.poll() is not None or part.is_ready(), f"{part.name} ready")
        if process.poll() is not None:
            raise Broken(f"{part.name} ended at its start")
