"""The `http` adapter: what each answer means, exactly what is sent, and what a failure proves."""

import base64
import json
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings
from standardwebhooks import Webhook

from outbox.providers.base import RESPONSE_BYTES, Result, Sending, Target
from outbox.providers.http import LONGEST_RETRY_AFTER, HttpAdapter, Response, read_answer, read_retry_after
from outbox.states import Answer, Outcome
from tests.outbox.providers.servers import CUT, SILENCE, Web, answer, certificate, closed_port

TARGET = Target(
    name="payments",
    revision=3,
    url="",
    lookup_url="",
    cancel_url="",
    recognises_repeats=True,
    unavailable_means_throttled=False,
    signing_secret_env="",
)
SENDING = Sending(
    operation_id="R-7:pay:v4",
    snapshot="R-7:review:v3:c1",
    idempotency_key="R-7:pay:v4:e2",
    payload='{"amount":"25.00","to":"Zoë"}'.encode(),
    payload_sha256="sha256:" + "1" * 64,
    timeout=timedelta(seconds=2),
    send_by=datetime(2030, 1, 1, tzinfo=UTC),
)


def send(port: int, scheme: str = "http", **other: Any) -> Result:
    target = replace(TARGET, **{"url": f"{scheme}://localhost:{port}/deliver"} | other)
    return HttpAdapter().send(target, SENDING)


# ---- what an answer means --------------------------------------------------------------------------------

A, R, T, U = Outcome.ACCEPTED, Outcome.REFUSED, Outcome.THROTTLED, Outcome.UNKNOWN

#: Status -> what it means of this attempt.
STATUSES = {
    **dict.fromkeys((200, 201, 202, 204, 299), A),
    **dict.fromkeys((300, 301, 302, 303, 304, 307, 308, 399), R),
    **dict.fromkeys((400, 401, 403, 404, 405, 406, 410, 411, 413, 415, 418, 422, 428, 431, 451, 499), R),
    **dict.fromkeys((408, 409, 425), U),
    429: T,
    **dict.fromkeys((500, 501, 502, 503, 504, 507, 599), U),
    **dict.fromkeys((100, 199, 600, 999), U),
}


@pytest.mark.parametrize("repeats", [True, False])
@pytest.mark.parametrize(("status", "outcome"), STATUSES.items())
def test_what_a_status_means(status: int, outcome: Outcome, repeats: bool) -> None:
    result = read_answer(replace(TARGET, recognises_repeats=repeats), Response(status, [], b"{}"))

    assert (result.outcome, result.http_status, result.is_alarm) == (outcome, status, False)


@pytest.mark.parametrize(
    ("declared", "headers", "outcome"),
    [
        (True, [(b"Retry-After", b"7")], T),
        (True, [(b"Retry-After", b"soon")], T),
        (True, [], U),
        (False, [(b"Retry-After", b"7")], U),
    ],
)
def test_an_unavailable_provider_did_nothing_only_where_it_is_declared_and_asks_to_wait(
    declared: bool, headers: list[tuple[bytes, bytes]], outcome: Outcome
) -> None:
    target = replace(TARGET, unavailable_means_throttled=declared)

    assert read_answer(target, Response(503, headers, b"")).outcome is outcome


@pytest.mark.parametrize("member", ["code", "type"])
@pytest.mark.parametrize("status", [400, 409, 422, 429])
def test_a_key_that_is_known_with_other_bytes_is_an_alarm(status: int, member: str) -> None:
    body = json.dumps({member: "https://provider.example/problems/idempotency-key-reused"}).encode()

    result = read_answer(TARGET, Response(status, [], body))

    assert (result.outcome, result.is_alarm) == (U, True)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (422, b'{"code": "idempotency-key-reused-not"}'),
        (422, b'{"detail": "idempotency-key-reused"}'),
        (422, b'["idempotency-key-reused"]'),
        (500, b'{"code": "idempotency-key-reused"}'),
    ],
)
def test_nothing_else_is_an_alarm(status: int, body: bytes) -> None:
    assert not read_answer(TARGET, Response(status, [], body)).is_alarm


@pytest.mark.parametrize(
    ("status", "body", "number"),
    [
        (200, b'{"id": "p-1"}', "p-1"),
        (200, b'{"id": 17}', "17"),
        (200, b'{"id": ""}', "x-9"),
        (200, b"{}", "x-9"),
        (200, b"not json", "x-9"),
        (200, b"[" * 5000, "x-9"),
        (200, b"\xff", "x-9"),
        (200, b'{"id": "' + b"p" * 300 + b'"}', "p" * 200),
        (400, b'{"id": "p-1"}', None),
    ],
)
def test_the_number_of_what_was_accepted_is_its_id_or_the_header(status: int, body: bytes, number: str | None) -> None:
    result = read_answer(TARGET, Response(status, [(b"X-Request-Id", b"x-9")], body))

    assert result.provider_request_id == number


def test_without_either_what_was_accepted_has_no_number() -> None:
    assert read_answer(TARGET, Response(200, [], b"")).provider_request_id is None


def test_only_the_first_bytes_of_an_answer_are_kept() -> None:
    assert len(read_answer(TARGET, Response(200, [], b"x" * 2 * RESPONSE_BYTES)).response) == RESPONSE_BYTES


@pytest.mark.parametrize(
    ("text", "wait"),
    [
        (None, None),
        ("7", timedelta(seconds=7)),
        (" 7 ", timedelta(seconds=7)),
        ("0", timedelta(0)),
        ("-3", None),
        ("soon", None),
        ("", None),
        ("9" * 5000, LONGEST_RETRY_AFTER),
        ("Tue, 01 Jan 2030 12:00:30 GMT", timedelta(seconds=30)),
        ("Tue, 01 Jan 2030 11:59:00 GMT", timedelta(0)),
        ("Wed, 01 Jan 2031 12:00:00 GMT", LONGEST_RETRY_AFTER),
        ("Tue, 01 Jan 2030 12:00:30 -0000", None),
    ],
)
def test_how_long_a_provider_asks_to_wait(text: str | None, wait: timedelta | None, time_machine: Any) -> None:
    time_machine.move_to(datetime(2030, 1, 1, 12, tzinfo=UTC), tick=False)

    assert read_retry_after(text) == wait


def test_a_wait_belongs_to_a_throttled_attempt_alone() -> None:
    headers = [(b"Retry-After", b"7")]

    assert read_answer(TARGET, Response(429, headers, b"")).retry_after == timedelta(seconds=7)
    assert read_answer(TARGET, Response(400, headers, b"")).retry_after is None


# ---- exactly what is sent --------------------------------------------------------------------------------


def test_the_stored_bytes_are_sent_under_the_key_with_what_they_belong_to() -> None:
    web = Web(answer(200, b'{"id": "p-1"}'))
    with web.on() as port:
        result = send(port)

    ((line, headers, body),) = web.requests
    assert (result.outcome, result.provider_request_id) == (A, "p-1")
    assert (line, body) == ("POST /deliver HTTP/1.1", SENDING.payload)
    assert headers["host"] == f"localhost:{port}"
    assert headers["content-type"] == "application/json"
    assert headers["idempotency-key"] == "R-7:pay:v4:e2"
    assert headers["x-clearance-operation"] == "R-7:pay:v4"
    assert headers["x-clearance-snapshot"] == "R-7:review:v3:c1"
    assert headers["x-clearance-payload-sha256"] == SENDING.payload_sha256
    assert not any(name.startswith("webhook-") for name in headers)


def test_no_key_is_sent_where_it_would_mean_nothing() -> None:
    web = Web(answer(200))
    with web.on() as port:
        send(port, recognises_repeats=False)

    assert "idempotency-key" not in web.requests[0][1]


@pytest.mark.parametrize("declared", ["lookup_url", "cancel_url"])
def test_the_key_is_sent_wherever_it_will_be_asked_for(declared: str) -> None:
    web = Web(answer(200))
    with web.on() as port:
        send(port, recognises_repeats=False, **{declared: f"http://localhost:{port}/"})

    assert web.requests[0][1]["idempotency-key"] == "R-7:pay:v4:e2"


def test_every_secret_of_a_rotation_signs_under_the_same_id(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = ["whsec_" + base64.b64encode(name * 24).decode() for name in (b"a", b"b")]
    monkeypatch.setenv("PAYMENTS_SECRET", " ".join(secrets))
    web = Web(answer(200))
    with web.on() as port:
        send(port, signing_secret_env="PAYMENTS_SECRET")

    _, headers, body = web.requests[0]
    assert headers["webhook-id"] == "R-7:pay:v4"
    for secret in secrets:
        assert Webhook(secret).verify(body, headers) == json.loads(body)


@pytest.mark.parametrize("held", [None, "", " ", "whsec_", "whsec_?"])
def test_nothing_is_sent_unsigned_where_a_signature_was_promised(
    held: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if held is not None:
        monkeypatch.setenv("PAYMENTS_SECRET", held)
    web = Web(answer(200))
    with web.on() as port:
        result = send(port, signing_secret_env="PAYMENTS_SECRET")

    assert (result.outcome, web.requests) == (Outcome.NEVER_LEFT, [])
    assert result.detail.startswith("Unsigned: PAYMENTS_SECRET")


def test_nothing_is_begun_after_the_time_to_begin() -> None:
    """As when the process was stopped between looking at its lease and connecting."""
    web = Web(answer(200))
    with web.on() as port:
        target = replace(TARGET, url=f"http://localhost:{port}/deliver")
        late = HttpAdapter().send(target, replace(SENDING, start_before=time.monotonic() - 1))
        before = HttpAdapter().send(target, replace(SENDING, start_before=time.monotonic() + 60))

    assert (late.outcome, late.detail) == (Outcome.NEVER_LEFT, "TooLate: the time to begin was over")
    assert (before.outcome, len(web.requests)) == (A, 1)


def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{closed_port()}")
    web = Web(answer(200))

    with web.on() as port:
        assert send(port).outcome is A


def test_a_redirect_is_never_followed() -> None:
    other = Web(answer(200))
    with other.on() as elsewhere:
        web = Web(answer(307, Location=f"http://localhost:{elsewhere}/"))
        with web.on() as port:
            result = send(port)

    assert (result.outcome, other.requests) == (R, [])


# ---- what a failure proves -------------------------------------------------------------------------------


def test_what_could_not_connect_never_left() -> None:
    assert send(closed_port()).outcome is Outcome.NEVER_LEFT


def test_a_name_that_does_not_resolve_never_left() -> None:
    target = replace(TARGET, url="http://nowhere.invalid/deliver")

    assert HttpAdapter().send(target, SENDING).outcome is Outcome.NEVER_LEFT


def test_an_address_of_the_inside_is_refused_when_connecting_whatever_was_registered(
    settings: Settings,
) -> None:
    settings.CLEARANCE_ALLOW_PRIVATE_DESTINATIONS = False
    web = Web(answer(200))
    with web.on() as port:
        result = send(port, scheme="https")

    assert (result.outcome, web.requests) == (Outcome.NEVER_LEFT, [])
    assert result.detail.startswith("Refused: ") and "inside" in result.detail


def test_no_tls_no_sending() -> None:
    web = Web(answer(200))
    with web.on() as port:
        assert send(port, scheme="https").outcome is Outcome.NEVER_LEFT


def test_a_certificate_that_nobody_vouches_for_is_not_sent_to(tmp_path: Path) -> None:
    web = Web(answer(200))
    with web.on(certificate(tmp_path).context) as port:
        result = send(port, scheme="https")

    assert (result.outcome, web.requests) == (Outcome.NEVER_LEFT, [])


@pytest.mark.parametrize(("name", "outcome"), [("localhost", A), ("elsewhere.example", Outcome.NEVER_LEFT)])
def test_a_certificate_is_checked_against_the_name_that_was_registered(
    name: str, outcome: Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = certificate(tmp_path, name)
    monkeypatch.setenv("SSL_CERT_FILE", str(made.file))

    with Web(answer(200)).on(made.context) as port:
        assert send(port, scheme="https").outcome is outcome


WHOLE = answer(200, b'{"id": "p-1"}')


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(CUT, id="nothing"),
        pytest.param(b"HTTP/1.1 2", id="half a line"),
        pytest.param(WHOLE[:-3], id="half a body"),
        pytest.param(b"hello\r\n\r\n", id="no HTTP"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", id="broken header"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", id="half a chunk"),
    ],
)
def test_a_cut_or_broken_answer_is_unknown(told: bytes) -> None:
    web = Web(told)
    with web.on() as port:
        result = send(port)

    assert (result.outcome, len(web.requests)) == (U, 1)


def test_silence_is_unknown_once_the_time_is_over() -> None:
    with Web(SILENCE).on() as port:
        result = HttpAdapter().send(
            replace(TARGET, url=f"http://localhost:{port}/"), replace(SENDING, timeout=timedelta(seconds=0.1))
        )

    assert result.outcome is U


def test_a_provider_that_trickles_cannot_hold_us_longer_than_the_whole_time() -> None:
    with Web([bytes([each]) for each in WHOLE], pause_seconds=0.05).on() as port:
        result = HttpAdapter().send(
            replace(TARGET, url=f"http://localhost:{port}/"), replace(SENDING, timeout=timedelta(seconds=0.2))
        )

    assert result.outcome is U


def test_of_an_answer_without_end_only_a_part_is_read() -> None:
    endless = b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n" + b"x" * 100_000
    web = Web([endless, b""], pause_seconds=30)

    with web.on() as port:
        assert send(port).outcome is A


# ---- asking ----------------------------------------------------------------------------------------------

FOUND = b'{"found": true, "provider_request_id": "p-1"}'


@pytest.mark.parametrize(
    ("told", "known"),
    [
        (answer(200, FOUND), (Answer.FOUND, "p-1")),
        (answer(200, b'{"found": true}'), (Answer.FOUND, None)),
        (answer(404, b'{"found": false}'), (Answer.NOT_FOUND, None)),
        (answer(404, b"<html>no such page</html>"), (Answer.CANNOT_TELL, None)),
        (answer(404, b'{"found": true}'), (Answer.CANNOT_TELL, None)),
        (answer(404, b"{}"), (Answer.CANNOT_TELL, None)),
        (answer(200, b'{"found": false}'), (Answer.CANNOT_TELL, None)),
        (answer(200, b'{"found": "true"}'), (Answer.CANNOT_TELL, None)),
        (answer(200, b'{"found": 1}'), (Answer.CANNOT_TELL, None)),
        (answer(200, b"null"), (Answer.CANNOT_TELL, None)),
        (answer(410, b'{"found": false}'), (Answer.CANNOT_TELL, None)),
        (answer(302, FOUND, Location="/"), (Answer.CANNOT_TELL, None)),
        (answer(501, b'{"found": false}'), (Answer.CANNOT_TELL, None)),
        (answer(200, FOUND)[:-3], (Answer.CANNOT_TELL, None)),
        (CUT, (Answer.CANNOT_TELL, None)),
    ],
)
def test_what_a_look_up_says(told: bytes, known: tuple[Answer, str | None]) -> None:
    with Web(told).on() as port:
        target = replace(TARGET, lookup_url=f"http://localhost:{port}/lookup")
        found = HttpAdapter().look_up(target, "R-7:pay:v4", timedelta(seconds=2))

    assert (found.answer, found.provider_request_id) == known


@pytest.mark.parametrize(
    ("path", "line"), [("/lookup", "GET /lookup?key=R-7%3Apay%3Av4"), ("/l?of=us", "GET /l?of=us&key=R-7%3Apay%3Av4")]
)
def test_the_key_is_looked_up_as_it_is(path: str, line: str) -> None:
    web = Web(answer(404, b'{"found": false}'))
    with web.on() as port:
        target = replace(TARGET, lookup_url=f"http://localhost:{port}{path}")
        HttpAdapter().look_up(target, "R-7:pay:v4", timedelta(seconds=2))

    assert web.requests[0][0] == f"{line} HTTP/1.1"


@pytest.mark.parametrize(
    ("status", "known"),
    [(200, Answer.FOUND), (409, Answer.NOT_FOUND), (202, Answer.CANNOT_TELL), (404, Answer.CANNOT_TELL)],
)
def test_what_a_cancel_says(status: int, known: Answer) -> None:
    web = Web(answer(status))
    with web.on() as port:
        target = replace(TARGET, cancel_url=f"http://localhost:{port}/cancel")
        found = HttpAdapter().cancel(target, "R-7:pay:v4", timedelta(seconds=2))

    assert found.answer is known
    assert (web.requests[0][0], web.requests[0][2]) == ("POST /cancel HTTP/1.1", b'{"key": "R-7:pay:v4"}')


def test_a_provider_that_cannot_be_reached_cannot_tell() -> None:
    url = f"http://localhost:{closed_port()}/"
    target = replace(TARGET, lookup_url=url, cancel_url=url)

    assert HttpAdapter().look_up(target, "k", timedelta(seconds=1)).answer is Answer.CANNOT_TELL
    assert HttpAdapter().cancel(target, "k", timedelta(seconds=1)).answer is Answer.CANNOT_TELL
