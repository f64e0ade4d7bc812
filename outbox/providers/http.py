"""The `http` adapter: POST the stored bytes with an idempotency key, ask by key, cancel by key.

What an answer means is one table; whatever is not in it is unknown. Only what failed before a byte of the
request could leave, on a fresh connection, is `never-left`.
"""

import json
import os
import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar
from urllib.parse import quote

import httpcore
from standardwebhooks import Webhook
from standardwebhooks.webhooks import EmptyWebhookSecretError

from outbox.providers.base import LONGEST_ID, RESPONSE_BYTES, Known, Result, Sending, Target, as_told, in_words
from outbox.providers.connecting import Deadline, place_of, pool
from outbox.states import Answer, Outcome

JSON = Any

#: A provider that asks to wait longer than this is asked again after it.
LONGEST_RETRY_AFTER = timedelta(hours=24)

_MOST_DIGITS = 9  # whoever writes more wants the longest wait

_DRIFTED = re.compile(r"idempotency-key-reused/?\Z")


class Unsigned(ValueError):
    """The destination is registered with a signing secret, and there is none to sign with."""


class Response:
    """What came back, as far as it is read."""

    def __init__(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        self.status, self.body = status, body
        self.headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}

    @property
    def document(self) -> dict[str, JSON]:
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def named(self, member: str) -> str | None:
        """The id that a member of the document holds, if it holds one."""
        found = self.document.get(member)
        if isinstance(found, bool) or not isinstance(found, int | str) or found == "":
            return None
        return as_told(str(found), LONGEST_ID)

    @property
    def retry_after(self) -> timedelta | None:
        return read_retry_after(self.headers.get("retry-after"))


class HttpAdapter:
    """Sends by HTTP to a provider that may recognise keys, look them up and cancel by them."""

    name: ClassVar[str] = "http"

    def send(self, target: Target, sending: Sending) -> Result:
        """Send once, and say what came of it."""
        deadline = Deadline(sending.timeout, sending.start_before)
        try:
            response = self._exchange("POST", target.url, deadline, _headers(target, sending), sending.payload)
        except (httpcore.ConnectError, httpcore.ConnectTimeout, Unsigned) as error:
            return Result(Outcome.NEVER_LEFT, in_words(error))
        except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError) as error:
            return Result(Outcome.UNKNOWN, in_words(error))
        return read_answer(target, response)

    def look_up(self, target: Target, idempotency_key: str, timeout: timedelta) -> Known:
        """Ask whether the provider knows a key."""
        joint = "&" if "?" in target.lookup_url else "?"
        url = f"{target.lookup_url}{joint}key={quote(idempotency_key, safe='')}"
        try:
            response = self._exchange("GET", url, Deadline(timeout), {}, b"")
        except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError) as error:
            return Known(Answer.CANNOT_TELL, in_words(error))
        found = response.document.get("found")
        if response.status == 200 and found is True:
            return Known(Answer.FOUND, "", response.named("provider_request_id"), response.status)
        if response.status == 404 and found is False:
            return Known(Answer.NOT_FOUND, "", None, response.status)
        return Known(Answer.CANNOT_TELL, f"answered {response.status}", None, response.status)

    def cancel(self, target: Target, idempotency_key: str, timeout: timedelta) -> Known:
        """Ask to cancel what was sent under a key."""
        body = json.dumps({"key": idempotency_key}).encode()
        headers = {"Content-Type": "application/json"}
        try:
            response = self._exchange("POST", target.cancel_url, Deadline(timeout), headers, body)
        except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError) as error:
            return Known(Answer.CANNOT_TELL, in_words(error))
        answer = {200: Answer.FOUND, 409: Answer.NOT_FOUND}.get(response.status, Answer.CANNOT_TELL)
        return Known(answer, "", None, response.status)

    def _exchange(self, method: str, url: str, deadline: Deadline, headers: dict[str, str], body: bytes) -> Response:
        """One request on a fresh connection, with a bounded answer. Never follows a redirect."""
        place_of(self.name, url)
        sent = {"Accept": "application/json", "User-Agent": "clearance", "Connection": "close", **headers}
        with (
            pool(deadline) as connections,
            connections.stream(method, url, headers=list(sent.items()), content=body) as response,
        ):
            read = b""
            for chunk in response.iter_stream():
                read += chunk
                if len(read) > RESPONSE_BYTES * 16:
                    break
            return Response(response.status, response.headers, read)


def _headers(target: Target, sending: Sending) -> dict[str, str]:
    headers = {
        "Content-Type": "application/json",
        "X-Clearance-Operation": sending.operation_id,
        "X-Clearance-Snapshot": sending.snapshot,
        "X-Clearance-Payload-SHA256": sending.payload_sha256,
    }
    if target.recognises_repeats or target.lookup_url or target.cancel_url:  # it is asked for by this key
        headers["Idempotency-Key"] = sending.idempotency_key
    return headers | _signature(target, sending)


def _signature(target: Target, sending: Sending) -> dict[str, str]:
    """Standard Webhooks headers. The id is the operation on every attempt; during rotation every secret signs.

    Raises `Unsigned` where a secret is registered and not there: what is not signed would only be refused for good.
    """
    if not target.signing_secret_env:
        return {}
    at, payload = datetime.now(UTC), sending.payload.decode()
    secrets = os.environ.get(target.signing_secret_env, "").split()
    try:
        signatures = [Webhook(secret).sign(sending.operation_id, at, payload) for secret in secrets]
    except (ValueError, EmptyWebhookSecretError) as error:
        raise Unsigned(f"{target.signing_secret_env} holds no secret to sign with") from error
    if not signatures:
        raise Unsigned(f"{target.signing_secret_env} is not set")
    return {
        "webhook-id": sending.operation_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(signatures),
    }


# ---- what an answer means --------------------------------------------------------------------------------


def read_answer(target: Target, response: Response) -> Result:
    """What an answer means, of this attempt."""
    outcome, detail, is_alarm = _judge(target, response)
    number = response.named("id") or response.headers.get("x-request-id")
    return Result(
        outcome=outcome,
        detail=detail,
        provider_request_id=number[:LONGEST_ID] if number and outcome is Outcome.ACCEPTED else None,
        http_status=response.status,
        retry_after=response.retry_after if outcome is Outcome.THROTTLED else None,
        response=response.body[:RESPONSE_BYTES],
        is_alarm=is_alarm,
    )


def _judge(target: Target, response: Response) -> tuple[Outcome, str, bool]:
    status = response.status
    if 400 <= status < 500 and _says_drifted(response):
        return Outcome.UNKNOWN, "the provider knows this key with other bytes", True
    return _outcome(status, target, asks_to_wait="retry-after" in response.headers), f"answered {status}", False


def _outcome(status: int, target: Target, *, asks_to_wait: bool) -> Outcome:
    if 200 <= status < 300:
        return Outcome.ACCEPTED
    if status == 429 or (status == 503 and asks_to_wait and target.unavailable_means_throttled):
        return Outcome.THROTTLED
    if 300 <= status < 500 and status not in (408, 409, 425):
        return Outcome.REFUSED
    return Outcome.UNKNOWN


def _says_drifted(response: Response) -> bool:
    return any(_DRIFTED.search(str(response.document.get(name, ""))) for name in ("code", "type"))


def read_retry_after(text: str | None) -> timedelta | None:
    """The wait that a `Retry-After` header asks for, as seconds or as a date; None when it cannot be read."""
    if text is None:
        return None
    if text.strip().isdecimal():
        return min(timedelta(seconds=int(text.strip()[:_MOST_DIGITS])), LONGEST_RETRY_AFTER)
    try:
        wait = parsedate_to_datetime(text) - datetime.now(UTC)
    except (TypeError, ValueError):
        return None
    return min(max(wait, timedelta(0)), LONGEST_RETRY_AFTER)
