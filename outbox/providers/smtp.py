"""The `smtp` adapter: e-mail through a real server. No key, no look-up, no cancel: the honest hard case.

The message id is fixed per operation, so that a mailbox shows a repeat as what it is. The URL is
`smtps://`, `smtp+tls://` or `smtp://host:port`; the payload names `to`, `subject` and `text`.
"""

import json
import re
import smtplib
import socket
import ssl
from datetime import timedelta
from email.message import EmailMessage
from email.policy import SMTP
from typing import ClassVar
from urllib.parse import urlsplit

from django.conf import settings

from approvals.addresses import DEFAULT_PORTS
from outbox.providers.base import Known, Result, Sending, Target
from outbox.providers.connecting import resolve
from outbox.states import Answer, Outcome


class SmtpAdapter:
    """Sends by e-mail."""

    name: ClassVar[str] = "smtp"
    can_recognise_repeats: ClassVar[bool] = False
    can_look_up: ClassVar[bool] = False
    can_cancel: ClassVar[bool] = False

    def send(self, target: Target, sending: Sending) -> Result:
        """Send once. Until the end of DATA nothing has left; after it nobody knows until the server answers."""
        message = compose(sending)
        try:
            server = _connect(target, sending.timeout)
        except (OSError, smtplib.SMTPException) as error:
            return Result(Outcome.NEVER_LEFT, _words(error))
        with server:
            return _transmit(server, message)

    def look_up(self, target: Target, idempotency_key: str, timeout: timedelta) -> Known:
        """Mail servers cannot be asked."""
        return Known(Answer.CANNOT_TELL, "mail cannot be looked up")

    def cancel(self, target: Target, idempotency_key: str, timeout: timedelta) -> Known:
        """Mail cannot be taken back."""
        return Known(Answer.NOT_FOUND, "mail cannot be taken back")


def compose(sending: Sending) -> EmailMessage:
    """The message of an operation: the same one on every attempt. The payload's exact bytes are attached."""
    given = json.loads(sending.payload)
    message = EmailMessage()
    message["Message-ID"] = f"<{sending.operation_id}@{settings.DEFAULT_FROM_EMAIL.rpartition('@')[2]}>"
    message["From"] = settings.DEFAULT_FROM_EMAIL
    message["To"] = str(given["to"])
    message["Subject"] = str(given["subject"])
    message["X-Clearance-Payload-SHA256"] = sending.payload_sha256
    message.set_content(str(given.get("text", "")))
    message.add_attachment(sending.payload, maintype="application", subtype="json", filename="payload.json")
    return message


def _connect(target: Target, timeout: timedelta) -> smtplib.SMTP:
    url = urlsplit(target.url)
    host, port = url.hostname or "", url.port or DEFAULT_PORTS[url.scheme]
    address, seconds, context = resolve(host, port)[0], timeout.total_seconds(), ssl.create_default_context()
    if url.scheme == "smtps":
        return _Tls(host, address, port, seconds, context)
    server = smtplib.SMTP(address, port, timeout=seconds)
    if url.scheme == "smtp+tls":
        server._host = host  # type: ignore[attr-defined]  # the name that the certificate is checked against
        server.starttls(context=context)
    return server


class _Tls(smtplib.SMTP_SSL):
    """Connects to a checked address, and checks the certificate against the name."""

    def __init__(self, name: str, address: str, port: int, seconds: float, context: ssl.SSLContext) -> None:
        self._name = name
        super().__init__(address, port, timeout=seconds, context=context)

    def _get_socket(self, host: str, port: int, timeout: float) -> ssl.SSLSocket:
        opened = socket.create_connection((host, port), timeout)
        return self.context.wrap_socket(opened, server_hostname=self._name)


def _transmit(server: smtplib.SMTP, message: EmailMessage) -> Result:
    """The dialogue, step by step, because what a failure means depends on the step."""
    try:
        server.ehlo_or_helo_if_needed()
        for code, words in (server.mail(message["From"]), server.rcpt(message["To"])):
            if code >= 400:
                return _answered(code, words, Outcome.REFUSED)
        code, words = server.docmd("DATA")
        if code != 354:
            return _answered(code, words, Outcome.REFUSED)
    except (OSError, smtplib.SMTPException) as error:
        return Result(Outcome.NEVER_LEFT, _words(error))
    try:
        server.send(_as_data(message))
        code, words = server.getreply()
    except (OSError, smtplib.SMTPException) as error:
        return Result(Outcome.UNKNOWN, _words(error))
    return _answered(code, words, Outcome.ACCEPTED if code == 250 else Outcome.REFUSED)


def _as_data(message: EmailMessage) -> bytes:
    """The message as DATA carries it: CRLF, leading dots doubled, ended by a lone dot."""
    return re.sub(rb"(?m)^\.", b"..", message.as_bytes(policy=SMTP)) + b"\r\n.\r\n"


def _answered(code: int, words: bytes, outcome: Outcome) -> Result:
    """A 4xx of SMTP asks to come back later; a 5xx is for good."""
    told = words.decode(errors="replace")[:200]
    if 400 <= code < 500:
        return Result(Outcome.THROTTLED, f"answered {code} {told}", retry_after=timedelta(minutes=1), http_status=code)
    number = told.split()[-1] if outcome is Outcome.ACCEPTED and told else None
    return Result(outcome, f"answered {code} {told}", provider_request_id=number, http_status=code)


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]
