"""The parts of one installation, for the supervisor: database and broker if embedded, web, worker, beat, demo.

Each part has a real probe: a query, a PING, an HTTP answer, a reply of the worker.
"""

import http.client
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from django.conf import settings
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from console import binaries, embedded
from console.celery import app
from console.home import Home
from console.processes import Program
from console.supervisor import Part

#: What `--only` can name.
NAMES = ("web", "worker", "beat")

WEB_PROCESSES = 2
WORKER_PROCESSES = 2


def services(home: Home, *, postgres: bool, valkey: bool) -> list[Part]:
    """The embedded services that are wanted. Raises `ProgramsMissing`."""
    wanted = []
    if postgres:
        programs = binaries.postgres_programs()
        wanted.append(
            Part(
                "postgresql",
                prepare=lambda: embedded.prepare_postgres(home, programs),
                is_ready=lambda: embedded.postgres_is_ready(home),
                stop_seconds=30,
            )
        )
    if valkey:
        program = binaries.valkey_program()
        wanted.append(
            Part(
                "valkey",
                prepare=lambda: embedded.prepare_valkey(home, program),
                is_ready=lambda: embedded.valkey_is_ready(home),
            )
        )
    return wanted


def application(names: Sequence[str], home: Path) -> list[Part]:
    """Web, worker and beat, as named. Worker and beat together are one process."""
    wanted = []
    if "web" in names:
        wanted.append(_part("web", _gunicorn(), web_is_ready, stop_seconds=15))
    if "worker" in names:
        beat = ["--beat", *_beat_files(home)] if "beat" in names else []
        # Time for a delivery that has begun to end and to be recorded.
        seconds = settings.EFFECT_SEND_SECONDS + 10
        wanted.append(_part("worker", _celery("worker", *_worker_options(), *beat), worker_is_ready, seconds))
    elif "beat" in names:
        wanted.append(_part("beat", _celery("beat", *_beat_files(home)), lambda: True))
    return wanted


def demo(home: Path) -> list[Part]:
    """The demo's provider and its agents."""
    port = sandbox_port(settings.CLEARANCE_PORT)
    sandbox = ["manage.py", "sandbox", "--port", str(port), "--ledger", str(home / "sandbox-ledger.jsonl")]
    provider = _part("sandbox", sandbox, lambda: _answers(port, "/ledger"))
    return [provider, _part("agents", ["manage.py", "agent_demo"], lambda: True)]


def sandbox_port(console_port: int) -> int:
    """The port of the demo's provider: 8901 for a console on 8000."""
    return console_port + 901


def web_is_ready() -> bool:
    """Whether the console answers HTTP."""
    return _answers(settings.CLEARANCE_PORT, "/healthz")


def worker_is_ready() -> bool:
    """Whether the worker of this home replies over the broker; a broker that is away brings no reply."""
    try:
        reply = app.control.broadcast("ping", reply=True, destination=[worker_name()], timeout=0.3, limit=1)
    except (OperationalError, RedisError, OSError):
        return False
    return bool(reply)


def worker_name() -> str:
    """The worker's name on the broker; the port tells two installations on one machine apart."""
    return f"clearance@{settings.CLEARANCE_PORT}"


def _answers(port: int, path: str) -> bool:
    """Whether a server of ours answers HTTP; to refuse the host name is an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _part(name: str, arguments: list[str], is_ready: Callable[[], bool], stop_seconds: float = 10) -> Part:
    program = Program(name, [sys.executable, *arguments], settings.BASE_DIR)
    return Part(name, prepare=lambda: program, is_ready=is_ready, stop_seconds=stop_seconds)


def _gunicorn() -> list[str]:
    live = settings.CLEARANCE_LIVE == "sse"
    options = {
        "bind": f"{settings.CLEARANCE_BIND}:{settings.CLEARANCE_PORT}",
        "workers": str(WEB_PROCESSES),
        "worker-class": "asgi" if live else "sync",
        "graceful-timeout": "10",
        "logger-class": "console.gunicorn_log.GunicornLog",
    }
    arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
    # Loaded once and forked: half the work at the start, and shared memory afterwards.
    return ["-m", "gunicorn", "--preload", "--no-control-socket", *arguments, f"console.{'a' if live else 'w'}sgi"]


def _celery(*arguments: str) -> list[str]:
    return ["-m", "celery", "--app", "console.celery", *arguments]


def _worker_options() -> list[str]:
    return [
        "--hostname",
        worker_name(),
        "--concurrency",
        str(WORKER_PROCESSES),
        "--without-gossip",
        "--without-mingle",
        "--without-heartbeat",
    ]


def _beat_files(home: Path) -> list[str]:
    return ["--schedule", str(home / "logs" / "beat-schedule")]
