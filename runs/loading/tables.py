"""Reading TOML tables key by key: every key is handed out once, with its type checked, and what is left over is a fault.

Pure. A reader goes on after a fault with a neutral value, so that one reading names every fault.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from runs.loading.faults import FaultCode, Findings
from runs.loading.forms import DURATION, TEXT, Form, seconds_of

JSON = Any
Choice = TypeVar("Choice", bound=StrEnum)

#: The largest whole number that every JSON reader keeps.
MAX_INTEGER = 2**53 - 1

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_TYPE_NAMES = {str: "a text", int: "a whole number", bool: "true or false", list: "a list", dict: "a table"}


class Table:
    """One table of the document while it is read."""

    def __init__(self, content: Mapping[str, JSON], place: str, findings: Findings) -> None:
        self.place = place
        self.findings = findings
        self._left = dict(content)

    def at(self, key: str) -> str:
        """The place of a key, as a person would write it."""
        written = key if _BARE_KEY.fullmatch(key) else json.dumps(key)
        return f"{self.place}.{written}" if self.place else written

    def refuse(self, key: str, code: FaultCode, words: str) -> None:
        self.findings.refuse(self.at(key), code, words)

    def __contains__(self, key: str) -> bool:
        """Whether the key is there and nobody took it yet."""
        return key in self._left

    def close(self) -> None:
        """Name every key that nobody asked for."""
        for key in self._left:
            self.refuse(key, FaultCode.UNKNOWN_KEY, "No such key has a meaning here.")

    def missing(self, key: str) -> None:
        self.refuse(key, FaultCode.MISSING_KEY, f"`{key}` must be given.")

    # ---- one value -----------------------------------------------------------------------------------------

    def text(self, key: str, form: Form = TEXT, default: str | None = None) -> str:
        """A text of this form. Without a default it must be there; the neutral value is empty."""
        value = self._take(key, str, required=default is None)
        if value is None:
            return default or ""
        if not form.fits(value):
            self.refuse(key, FaultCode.BAD_FORM, f"Write {form.words}.")
            return default or ""
        return str(value)

    def optional_text(self, key: str, form: Form) -> str | None:
        return self.text(key, form, default="") or None

    def integer(self, key: str, at_least: int, default: int | None = None) -> int:
        value = self._take(key, int, required=default is None)
        if value is not None and value < at_least:
            self.refuse(key, FaultCode.TOO_SMALL, f"At least {at_least} is needed.")
        return (default or at_least) if value is None else max(value, at_least)

    def flag(self, key: str) -> bool:
        return bool(self._take(key, bool, required=False))

    def duration(self, key: str, default: str | None = None) -> int:
        """A duration in seconds. Without a default it must be there; the neutral value is one second."""
        return seconds_of(self.text(key, DURATION, default) or "1s")

    def word(self, key: str, among: tuple[str, ...], default: str | None = None) -> str:
        """One of these words; the neutral value is the first."""
        value = self._take(key, str, required=default is None)
        if value is not None and value not in among:
            self.refuse(key, FaultCode.NOT_AMONG, f"“{value}” is none of {', '.join(among)}.")
        return value if value in among else default or among[0]

    def choice(self, key: str, of: type[Choice], default: Choice | None = None) -> Choice:
        """One member of an enumeration; the neutral value is its first."""
        return of(self.word(key, tuple(member.value for member in of), default))

    def value(self, key: str) -> JSON:
        """Any JSON value, or None where there is none or it is not JSON."""
        value = self._left.pop(key, None)
        if value is not None and not _is_json(value):
            self.refuse(key, FaultCode.NOT_JSON, "JSON has no dates, no infinity, no NUL and no number beyond 2^53-1.")
            return None
        return value

    # ---- several values ------------------------------------------------------------------------------------

    def texts(self, key: str, form: Form = TEXT, *, at_least: int = 0, required: bool = False) -> tuple[str, ...]:
        """A list of different texts of this form."""
        listed = self.list(key, at_least=at_least, required=required)
        for index, item in enumerate(listed):
            place = f"{self.at(key)}[{index}]"
            if not isinstance(item, str):
                self.findings.refuse(place, FaultCode.WRONG_TYPE, "This must be a text.")
            elif not form.fits(item):
                self.findings.refuse(place, FaultCode.BAD_FORM, f"Write {form.words}.")
            elif item in listed[:index]:
                self.findings.refuse(place, FaultCode.DUPLICATE, f"“{item}” is already in the list.")
        return tuple(dict.fromkeys(item for item in listed if isinstance(item, str) and form.fits(item)))

    def list(self, key: str, *, at_least: int = 0, required: bool = False) -> list[JSON]:
        """A list of JSON values."""
        listed = self._take(key, list, required=required)
        if listed is not None and len(listed) < at_least:
            self.refuse(key, FaultCode.EMPTY, f"At least {at_least} is needed.")
        return listed or []

    def choices(
        self, key: str, of: type[Choice], code: FaultCode, default: frozenset[Choice]
    ) -> frozenset[Choice]:
        """Different members of an enumeration, at least one; `code` names an unknown one."""
        if key not in self:
            return default
        words = {member.value: member for member in of}
        named = self.texts(key, at_least=1)
        for word in named:
            if word not in words:
                self.refuse(key, code, f"“{word}” is none of {', '.join(words)}.")
        return frozenset(words[word] for word in named if word in words)

    # ---- tables below --------------------------------------------------------------------------------------

    def table(self, key: str, *, required: bool = False) -> "Table":
        """The table under this key; an empty one where there is none."""
        return Table(self._take(key, dict, required=required) or {}, self.at(key), self.findings)

    def tables(self, form: Form) -> Iterator[tuple[str, "Table"]]:
        """Every key of this table with the table under it. Takes all keys."""
        for name in list(self._left):
            if not form.fits(name):
                self.refuse(name, FaultCode.BAD_FORM, f"A name is {form.words}.")
            yield name, self.table(name)

    def rows(self, key: str) -> Iterator["Table"]:
        """Every table of the list under this key; an empty one in place of what is no table."""
        for index, item in enumerate(self.list(key)):
            place = f"{self.at(key)}[{index}]"
            if not isinstance(item, dict):
                self.findings.refuse(place, FaultCode.WRONG_TYPE, "This must be a table.")
            yield Table(item if isinstance(item, dict) else {}, place, self.findings)

    def keys(self) -> list[str]:
        """The keys that nobody took yet."""
        return list(self._left)

    def _take(self, key: str, kind: type, *, required: bool) -> JSON:
        if key not in self._left:
            if required:
                self.missing(key)
            return None
        value = self._left.pop(key)
        if type(value) is not kind:
            self.refuse(key, FaultCode.WRONG_TYPE, f"This must be {_TYPE_NAMES[kind]}.")
            return None
        return value


def _is_json(value: JSON) -> bool:
    match value:
        case bool():
            return True
        case str():
            return "\0" not in value
        case int():
            return abs(value) <= MAX_INTEGER
        case float():
            return math.isfinite(value)
        case list():
            return all(_is_json(item) for item in value)
        case dict():
            return all(_is_json(item) for item in value.values())
        case _:
            return False
