"""The throwaway installation of the drills: database, broker, provider and worker as real processes.

Signals only processes that it started, or that the worker it started forked.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Self

from django.conf import settings
from django.core.management import call_command
from django.db import connections
from redis.exceptions import RedisError

from console import embedded, parts
from console.binaries import service_account
from console.drills import proxy as proxy_program
from console.drills.observing import Broken, seen
from console.drills.provider import Provider
from console.drills.proxies import Proxy, free_port
from console.home import Home
from console.processes import Program, kill_rest, spawn
from console.supervisor import Part

#: Made in a home by the command, so that drills never run on anybody's installation.
MARK = "for-drills-only"

_LINES_OF_LOG = 15
_ALWAYS_THERE = ("postgresql", "valkey", "sandbox")


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

    def start_worker(self, *options: str, called: str = "worker", **environment: str) -> None:
        """Start a worker with its beat as `up` does; a drill may add options, and change its environment."""
        self.start_application(["worker", "beat"], *options, called=called, **environment)

    def start_application(
        self, names: Sequence[str], *options: str, called: str | None = None, **environment: str
    ) -> None:
        """Start one part of the application as `up` does: `web`, `beat`, `worker`, or the last two in one."""
        (part,) = parts.application(names, self.home.root)
        program = part.prepare()
        changed = replace(program, command=[*program.command, *options])
        with _environment(environment):
            self._start(Part(called or part.name, lambda: changed, part.is_ready))

    def start_proxy(self, name: str, target: int | Path, *, port: int | None = None, queue: int = 100) -> Proxy:
        """Start a proxy to a port or a socket; on the port it had before, if that is named."""
        proxy = Proxy(name, port or free_port())
        command = [sys.executable, "-I", proxy_program.__file__, str(proxy.port), str(target), str(queue)]
        program = Program(name, command, self.home.root)
        self._start(Part(name, lambda: program, proxy.lets_in))
        proxy.pid = self.pid(name)
        return proxy

    def stop(self, name: str, number: signal.Signals | None = None) -> None:
        """Stop a part in order, or by this signal; what does not end in its time is killed."""
        program, process = self._running.pop(name)
        process.send_signal(number or program.stop_signal)
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        kill_rest(process)

    def kill(self, name: str) -> None:
        """Kill a part with everything that it forked."""
        _, process = self._running.pop(name)
        kill_rest(process)

    def has_ended(self, name: str) -> bool:
        """Whether a part ended by itself."""
        return self._running[name][1].poll() is not None

    def clear_away(self) -> None:
        """Leave what every drill finds: database, broker and provider, running."""
        for name in reversed(list(self._running)):
            if name not in _ALWAYS_THERE:
                self.stop(name)
        self.start_services()

    def lose_broker(self) -> None:
        """Kill the broker, with everything it wrote down."""
        self.kill("valkey")
        shutil.rmtree(self.home.valkey_data / "appendonlydir")

    def crash_database(self) -> None:
        """Have the database end at once, as in a crash: no checkpoint, every connection lost."""
        _, process = self._running.pop("postgresql")
        process.send_signal(signal.SIGQUIT)
        process.wait(30)
        embedded.discard_stale_lock(self.home)
        connections.close_all()

    def pid(self, name: str) -> int:
        """The process that leads a part."""
        return self._running[name][1].pid

    def is_ours(self, pid: int) -> bool:
        """Whether a process was forked by a part that runs here: it then belongs to the session that the part leads."""
        with suppress(ProcessLookupError):
            return os.getsid(pid) in {process.pid for _, process in self._running.values()}
        return False

    def await_end(self, pid: int) -> None:
        """Wait until a process that was forked here is no more."""
        seen(lambda: not self.is_ours(pid), f"the end of process {pid}")

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
        return "\n".join(self.log(name).splitlines()[-_LINES_OF_LOG:])

    def log(self, name: str) -> str:
        """All that a part wrote."""
        log = self.home.logs / f"{name}.log"
        return log.read_text(errors="replace") if log.exists() else ""

    def _start(self, part: Part) -> None:
        program = part.prepare()
        with (self.home.logs / f"{part.name}.log").open("ab") as log:
            process = spawn(program, log)
        self._running[part.name] = (program, process)
        seen(lambda: process.poll() is not None or _answers(part), f"{part.name} ready")
        if process.poll() is not None:
            raise Broken(f"{part.name} ended at its start")


def _answers(part: Part) -> bool:
    """Whether a part is ready. A connection to a broker that was killed meanwhile is no answer."""
    try:
        return part.is_ready()
    except (RedisError, OSError):
        return False


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    """What is started inside inherits these variables too."""
    before = os.environ.copy()
    os.environ.update(changes)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
