"""Celery's side of the outbox: thin wrappers. A task carries an operation id and is only a bell."""

import os
import socket

from celery import shared_task

from outbox import bell, pulse
from outbox.dispatch import dispatch_all
from outbox.erasure import erase_due
from outbox.leases import due_operations
from outbox.reconcile import close_expired_leases, due_lookups, look_up_due
from runs.expiry import expire_due_runs

#: How many bells one pass of the sweep rings at most.
RINGS = 200


def worker_name() -> str:
    """Who holds a lease: this process on this machine."""
    return f"{socket.gethostname()}:{os.getpid()}"


@shared_task
def dispatch(operation_id: str) -> None:
    """Send one effect if it is still due, by itself; then whatever else is due."""
    dispatch_all(worker_name(), first=operation_id)


@shared_task
def look_up(operation_id: str) -> None:
    """Ask about one outcome if it is still unknown."""
    if operation_id in due_lookups(RINGS):
        look_up_due(operation_id)


@shared_task
def sweep() -> None:
    """The real queue: close expired leases, and ring for every effect that is due to be sent or asked about.

    It sends nothing itself: one slow provider must not keep the others waiting, nor this task past its limit.
    """
    pulse.beat()
    close_expired_leases()
    for operation_id in due_operations(RINGS):
        bell.ring(bell.DISPATCH, operation_id)
    for operation_id in due_lookups(RINGS):
        bell.ring(bell.LOOK_UP, operation_id)


@shared_task
def expire_runs() -> None:
    """End the runs whose time is over."""
    expire_due_runs()


@shared_task(time_limit=240)  # less than the broker waits before it hands a task out again
def erase_due_content() -> None:
    """Erase the content whose term is over; run by run, so what a limit of time cuts off goes on the next time."""
    erase_due()
