"""How names, scopes, durations and texts of a definition are written.

Pure.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Form:
    """One way of writing: a test and what it asks for, in words."""

    fits: Callable[[str], bool]
    words: str


def _pattern(expression: str, words: str, longest: int) -> Form:
    compiled = re.compile(expression)
    return Form(lambda text: len(text) <= longest and compiled.fullmatch(text) is not None, words)


def _line(longest: int) -> Form:
    return Form(
        lambda text: bool(text.strip()) and text.isprintable() and len(text) <= longest,
        f"one line of text, not blank, at most {longest} characters",
    )


NAME = _pattern(
    r"[a-z][a-z0-9_-]*", "a lower-case letter, then letters, digits, hyphens and underscores, at most 64", 64
)
MEMBER = _pattern(r"[A-Za-z_][A-Za-z0-9_-]*", "a letter, then letters, digits, hyphens and underscores, at most 64", 64)
SCOPE = _pattern(r"[a-z][a-z0-9_-]*(:[a-z][a-z0-9_-]*)+", "names joined by colons, such as `refund:pay`", 100)
GROUP = _pattern(r"[A-Za-z0-9][A-Za-z0-9._-]*", "letters, digits, dots, hyphens and underscores, at most 100", 100)
MEDIA_TYPE = _pattern(r"[a-z]+/[a-z0-9][a-z0-9.+-]*", "a media type such as `text/markdown`", 100)
AMOUNT = _pattern(r"[0-9]+(\.[0-9]+)?", "a decimal number in quotes, such as `500.00`", 30)
TITLE = _line(200)
TEXT = _line(1000)

_DURATION = re.compile(r"([1-9][0-9]{0,5})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 60 * 60, "d": 24 * 60 * 60}

DURATION = Form(
    lambda text: _DURATION.fullmatch(text) is not None,
    "a whole number and a unit, s, m, h or d, such as `20s` or `30d`",
)


def seconds_of(duration: str) -> int:
    """The seconds of a duration that has its form."""
    matched = _DURATION.fullmatch(duration)
    assert matched is not None
    number, unit = matched.groups()
    return int(number) * _SECONDS[unit]
