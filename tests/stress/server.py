"""A real server of the console for the time of a test: gunicorn, in the role of the application."""

import http.client
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from django.conf import settings

from tests.processes import wait_until

#: More than an installation starts, for more commands at once.
PROCESSES = 8


class Server:
    """`gunicorn` on a free port; what it says goes to a file."""

    def __init__(self, environment: Mapping[str, str], log: Path) -> None:
        self.port = _free_port()
        self.log = log
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        options = ["--preload", "--no-control-socket", "--bind", f"127.0.0.1:{self.port}"]
        options += ["--workers", str(PROCESSES), "--logger-class", "console.gunicorn_log.GunicornLog"]
        with self.log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "gunicorn", *options, "console.wsgi"],
                cwd=settings.BASE_DIR,
                env=dict(self._environment),
                stdout=output,
                stderr=output,
            )
        wait_until(self._answers, f"an answer of the server, which said:\n{self.log.read_text()}")
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, f"the server ended:\n{self.log.read_text()}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
