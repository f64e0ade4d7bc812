"""The `smtp` adapter against real servers: what each step of the dialogue proves, and exactly what arrives."""

import json
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from pytest_django import Settings

from outbox.providers.base import Result, Sending, Target
from outbox.providers.smtp import SmtpAdapter, compose
from outbox.states import Answer, Outcome
from tests.outbox.providers.servers import CUT, SILENCE, Mail, certificate, closed_port

A, R, T, U, N = (
    Outcome.ACCEPTED, Outcome.REFUSED, Outcome.THROTTLED, Outcome.UNKNOWN, Outcome.NEVER_LEFT,
)  # fmt: skip

TARGET = Target("mail", 1, "", "", "", False, False, "")
PAYLOAD = {"to": "ana@example.com", "subject": "Your refund", "text": "Hello Zoë,\n.it is on its way.\n"}
SENDING = Sending(
    operation_id="R-7:pay:v4",
    snapshot="R-7:review:v3:c1",
    idempotency_key="R-7:pay:v4",
    payload=json.dumps(PAYLOAD, ensure_ascii=False).encode(),
    payload_sha256="sha256:" + "1" * 64,
    timeout=timedelta(seconds=2),
    send_by=datetime(2030, 1, 1, tzinfo=UTC),
)


def send(port: int, scheme: str = "smtp", **other: Any) -> Result:
    return SmtpAdapter().send(replace(TARGET, url=f"{scheme}://localhost:{port}"), replace(SENDING, **other))


def meeting(told: dict[str, bytes | None], **other: Any) -> Result:
    """What comes of sending to a server that answers so."""
    with Mail(told).on() as port:
        return send(port, **other)


# ---- what arrives ----------------------------------------------------------------------------------------


def test_a_message_arrives_with_the_stored_bytes_attached() -> None:
    mail = Mail()
    with mail.on() as port:
        result = send(port)

    (raw,) = mail.messages
    got = message_from_bytes(raw.replace(b"\r\n..", b"\r\n."), policy=SMTP)
    assert isinstance(got, EmailMessage)
    text, attached = (part for part in got.iter_parts() if isinstance(part, EmailMessage))
    assert (result.outcome, result.provider_request_id, result.http_status) == (A, "4F2A", 250)
    assert (got["To"], got["Subject"], got["From"]) == (
        "ana@example.com", "Your refund", django_settings.DEFAULT_FROM_EMAIL,
    )  # fmt: skip
    assert got["Message-ID"] == f"<R-7/pay/v4@{django_settings.DEFAULT_FROM_EMAIL.rpartition('@')[2]}>"
    assert got["X-Clearance-Payload-SHA256"].strip() == SENDING.payload_sha256
    assert text.get_content().replace("\r\n", "\n") == PAYLOAD["text"]
    assert attached.get_content() == SENDING.payload


def test_the_same_operation_is_the_same_message_on_every_attempt() -> None:
    assert compose(SENDING).message["Message-ID"] == compose(SENDING).message["Message-ID"]


def test_a_line_that_begins_with_a_dot_does_not_end_the_message() -> None:
    mail = Mail()
    with mail.on() as port:
        send(port)

    assert b"\r\n..it is on its way." in mail.messages[0]


@pytest.mark.parametrize(
    "payload",
    [
        b"{}",
        b"[]",
        b"not json",
        b'{"to": "ana@example.com"}',
        b'{"to": "", "subject": "x"}',
        b'{"to": "nobody", "subject": "x"}',
        b'{"to": "ana@example.com, bob@example.com", "subject": "x"}',
        b'{"to": ["ana@example.com"], "subject": "x"}',
        b'{"to": "ana@example.com\\r\\nBcc: eve@example.com", "subject": "x"}',
        b'{"to": "ana@example.com", "subject": "x\\r\\nBcc: eve@example.com"}',
    ],
)
def test_a_payload_that_is_no_message_to_one_person_is_refused_before_anything_leaves(payload: bytes) -> None:
    mail = Mail()
    with mail.on() as port:
        result = send(port, payload=payload)

    assert (result.outcome, mail.verbs) == (R, [])


# ---- what each step proves -------------------------------------------------------------------------------

BROKEN = b"what is this"

#: Step -> what is answered there -> what it means.
STEPS: dict[str, dict[bytes | None, Outcome]] = {
    "greeting": {b"554 no": N, b"421 later": N, CUT: N, BROKEN: N},
    "MAIL": {b"550 no": R, b"451 later": T, CUT: N, BROKEN: N},
    "RCPT": {b"550 no such": R, b"450 later": T, b"251 will forward": A, CUT: N, BROKEN: N},
    "DATA": {b"554 no": R, b"451 later": T, b"250 what": N, CUT: N, BROKEN: N},
    "message": {b"250 ok": A, b"554 spam": R, b"451 later": T, CUT: U, BROKEN: U, b"354 more": U},
}


@pytest.mark.parametrize(
    ("step", "reply", "outcome"), [(step, reply, it) for step, table in STEPS.items() for reply, it in table.items()]
)
def test_what_an_answer_at_a_step_means(step: str, reply: bytes | None, outcome: Outcome) -> None:
    assert meeting({step: reply}).outcome is outcome


def test_no_message_is_begun_after_the_time_to_begin() -> None:
    """As when the process was stopped between looking at its lease and connecting."""
    mail = Mail()
    with mail.on() as port:
        late = send(port, start_before=time.monotonic() - 1)
        before = send(port, start_before=time.monotonic() + 60)

    assert (late.outcome, before.outcome, len(mail.messages)) == (N, A, 1)


@pytest.mark.parametrize("reply", [b"500 what", b"421 closing", CUT, BROKEN])
def test_a_rude_goodbye_changes_nothing_of_what_was_accepted(reply: bytes) -> None:
    assert meeting({"QUIT": reply}).outcome is A


@pytest.mark.parametrize(
    ("step", "outcome"), [("greeting", N), ("EHLO", N), ("MAIL", N), ("DATA", N), ("message", U), ("QUIT", A)]
)
def test_silence_at_a_step_means_the_same_once_the_time_is_over(step: str, outcome: Outcome) -> None:
    assert meeting({step: SILENCE}, timeout=timedelta(seconds=0.1)).outcome is outcome


def test_a_server_that_asks_to_come_back_is_waited_for() -> None:
    result = meeting({"RCPT": b"450 greylisted"})

    assert (result.outcome, result.retry_after) == (T, timedelta(minutes=1))


def test_nobody_listening_means_it_never_left() -> None:
    assert send(closed_port()).outcome is N


def test_an_address_of_the_inside_is_refused_when_connecting(settings: Settings) -> None:
    settings.CLEARANCE_ALLOW_PRIVATE_DESTINATIONS = False
    mail = Mail()
    with mail.on() as port:
        result = send(port)

    assert (result.outcome, mail.verbs) == (N, [])


# ---- encryption ------------------------------------------------------------------------------------------


def test_a_server_without_tls_is_told_nothing_where_tls_was_registered() -> None:
    mail = Mail()
    with mail.on() as port:
        results = [send(port, "smtp+tls").outcome, send(port, "smtps", timeout=timedelta(seconds=0.2)).outcome]

    assert results == [N, N]
    assert not any(verb.startswith("MAIL") for verb in mail.verbs)


@pytest.mark.parametrize(("name", "outcome"), [("localhost", A), ("elsewhere.example", N)])
def test_a_certificate_is_checked_against_the_name_that_was_registered(
    name: str, outcome: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = certificate(tmp_path, name)
    monkeypatch.setenv("SSL_CERT_FILE", str(made.file))

    with Mail().on(made.context) as port:
        assert send(port, "smtps").outcome is outcome


# ---- what mail cannot do ---------------------------------------------------------------------------------


def test_mail_cannot_be_asked_about_or_taken_back() -> None:
    adapter, second = SmtpAdapter(), timedelta(seconds=1)

    assert adapter.look_up(TARGET, "k", second).answer is Answer.CANNOT_TELL
    assert adapter.cancel(TARGET, "k", second).answer is Answer.NOT_FOUND
