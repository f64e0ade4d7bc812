"""Telling operators of new cases and reviewers of new reviews, by e-mail and Slack: where to look, and no value.

Nothing here is inside a transaction, and nothing decides anything: the message holds one link to what waits.
"""

from dataclasses import dataclass
from smtplib import SMTPException, SMTPRecipientsRefused, SMTPResponseException

import httpx
import structlog
from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.urls import reverse

from console.hostile import plain
from runs import catalog, notifications
from runs.notifications import EMAIL, Due

log = structlog.get_logger(__name__)

TIMEOUT_SECONDS = 10


class NothingLeft(Exception):
    """The message is known not to have left; its text is the name of the cause."""


class MayHaveLeft(Exception):
    """Nobody knows whether the message left; its text is the name of the cause."""


@dataclass(frozen=True, slots=True)
class Message:
    """What is said: that something waits, and where."""

    subject: str
    text: str


def compose(due: Due) -> Message:
    """The message about what waits. Keys and names of ours, and nothing that anybody wrote into a record."""
    title = plain(catalog.latest(due.workflow).title)
    if due.snapshot:
        link = reverse("snapshots:detail", args=[due.snapshot])
        subject, text = (
            f"A review waits: {due.run}",
            f"A snapshot of run {due.run} ({title}) waits for your decision.\n",
        )
    else:
        link = reverse("escalations:detail", args=[due.escalation])
        subject, text = f"A case waits: {due.run}", f"A change of run {due.run} ({title}) waits for an operator.\n"
    weight = "It is about a material field.\n" if due.is_material else ""
    return Message(subject, f"{text}{weight}\n{settings.CLEARANCE_URL}{link}\n")


def send(number: int) -> None:
    """Send one notification that is due, unless another worker has begun it; note what became of it."""
    due = notifications.begin(number)
    if due is None:
        return
    try:
        deliver = _mail if due.channel == EMAIL else _post
        deliver(due, compose(due))
    except NothingLeft as failure:
        notifications.note_unsent(due.id, str(failure))
        log.warning(
            "notification_not_sent", channel=due.channel, subject=due.snapshot or due.escalation, cause=str(failure)
        )
    except MayHaveLeft as failure:
        notifications.note_unknown(due.id, str(failure))
        log.warning(
            "notification_unknown", channel=due.channel, subject=due.snapshot or due.escalation, cause=str(failure)
        )
    else:
        notifications.note_sent(due.id)


def _mail(due: Due, message: Message) -> None:
    connection = get_connection(fail_silently=False)
    try:
        connection.open()
    except (OSError, SMTPException) as error:
        raise NothingLeft(type(error).__name__) from error
    try:
        EmailMessage(message.subject, message.text, to=[due.address], connection=connection).send()
    except (SMTPResponseException, SMTPRecipientsRefused) as refused:
        raise NothingLeft(type(refused).__name__) from refused
    except (OSError, SMTPException) as error:
        raise MayHaveLeft(type(error).__name__) from error
    finally:
        connection.close()


def _post(due: Due, message: Message) -> None:
    body = {"text": f"{message.subject}\n{message.text}"}
    try:
        answer = httpx.post(settings.CLEARANCE_SLACK_WEBHOOK, json=body, timeout=TIMEOUT_SECONDS)
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise NothingLeft(type(error).__name__) from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise MayHaveLeft(type(error).__name__) from error
    if 400 <= answer.status_code < 500:
        raise NothingLeft(f"HTTP {answer.status_code}")
    if not answer.is_success:
        raise MayHaveLeft(f"HTTP {answer.status_code}")
