"""Whether anything is sent at all: the banner for while the broker or the sweep is down."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from console.health import broker_and_sweep
from runs.models import Person

#: For how long a process believes what it saw: a page more costs nothing.
SEEN_FOR_SECONDS = 5


@dataclass
class _Seen:
    """What this process saw last, and until when it counts."""

    until: float = 0.0
    missing: str = ""


_seen = _Seen()


def forget() -> None:
    """Look again the next time. Needed only where a test takes something away."""
    _seen.until = 0.0


def banner(request: HttpRequest) -> Mapping[str, Any]:
    """Context processor for whoever is signed in: `not_sending`, the part that is missing, while one is."""
    if not isinstance(getattr(request, "user", None), Person):  # a request refused early has none
        return {}
    return {"not_sending": _missing()}


def _missing() -> str:
    """`broker`, `sweep`, or an empty text when both are there."""
    if time.monotonic() >= _seen.until:
        broker, sweep = broker_and_sweep()
        _seen.missing = "" if sweep else "sweep" if broker else "broker"
        _seen.until = time.monotonic() + SEEN_FOR_SECONDS
    return _seen.missing
