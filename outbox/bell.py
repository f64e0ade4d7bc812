"""The bell: tells a worker that an effect is due. Losing it loses nothing, because the sweep finds every due row."""

import structlog
from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError as BrokerError
from redis.exceptions import RedisError

log = structlog.get_logger(__name__)

DISPATCH = "outbox.tasks.dispatch"
LOOK_UP = "outbox.tasks.look_up"


def ring_after_commit(operation_id: str) -> None:
    """Ring for a dispatch once the transaction has committed. Nothing that goes wrong with it reaches the commit."""
    transaction.on_commit(lambda: ring(DISPATCH, operation_id), robust=True)


def ring(task: str, operation_id: str) -> None:
    """Send one message; without a broker nothing is lost but time."""
    try:
        current_app.send_task(task, args=[operation_id], retry=False)
    except (BrokerError, RedisError, OSError) as error:
        log.warning("bell_down", operation_id=operation_id, error=type(error).__name__)
