"""Keeps a set of child processes running: starts them in order, starts them again, stops them in reverse.

Knows nothing of what the parts are. One thread; it sleeps until a child ends or a restart or probe is due.
"""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO, Any, Self

from console.processes import Program, kill_rest, spawn

#: Waits before the first, second, third … start of a part that keeps dying; the last one repeats.
BACKOFF_SECONDS = (0.5, 1, 2, 5, 10, 30)
#: A part that lived this long had no failed start.
SETTLED_SECONDS = 60
#: How often a part that is not ready yet is asked.
PROBE_SECONDS = 0.1
#: A log larger than this is set aside at the next start.
LOG_BYTES = 10_000_000


STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class StopRequested(BaseException):
    """Somebody asked the supervisor to stop: a signal, or Ctrl-C."""


class PartFailed(Exception):
    """A part did not become ready at its first start; the text has the end of its log."""


@dataclass(slots=True)
class Part:
    """One supervised process. `prepare` runs before every start; `is_ready` is a real probe."""

    name: str
    prepare: Callable[[], Program]
    is_ready: Callable[[], bool]
    start_seconds: float = 60
    stop_seconds: float = 10

    program: Program | None = field(default=None, init=False)
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    ready: bool = field(default=False, init=False)
    started_at: float = field(default=0, init=False)
    restart_at: float = field(default=0, init=False)
    failures: int = field(default=0, init=False)

    def failure_to_start(self) -> str:
        """What went wrong with the first start, or nothing."""
        if self.process and self.process.poll() is not None:
            return "ended at its start"
        if not self.ready and time.monotonic() - self.started_at > self.start_seconds:
            return f"is not ready after {self.start_seconds:g} s"
        return ""

    def signal_stop(self) -> None:
        """Ask the process to stop in order."""
        if self.process and self.program:
            self.process.send_signal(self.program.stop_signal)


class Supervisor:
    """The parts, in waves: a wave starts together, after the one before it is ready, and stops together.

    A context: inside it SIGTERM, SIGINT and SIGHUP raise `StopRequested`, and leaving it stops all parts. The
    parts write into a folder of logs, or, without one, to the standard error of this process; the descriptors in
    `keep` stay open in all of them.
    """

    def __init__(self, logs: Path | None, say: Callable[[str], None], *, keep: Sequence[int] = ()) -> None:
        self._logs = logs
        self._keep = keep
        self._say = say
        self._waves: list[list[Part]] = []
        self._launching = False
        self._stop_requested = False
        self._handlers: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        self._wakeups, self._wakener = os.pipe()
        os.set_blocking(self._wakeups, False)
        os.set_blocking(self._wakener, False)
        signal.set_wakeup_fd(self._wakener, warn_on_full_buffer=False)
        for number in STOP_SIGNALS:
            self._handlers[number] = signal.signal(number, self._request_stop)
        self._handlers[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, _only_wake)
        return self

    def __exit__(self, *_: object) -> None:
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)  # stopping is under way and bounded
        self.stop()
        signal.set_wakeup_fd(-1)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        os.close(self._wakeups)
        os.close(self._wakener)

    def start(self, *parts: Part) -> None:
        """Start one wave and wait until all of it is ready. Raises `PartFailed`."""
        self._waves.append(list(parts))
        for part in parts:
            self._launch(part)
        while not all(part.ready for part in parts):
            self._wait(PROBE_SECONDS)
            for part in parts:
                self._probe(part)
                if failure := part.failure_to_start():
                    raise PartFailed(f"{part.name} {failure}.\n{self._end_of_log(part)}")

    def watch(self) -> None:
        """Start again what dies, for ever; left by `StopRequested`."""
        while True:
            now = time.monotonic()
            for part in self._parts():
                self._look_after(part, now)
            self._wait(self._seconds_until_due(now))

    def stop(self) -> None:
        """Stop all parts, the last wave first. What does not end in its time is killed."""
        for wave in reversed(self._waves):
            running = [part for part in wave if part.process]
            for part in running:
                part.signal_stop()
            for part in running:
                self._await_end(part)
        self._waves.clear()

    # ---- one part ----------------------------------------------------------------------------------------------

    def _launch(self, part: Part) -> None:
        self._launching = True  # a stop must not come between the start of a process and its being noted
        part.program = part.prepare()
        part.ready = False
        part.started_at = time.monotonic()
        with self._open_log(part) as log:
            part.process = spawn(part.program, log, keep=self._keep)
        self._launching = False
        self._say(f"{part.name}: starting (process {part.process.pid})")
        if self._stop_requested:
            raise StopRequested

    def _probe(self, part: Part) -> None:
        if part.process and not part.ready and part.is_ready():
            part.ready = True
            self._say(f"{part.name}: ready after {time.monotonic() - part.started_at:.1f} s")

    def _look_after(self, part: Part, now: float) -> None:
        if part.process is None:
            if now >= part.restart_at:
                self._launch(part)
        elif (code := part.process.poll()) is not None:
            self._note_death(part, code, now)
        else:
            self._probe(part)

    def _note_death(self, part: Part, code: int, now: float) -> None:
        assert part.process
        kill_rest(part.process)
        part.process = None
        part.failures = 0 if now - part.started_at > SETTLED_SECONDS else part.failures
        pause = BACKOFF_SECONDS[min(part.failures, len(BACKOFF_SECONDS) - 1)]
        part.failures += 1
        part.restart_at = now + pause
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        self._say(f"{part.name}: {how}, starting again in {pause:g} s")

    def _await_end(self, part: Part) -> None:
        assert part.process
        try:
            part.process.wait(part.stop_seconds)
        except subprocess.TimeoutExpired:
            self._say(f"{part.name}: did not stop within {part.stop_seconds:g} s, killing it")
        kill_rest(part.process)
        part.process = None
        self._say(f"{part.name}: stopped")

    # ---- waiting and logs --------------------------------------------------------------------------------------

    def _request_stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stop_requested = True
        if not self._launching:
            raise StopRequested

    def _parts(self) -> Iterator[Part]:
        for wave in self._waves:
            yield from wave

    def _seconds_until_due(self, now: float) -> float | None:
        dues = [part.restart_at - now for part in self._parts() if part.process is None]
        dues += [PROBE_SECONDS for part in self._parts() if part.process and not part.ready]
        return max(0.0, min(dues)) if dues else None

    def _wait(self, seconds: float | None) -> None:
        """Sleep until a child ends (its signal writes to the pipe), or for so long."""
        if select.select([self._wakeups], [], [], seconds)[0]:
            os.read(self._wakeups, 4096)

    def _open_log(self, part: Part) -> IO[bytes]:
        if self._logs is None:
            return os.fdopen(os.dup(sys.stderr.fileno()), "ab")
        file = self._logs / f"{part.name}.log"
        if file.exists() and file.stat().st_size > LOG_BYTES:
            file.replace(file.with_suffix(".log.1"))
        return file.open("ab")

    def _end_of_log(self, part: Part) -> str:
        if self._logs is None:
            return "Its last words are above."
        file = self._logs / f"{part.name}.log"
        return "\n".join([*file.read_text(errors="replace").splitlines()[-15:], f"The whole log: {file}"])


def _only_wake(_number: int, _frame: FrameType | None) -> None:
    """A signal with a handler of Python's writes to the wake-up pipe; nothing else is wanted."""
