"""Whether this process is alive, and whether the installation can do its work.

Anybody may ask; so parts are named, and never why one fails.
"""

from django.db import Error as DatabaseError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from redis.exceptions import RedisError

from console.answers import answer
from outbox import pulse
from runs.models import Installation


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """This process answers; it says nothing about anything else."""
    return answer({"status": "ok"})


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Database, broker and sweep, each `ok` or `failing`; 503 unless all are."""
    broker, sweep = broker_and_sweep()
    parts = {"database": _database(), "broker": broker, "sweep": sweep}
    ready = all(parts.values())
    told = {name: "ok" if works else "failing" for name, works in parts.items()}
    return answer({"status": "ready" if ready else "not-ready", "parts": told}, status=200 if ready else 503)


def _database() -> bool:
    """Whether the database answers and has been migrated."""
    try:
        return Installation.objects.filter(id=1).exists()
    except DatabaseError:
        return False


def broker_and_sweep() -> tuple[bool, bool]:
    """Whether the broker answers, and whether the sweep passed lately, as far as the broker can tell."""
    try:
        return True, pulse.is_beating()
    except (RedisError, OSError):
        return False, False
