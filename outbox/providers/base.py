"""What an adapter is, and the door through which every call to a provider goes.

An adapter sends bytes it is given and says what came of it; it decides nothing. `outside` proves that no
transaction is open: a provider is never called while locks are held.
"""

import math
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Protocol

from django.db import transaction

from outbox.states import Answer, Outcome

#: How much of an answer is kept.
RESPONSE_BYTES = 4096
LONGEST_ID, LONGEST_DETAIL = 200, 300

#: What no text in the database can hold, although JSON and servers can say it.
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Target:
    """The frozen destination revision that is addressed."""

    name: str
    revision: int
    url: str
    lookup_url: str
    cancel_url: str
    recognises_repeats: bool
    unavailable_means_throttled: bool
    signing_secret_env: str


@dataclass(frozen=True, slots=True)
class Sending:
    """Exactly what is sent: the stored bytes, under the key of the operation."""

    operation_id: str
    snapshot: str
    idempotency_key: str
    payload: bytes
    payload_sha256: str
    timeout: timedelta
    send_by: datetime
    start_before: float = math.inf  # on this process's monotonic clock: past it nothing is begun


@dataclass(frozen=True, slots=True)
class Result:
    """What one attempt came to, with what came back."""

    outcome: Outcome
    detail: str
    provider_request_id: str | None = None
    http_status: int | None = None
    retry_after: timedelta | None = None
    response: bytes = b""
    is_alarm: bool = False  # the provider says our bytes drifted


@dataclass(frozen=True, slots=True)
class Known:
    """What a provider says of a key."""

    answer: Answer
    detail: str = ""
    provider_request_id: str | None = None
    http_status: int | None = None


class Adapter(Protocol):
    """One way of reaching providers."""

    name: ClassVar[str]

    def send(self, target: Target, sending: Sending) -> Result:
        """Send once. Never raises for what a provider or a network does: that is an outcome."""
        ...

    def look_up(self, target: Target, idempotency_key: str, timeout: timedelta) -> Known:
        """Ask whether the provider knows a key."""
        ...

    def cancel(self, target: Target, idempotency_key: str, timeout: timedelta) -> Known:
        """Ask the provider to cancel: `found` means cancelled, `not-found` too late."""
        ...


def as_told(text: str, most: int = LONGEST_DETAIL) -> str:
    """The beginning of what a provider or a network said, as it can be kept."""
    return _NO_TEXT.sub("\ufffd", text[:most])


def in_words(error: Exception) -> str:
    """What went wrong, as it is kept."""
    return as_told(f"{type(error).__name__}: {error}")


def outside() -> None:
    """Prove that no transaction is open, by opening an empty durable one. Raises `RuntimeError` inside any other."""
    with transaction.atomic(durable=True):
        pass
