"""A running proxy as the drills see it, and what can be done to it."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager

_HOST = "127.0.0.1"


class Proxy:
    """A proxy that was started. It is stalled by a stop, and cut with resets by a kill; neither needs its help."""

    def __init__(self, name: str, port: int) -> None:
        self.name, self.port, self.pid = name, port, 0

    @property
    def base(self) -> str:
        """The address of an HTTP server behind it."""
        return f"http://{_HOST}:{self.port}"

    def lets_in(self) -> bool:
        """Whether somebody can connect."""
        try:
            socket.create_connection((_HOST, self.port), timeout=1).close()
        except OSError:
            return False
        return True

    @contextmanager
    def shut(self) -> Iterator[None]:
        """Let nobody in: whoever connects waits, and has not sent a byte. Needs a proxy whose queue is 0.

        The kernel answers nobody whose place in the queue is taken, and the one that there is, is taken here.
        """
        os.kill(self.pid, signal.SIGSTOP)
        try:
            with socket.create_connection((_HOST, self.port), timeout=1):
                yield
        finally:
            os.kill(self.pid, signal.SIGCONT)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        port: int = probe.getsockname()[1]
    return port
