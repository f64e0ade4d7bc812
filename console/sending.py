"""Whether anything is sent at all: the banner for while the broker or the sweep is down."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from console.health import broker_and_sweep
from runs.models import Person

#: For how long a process believes what it saw: a page more costs nothing.
SEEN_FOR_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Missing:
    """What nothing can be sent without: `broker` or `sweep`; and since when this process has found it missing."""

    part: str
    since: datetime


@dataclass
class _Seen:
    """What this process saw last, and until when it counts."""

    until: float = 0.0
    missing: Missing | None = None


_seen = _Seen()


def forget() -> None:
    """Know nothing and look the next time. Needed only where a test takes something away."""
    _seen.until, _seen.missing = 0.0, None


def banner(request: HttpRequest) -> Mapping[str, Any]:
    """Context processor for whoever is signed in: `not_sending`, what is missing, while something is."""
    if not isinstance(getattr(request, "user", None), Person):  # a request refused early has none
        return {}
    return {"not_sending": _missing()}


def _missing() -> Missing | None:
    """What is missing, as this process saw it a few seconds ago at most; None while nothing is."""
    if time.monotonic() >= _seen.until:
        _seen.missing = _look(_seen.missing)
        _seen.until = time.monotonic() + SEEN_FOR_SECONDS
    return _seen.missing


def _look(before: Missing | None) -> Missing | None:
    """What is missing now. The time stays while one part or the other is: nothing was sent in between."""
    broker, sweep = broker_and_sweep()
    if sweep:
        return None
    return Missing("sweep" if broker else "broker", before.since if before else timezone.now())
