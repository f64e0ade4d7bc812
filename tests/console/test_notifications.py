"""Telling people of what waits: one message with one link and no value of any record, whatever the carrier does."""

import http.server
import json
import socketserver
import threading
from collections.abc import Iterator
from smtplib import SMTPConnectError, SMTPRecipientsRefused, SMTPServerDisconnected
from typing import Any

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from pytest_django import Settings

from approvals.notices import note_new_reviews
from console.notifications import send
from console.tasks import sweep_notifications
from runs.models import Escalation, Notification
from runs.notifications import note_new_cases
from runs.preferences import Choice, choose
from runs.refusals import escalation_ref
from tests import cast, review

pytestmark = pytest.mark.django_db


@pytest.fixture
def due(settings: Settings) -> int:
    """A message to Ada about a proposal of 45.00 that waits to be sent."""
    settings.CLEARANCE_URL = "https://clearance.example.com"
    choose(cast.ada(), Choice("ada@example.com", by_email=True))
    cast.run_with_open_amount()
    note_new_cases(with_slack=False)
    return Notification.objects.values_list("pk", flat=True).get()


def link() -> str:
    return f"https://clearance.example.com/escalations/{escalation_ref(Escalation.objects.get().pk)}/"


# ---- e-mail ------------------------------------------------------------------------------------------------


def test_a_message_has_one_link_and_no_value_of_the_record(due: int) -> None:
    send(due)

    (message,) = mail.outbox
    assert (message.to, message.subject) == (["ada@example.com"], "A case waits: R-42")
    assert str(message.body).count("http") == 1
    assert link() in message.body
    assert "It is about a material field." in message.body
    for value in ("45.00", "30.00", "EUR", "refund_amount", "because the test says so"):
        assert value not in f"{message.subject}{message.body}"
    assert Notification.objects.get().sent_at is not None


def test_a_reviewer_is_told_where_the_snapshot_is_and_nothing_of_what_it_shows(settings: Settings) -> None:
    settings.CLEARANCE_URL = "https://clearance.example.com"
    choose(cast.ben(), Choice("ben@example.com", by_email=True))
    snapshot = review.refund_ready_for_review()
    note_new_reviews(with_slack=False)

    send(Notification.objects.get().pk)

    (message,) = mail.outbox
    assert (message.to, message.subject) == (["ben@example.com"], f"A review waits: {review.REFUND}")
    assert f"https://clearance.example.com/snapshots/{snapshot}/\n" in message.body
    assert str(message.body).count("http") == 1
    for value in ("25.00", "EUR", "Ana Lima", "payments"):
        assert value not in f"{message.subject}{message.body}"


def test_a_message_delivered_twice_by_the_broker_is_sent_once(due: int) -> None:
    send(due)
    send(due)

    assert len(mail.outbox) == 1


class Refusing(EmailBackend):
    """A mail server that fails as it is told."""

    on_open: Exception | None = None
    on_send: Exception | None = None

    def open(self) -> bool | None:
        if Refusing.on_open:
            raise Refusing.on_open
        return True

    def send_messages(self, messages: Any) -> int:
        if Refusing.on_send:
            raise Refusing.on_send
        return super().send_messages(messages)


@pytest.fixture
def mail_server(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Any:
    settings.EMAIL_BACKEND = f"{__name__}.Refusing"
    monkeypatch.setattr(Refusing, "on_open", None)
    monkeypatch.setattr(Refusing, "on_send", None)
    return Refusing


@pytest.mark.parametrize(
    ("where", "failure"),
    [
        ("on_open", ConnectionRefusedError()),
        ("on_open", SMTPConnectError(421, "later")),
        ("on_send", SMTPRecipientsRefused({"ada@example.com": (550, b"no")})),
    ],
)
def test_what_is_known_not_to_have_left_is_due_again(
    due: int, mail_server: Any, monkeypatch: pytest.MonkeyPatch, where: str, failure: Exception
) -> None:
    monkeypatch.setattr(mail_server, where, failure)

    send(due)

    row = Notification.objects.get()
    assert (row.begun_at, row.sent_at, row.failed_count) == (None, None, 1)
    assert row.last_failure == type(failure).__name__


@pytest.mark.parametrize("failure", [SMTPServerDisconnected("gone"), TimeoutError()])
def test_what_may_have_left_is_never_sent_again(
    due: int, mail_server: Any, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    monkeypatch.setattr(mail_server, "on_send", failure)
    send(due)
    monkeypatch.setattr(mail_server, "on_send", None)

    send(due)
    sweep_in_process()

    assert mail.outbox == []
    row = Notification.objects.get()
    assert (row.sent_at, row.failed_count, row.last_failure) == (None, 0, type(failure).__name__)


# ---- Slack -----------------------------------------------------------------------------------------------------


class Slack:
    """What an incoming webhook received, and how it answers."""

    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []
        self.status = 200
        self.url = ""


@pytest.fixture
def slack(settings: Settings) -> Iterator[Slack]:
    found = Slack()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            found.received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(found.status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with socketserver.TCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        found.url = settings.CLEARANCE_SLACK_WEBHOOK = f"http://127.0.0.1:{server.server_address[1]}/hook"
        settings.CLEARANCE_URL = "https://clearance.example.com"
        cast.run_with_open_amount()
        yield found
        server.shutdown()
        thread.join()


def sweep_in_process() -> None:
    """One pass of the sweep, its messages delivered at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("console.tasks.notify.delay", send)
        sweep_notifications()


def test_slack_is_told_once_however_often_the_sweep_passes(slack: Slack) -> None:
    sweep_in_process()
    sweep_in_process()

    (body,) = slack.received
    assert set(body) == {"text"}
    assert link() in body["text"]
    assert "45.00" not in body["text"]


@pytest.mark.parametrize(("status", "is_due_again"), [(404, True), (429, True), (500, False), (302, False)])
def test_an_answer_of_slack_is_taken_for_what_it_proves(slack: Slack, status: int, is_due_again: bool) -> None:
    slack.status = status

    sweep_in_process()

    row = Notification.objects.get()
    assert (row.begun_at is None, row.sent_at) == (is_due_again, None)
    assert row.last_failure == f"HTTP {status}"


def test_without_slack_and_without_a_choice_nobody_is_told() -> None:
    cast.run_with_open_amount()

    sweep_in_process()

    assert not Notification.objects.exists()
    assert mail.outbox == []


def test_a_slack_that_is_not_there_is_asked_again_later(slack: Slack, settings: Settings) -> None:
    settings.CLEARANCE_SLACK_WEBHOOK = "http://127.0.0.1:1/hook"

    sweep_in_process()

    row = Notification.objects.get()
    assert (row.begun_at, row.last_failure) == (None, "ConnectError")
