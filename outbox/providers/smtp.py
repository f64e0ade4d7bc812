"""The `smtp` adapter: e-mail through a real server. No key, no look-up, no cancel: the honest hard case.

The message id is fixed per operation, so that a mailbox shows a repeat as what it is. The URL is
`smtps://`, `smtp+tls://` or `smtp://host:port`; the payload names `to`, `subject` and `text`.
"""

import json
import re
import smtplib
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from email.message import EmailMessage
from email.policy import SMTP
from typing import ClassVar

import httpcore
from django.conf import settings

from outbox.providers.base import LONGEST_ID, Known, Result, Sending, Target, as_told, in_words
from outbox.providers.connecting import Deadline, place_of, resolve
from outbox.states import Answer, Outcome

#: How long a server that asks to come back later is left alone; its answers name no time.
WAIT_AS_ASKED = timedelta(minutes=1)
GOODBYE_SECONDS = 1


class SmtpAdapter:
    """Sends by e-mail."""

    name: ClassVar[str] = "smtp"

    def send(self, target: Target, sending: Sending) -> Result:
        """Send once. Until the end of DATA nothing has left; after it nobody knows until the server answers."""
        try:
            mail = compose(sending)
        except Unmailable as because:
            return Result(Outcome.REFUSED, str(because))
        deadline = Deadline(sending.timeout, sending.start_before)
        try:
            server = _connect(target, deadline)
        except (OSError, smtplib.SMTPException, httpcore.ConnectError) as error:
            return Result(Outcome.NEVER_LEFT, in_words(error))
        try:
            return _transmit(server, mail, deadline)
        finally:
            _part_with(server)

    def look_up(self, target: Target, idempotency_key: str, timeout: timedelta) -> Known:
        """Mail servers cannot be asked."""
        return Known(Answer.CANNOT_TELL, "mail cannot be looked up")

    def cancel(self, target: Target, idempotency_key: str, timeout: timedelta) -> Known:
        """Mail cannot be taken back."""
        return Known(Answer.NOT_FOUND, "mail cannot be taken back")


class Unmailable(ValueError):
    """The payload is no message to one person; the text says why."""


@dataclass(frozen=True, slots=True)
class Mail:
    """A message, and the bare address of the one person it goes to."""

    message: EmailMessage
    recipient: str


def compose(sending: Sending) -> Mail:
    """The message of an operation: the same one on every attempt. The payload's exact bytes are attached.

    Raises `Unmailable`.
    """
    try:
        given = json.loads(sending.payload)
        message = _message(sending, str(given["to"]), str(given["subject"]), str(given.get("text", "")))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise Unmailable(f"The payload is no message: {type(error).__name__}.") from error
    addresses = message["To"].addresses
    if len(addresses) != 1 or not (addresses[0].username and addresses[0].domain):
        raise Unmailable("The payload does not name exactly one address.")
    if not addresses[0].addr_spec.isascii():
        raise Unmailable("The address has letters that not every mail server takes.")
    return Mail(message, addresses[0].addr_spec)


def _message(sending: Sending, to: str, subject: str, text: str) -> EmailMessage:
    message = EmailMessage()
    # A colon may not stand in a message id, nor a slash in the key of a run.
    number, domain = sending.operation_id.replace(":", "/"), settings.DEFAULT_FROM_EMAIL.rpartition("@")[2]
    message["Message-ID"] = f"<{number}@{domain}>"
    message["From"] = settings.DEFAULT_FROM_EMAIL
    message["To"] = to
    message["Subject"] = subject
    message["X-Clearance-Payload-SHA256"] = sending.payload_sha256
    message.set_content(text)
    message.add_attachment(sending.payload, maintype="application", subtype="json", filename="payload.json")
    return message


# ---- the dialogue ----------------------------------------------------------------------------------------


def _connect(target: Target, deadline: Deadline) -> smtplib.SMTP:
    place = place_of(SmtpAdapter.name, target.url)
    address, context = resolve(place.host, place.port)[0], ssl.create_default_context()
    seconds = deadline.left(None, TimeoutError)
    if place.scheme == "smtps":
        return _Tls(place.host, address, place.port, seconds, context)
    server = smtplib.SMTP(address, place.port, timeout=seconds)
    try:
        if place.scheme == "smtp+tls":
            server._host = place.host  # type: ignore[attr-defined]  # the name that the certificate is checked against
            server.starttls(context=context)
    except BaseException:
        server.close()
        raise
    return server


class _Tls(smtplib.SMTP_SSL):
    """Connects to a checked address, and checks the certificate against the name."""

    def __init__(self, name: str, address: str, port: int, seconds: float, context: ssl.SSLContext) -> None:
        self._name = name
        super().__init__(address, port, timeout=seconds, context=context)

    def _get_socket(self, host: str, port: int, timeout: float) -> ssl.SSLSocket:
        opened = socket.create_connection((host, port), timeout)
        try:
            return self.context.wrap_socket(opened, server_hostname=self._name)
        except BaseException:
            opened.close()
            raise


def _transmit(server: smtplib.SMTP, mail: Mail, deadline: Deadline) -> Result:
    """The dialogue, step by step, because what a failure means depends on the step."""
    steps: tuple[tuple[int, Callable[[], tuple[int, bytes]]], ...] = (
        (2, server.ehlo),
        (2, lambda: server.mail(settings.DEFAULT_FROM_EMAIL)),
        (2, lambda: server.rcpt(mail.recipient)),
        (3, lambda: server.docmd("DATA")),
    )
    try:
        for expected, step in steps:
            _allow(server, deadline)
            code, words = step()
            if code // 100 != expected:
                return _answered(code, words, Outcome.NEVER_LEFT)
        _allow(server, deadline)
        deadline.require_start(TimeoutError)
    except (OSError, smtplib.SMTPException) as error:
        return Result(Outcome.NEVER_LEFT, in_words(error))
    try:
        server.send(_as_data(mail.message))
        code, words = server.getreply()
    except (OSError, smtplib.SMTPException) as error:
        return Result(Outcome.UNKNOWN, in_words(error))
    return _answered(code, words, Outcome.ACCEPTED if code // 100 == 2 else Outcome.UNKNOWN)


def _allow(server: smtplib.SMTP, deadline: Deadline) -> None:
    """Let the next step take what is left of the time."""
    if server.sock is not None:
        server.sock.settimeout(deadline.left(None, TimeoutError))


def _part_with(server: smtplib.SMTP) -> None:
    """Say goodbye. Nothing depends on how that is answered, nor waits for it long."""
    with suppress(OSError, smtplib.SMTPException):
        if server.sock is not None:
            server.sock.settimeout(GOODBYE_SECONDS)
        server.quit()
    server.close()


def _as_data(message: EmailMessage) -> bytes:
    """The message as DATA carries it: CRLF, leading dots doubled, ended by a lone dot."""
    return re.sub(rb"(?m)^\.", b"..", message.as_bytes(policy=SMTP)) + b"\r\n.\r\n"


def _answered(code: int, words: bytes, otherwise: Outcome) -> Result:
    """A 4xx of SMTP asks to come back later; a 5xx is for good."""
    outcome = {4: Outcome.THROTTLED, 5: Outcome.REFUSED}.get(code // 100, otherwise)
    told = as_told(words.decode(errors="replace"), LONGEST_ID)
    number = told.split()[-1] if outcome is Outcome.ACCEPTED and told.split() else None
    wait = WAIT_AS_ASKED if outcome is Outcome.THROTTLED else None
    return Result(outcome, f"answered {code} {told}", number, code, wait)
