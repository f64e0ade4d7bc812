"""Celery's side of the outbox: thin wrappers. A task carries an operation id and is only a bell."""

import os
import socket

from celery import shared_task

from outbox import pulse
from outbox.dispatch import dispatch_due
from outbox.reconcile import reconcile

#: How many effects one pass of the sweep sends at most, so that no pass outlives its task's time limit.
SWEEP_AT_MOST = 20


def worker_name() -> str:
    """Who holds a lease: this process on this machine."""
    return f"{socket.gethostname()}:{os.getpid()}"


@shared_task
def dispatch(operation_id: str) -> None:
    """Send one effect if it is still due."""
    dispatch_due(worker_name(), only=operation_id)


@shared_task
def sweep() -> None:
    """The real queue: close expired leases, ask about unknown outcomes, send what is due."""
    pulse.beat()
    reconcile()
    sent = 0
    while sent < SWEEP_AT_MOST and (count := dispatch_due(worker_name())):
        sent += count
