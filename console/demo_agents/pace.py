"""Time as the demo takes it: slow enough for people to watch, faster for a test, and over at once on a signal."""

import signal
import sys
import threading
import time
from types import FrameType


class Stopped(BaseException):
    """The process was asked to end."""


class Pace:
    """The demo's clock. Its seconds pass `speed` times as fast as others."""

    def __init__(self, speed: float = 1.0) -> None:
        self.speed = speed
        self._ended = threading.Event()

    def end_on_signals(self) -> None:
        """End every wait on SIGTERM and SIGINT."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)

    def _end(self, _number: int, _frame: FrameType | None) -> None:
        self._ended.set()

    def wait(self, seconds: float) -> None:
        """Let so many of the demo's seconds pass. Raises `Stopped`."""
        if self._ended.wait(seconds / self.speed):
            raise Stopped

    def now(self) -> float:
        """The demo's time."""
        return time.monotonic() * self.speed

    def in_(self, seconds: float) -> float:
        """The demo's time in so many seconds."""
        return self.now() + seconds

    def say(self, line: str) -> None:
        """Tell whoever reads the log."""
        print(line, file=sys.stdout, flush=True)
