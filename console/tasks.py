"""Celery's side of notifications: thin wrappers. A task carries a number and is only a bell."""

from celery import shared_task
from django.conf import settings

from approvals.notices import note_new_reviews
from console import notifications
from runs.notifications import due_notifications, note_new_cases

#: How many messages one pass of the sweep rings for at most.
RINGS = 100


@shared_task
def sweep_notifications() -> None:
    """Note who is to be told of what waits, and ring for every message that is due. It sends nothing itself."""
    with_slack = bool(settings.CLEARANCE_SLACK_WEBHOOK)
    note_new_cases(with_slack=with_slack)
    note_new_reviews(with_slack=with_slack)
    for number in due_notifications(RINGS):
        notify.delay(number)


@shared_task
def notify(number: int) -> None:
    """Send one notification if it is still due."""
    notifications.send(number)
