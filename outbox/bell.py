"""The bell: tells a worker that an effect is due. Losing it loses nothing, because the sweep finds every due row."""

import time
from dataclasses import dataclass

import structlog
from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError as BrokerError
from redis.exceptions import RedisError

log = structlog.get_logger(__name__)

DISPATCH = "outbox.tasks.dispatch"
LOOK_UP = "outbox.tasks.look_up"

#: After a ring that failed nobody tries again in this process for so long: finding out costs whoever waits seconds.
QUIET_SECONDS = 5


@dataclass
class _Quiet:
    """Until when this process leaves the bell alone."""

    until: float = 0.0


_quiet = _Quiet()


def forget() -> None:
    """Try again the next time. Needed only where a test takes the broker away."""
    _quiet.until = 0.0


def ring_after_commit(operation_id: str) -> None:
    """Ring for a dispatch once the transaction has committed. Nothing that goes wrong with it reaches the commit."""
    transaction.on_commit(lambda: ring(DISPATCH, operation_id), robust=True)


def ring(task: str, operation_id: str) -> None:
    """Send one message; without a broker nothing is lost but time."""
    if time.monotonic() < _quiet.until:
        return
    try:
        current_app.send_task(task, args=[operation_id], retry=False)
    except (BrokerError, RedisError, OSError) as error:
        _quiet.until = time.monotonic() + QUIET_SECONDS
        log.warning("bell_down", operation_id=operation_id, error=type(error).__name__)
