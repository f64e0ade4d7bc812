"""Waiting for what can be observed: bounded, and failing loudly. Nothing here waits for time to pass."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

#: How long anything may take to be seen, longer than a lease and a sweep on a busy machine.
PATIENCE_SECONDS = 30.0
_LOOK_AGAIN_SECONDS = 0.02


class Broken(Exception):
    """A drill found what must not be, or waited for something in vain; the text says what."""


def seen(observe: Callable[[], T], what: str, seconds: float = PATIENCE_SECONDS) -> T:
    """Look until there is something to see, and return it. Raises `Broken`."""
    deadline = time.monotonic() + seconds
    while not (found := observe()):
        if time.monotonic() > deadline:
            raise Broken(f"not seen within {seconds:g} s: {what}")
        time.sleep(_LOOK_AGAIN_SECONDS)
    return found


def require(holds: object, otherwise: str) -> None:
    """Raise `Broken` unless something holds."""
    if not holds:
        raise Broken(otherwise)
