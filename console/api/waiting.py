"""Answers that wait: instead of asking again and again, a caller is held until there is something to say.

A web process does one thing at a time, so a waiting request takes a whole process away from everybody else. Only
so many may wait at once in the whole installation; whoever comes beyond is answered at once and told when to ask
again. A place is a lock of the database session: it is given back even when the process dies.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from runs.errors import Fault, Malformed
from runs.lock_classes import LockClass
from runs.transactions import fetch_row

T = TypeVar("T")

#: How many requests may wait at the same time.
PLACES = 1
LONGEST_SECONDS = 20
#: How often a waiting request looks again.
EVERY_SECONDS = 0.25
#: When to ask again after there was no place.
ASK_AGAIN_SECONDS = 2

PLACE_LOCK = LockClass.WAITING_REQUEST.value


@dataclass(frozen=True, slots=True)
class Waited(Generic[T]):
    """What there was to say in the end, and whether there was no place to wait for it."""

    value: T
    is_turned_away: bool = False


def wait_for(look: Callable[[], T], is_settled: Callable[[T], bool], seconds: int) -> Waited[T]:
    """What `look` finds, once `is_settled` or after `seconds`. Needs no transaction and must not be inside one."""
    value = look()
    if seconds == 0 or is_settled(value):
        return Waited(value)
    with _place() as number:
        if number is None:
            return Waited(value, is_turned_away=True)
        deadline = time.monotonic() + seconds
        while not is_settled(value) and time.monotonic() < deadline:
            time.sleep(EVERY_SECONDS)
            value = look()
    return Waited(value)


def read_wait(text: str | None) -> int:
    """The seconds that a caller wants to wait, at most `LONGEST_SECONDS`. Raises `Malformed` for what is no number."""
    if text is None:
        return 0
    if not (text.isascii() and text.isdecimal()):
        raise Malformed(errors=[Fault("", "wait", "The parameter wait is a number of seconds, such as 20.")])
    return min(int(text[:6]), LONGEST_SECONDS)


@contextmanager
def _place() -> Iterator[int | None]:
    """One of the places, as long as the block lasts; None when all are taken."""
    number = next((number for number in range(PLACES) if _take(number)), None)
    try:
        yield number
    finally:
        if number is not None:
            fetch_row("SELECT pg_advisory_unlock(%s, %s)", [PLACE_LOCK, number])


def _take(number: int) -> bool:
    (taken,) = fetch_row("SELECT pg_try_advisory_lock(%s, %s)", [PLACE_LOCK, number])
    return bool(taken)
