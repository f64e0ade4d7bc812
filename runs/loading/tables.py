"""Reading TOML tables key by key: each is handed out once, with its type checked; what is left over is a fault.

Pure. A reader goes on after a fault with a neutral value, so that one reading names every fault.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from runs.digest import LARGEST_INTEGER
from runs.loading.faults import FaultCode, Findings
from runs.loading.forms import DURATION, TEXT, Form, seconds_of

JSON = Any
Choice = TypeVar("Choice", bound=StrEnum)

NO_JSON = "JSON has no dates, no infinity, no NUL and no number beyond 2^53-1."
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_TYPE_NAMES = {str: "a text", int: "a whole number", bool: "true or false", list: "a list", dict: "a table"}


class Table:
    """One table of the document while it is read.

    Made of None it stands for a table that is absent or no table, which was said already: nothing is
    then missing in it.
    """

    def __init__(self, content: Mapping[str, JSON] | None, place: str, findings: Findings) -> None:
        self.place = place
        self.findings = findings
        self._is_absent = content is None
        self._left = dict(content or {})

    def at(self, key: str) -> str:
        """The place of a key, as a person would write it."""
        written = key if _BARE_KEY.fullmatch(key) else json.dumps(key)
        return f"{self.place}.{written}" if self.place else written

    def refuse(self, key: str, code: FaultCode, words: str) -> None:
        self.findings.refuse(self.at(key), code, words)

    def missing(self, key: str) -> None:
        if not self._is_absent:
            self.refuse(key, FaultCode.MISSING_KEY, f"`{key}` must be given.")

    def has(self, key: str) -> bool:
        """Whether the key is there and nobody took it yet."""
        return key in self._left

    def names(self) -> list[str]:
        """The keys that nobody took yet."""
        return list(self._left)

    def close(self) -> None:
        """Name every key that nobody took."""
        for key in self._left:
            self.refuse(key, FaultCode.UNKNOWN_KEY, "No such key has a meaning here.")

    # ---- one value -----------------------------------------------------------------------------------------

    def text(self, key: str, form: Form = TEXT, default: str | None = None) -> str:
        """A text of this form. Without a default it must be there; the neutral value is empty."""
        value = self._take(key, str, required=default is None)
        if value is not None and not form.fits(value):
            self.refuse(key, FaultCode.BAD_FORM, f"Write {form.words}.")
            value = None
        return (default or "") if value is None else str(value)

    def integer(self, key: str, at_least: int, default: int | None = None) -> int:
        """A whole number. Without a default it must be there; the neutral value is the least."""
        value = self._take(key, int, required=default is None)
        if value is not None and value < at_least:
            self.refuse(key, FaultCode.TOO_SMALL, f"At least {at_least} is needed.")
        return (default or at_least) if value is None else max(int(value), at_least)

    def flag(self, key: str) -> bool:
        """True or false; false where there is nothing."""
        return bool(self._take(key, bool, required=False))

    def duration(self, key: str, default: str | None = None) -> int:
        """A duration in seconds. Without a default it must be there; the neutral value is one second."""
        return seconds_of(self.text(key, DURATION, default) or "1s")

    def word(self, key: str, among: tuple[str, ...], default: str | None = None) -> str:
        """One of these words. Without a default it must be there; the neutral value is the first."""
        value = self._take(key, str, required=default is None)
        if value is not None and value not in among:
            self.refuse(key, FaultCode.NOT_AMONG, f"“{value}” is none of {', '.join(among)}.")
        return str(value) if value in among else default or among[0]

    def choice(self, key: str, of: type[Choice], default: Choice | None = None) -> Choice:
        """One member of an enumeration. Without a default it must be there; the neutral value is the first."""
        return of(self.word(key, tuple(member.value for member in of), default))

    def value(self, key: str) -> JSON:
        """Any JSON value; None where there is none."""
        value = self._left.pop(key, None)
        return self._checked(value, self.at(key))

    # ---- several values ------------------------------------------------------------------------------------

    def texts(self, key: str, form: Form = TEXT, *, at_least: int = 0, required: bool = False) -> tuple[str, ...]:
        """A list of different texts of this form."""
        listed = self._listed(key, at_least, required=required)
        for index, item in enumerate(listed):
            place = f"{self.at(key)}[{index}]"
            if not isinstance(item, str):
                self.findings.refuse(place, FaultCode.WRONG_TYPE, "This must be a text.")
            elif not form.fits(item):
                self.findings.refuse(place, FaultCode.BAD_FORM, f"Write {form.words}.")
            elif item in listed[:index]:
                self.findings.refuse(place, FaultCode.DUPLICATE, f"“{item}” is already in the list.")
        return tuple(dict.fromkeys(item for item in listed if isinstance(item, str) and form.fits(item)))

    def values(self, key: str) -> tuple[JSON, ...]:
        """A list of JSON values, at least one."""
        listed = self._listed(key, at_least=1, required=False)
        return tuple(self._checked(item, f"{self.at(key)}[{index}]") for index, item in enumerate(listed))

    def rows(self, key: str) -> Iterator["Table"]:
        """Every table of the list under this key."""
        for index, item in enumerate(self._listed(key, at_least=0, required=False)):
            place = f"{self.at(key)}[{index}]"
            if not isinstance(item, dict):
                self.findings.refuse(place, FaultCode.WRONG_TYPE, "This must be a table.")
            yield Table(item if isinstance(item, dict) else None, place, self.findings)

    # ---- tables below --------------------------------------------------------------------------------------

    def table(self, key: str, *, required: bool = False) -> "Table":
        """The table under this key."""
        return Table(self._take(key, dict, required=required), self.at(key), self.findings)

    def tables(self, form: Form) -> Iterator[tuple[str, "Table"]]:
        """Every key, whose name must have this form, with the table under it."""
        for name in self.names():
            if not form.fits(name):
                self.refuse(name, FaultCode.BAD_FORM, f"Write {form.words}.")
            yield name, self.table(name)

    # ---- how a value is taken ------------------------------------------------------------------------------

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

    def _listed(self, key: str, at_least: int, *, required: bool) -> list[JSON]:
        listed = self._take(key, list, required=required)
        if listed is not None and len(listed) < at_least:
            self.refuse(key, FaultCode.EMPTY, f"At least {at_least} is needed.")
        return listed or []

    def _checked(self, value: JSON, place: str) -> JSON:
        if value is None or _is_json(value):
            return value
        self.findings.refuse(place, FaultCode.NOT_JSON, NO_JSON)
        return None


def _is_json(value: JSON) -> bool:
    match value:
        case str():
            return "\0" not in value
        case int():
            return abs(value) <= LARGEST_INTEGER
        case float():
            return math.isfinite(value)
        case list():
            return all(map(_is_json, value))
        case dict():
            return all(map(_is_json, [*value.keys(), *value.values()]))
    return False
