"""What a single member of a request body may be. `console/shapes.py` puts members together.

Each rule reads a value and documents itself; another module may bring rules of its own. The refusals name the place
and what is expected there, and never repeat the value.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Protocol, runtime_checkable

from console.inputs import check_id
from runs.digest import parse_tagged, shown_pointer
from runs.errors import Fault, InputError, InvalidParams, Malformed
from runs.values import JSON

Schema = dict[str, Any]

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII)
_AMOUNT = re.compile(r"(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,4})?")


@runtime_checkable
class Rule(Protocol):
    """How one member is read and documented."""

    def read(self, value: JSON, at: str) -> Any:
        """The value as the program wants it. Raises `Malformed` or `InvalidParams` naming `at`."""

    def schema(self) -> Schema:
        """The same rule as a JSON schema."""


class Faults:
    """Collects what rules refuse, so that all of it is told at once."""

    def __init__(self) -> None:
        self._found: dict[type[InputError], list[Fault]] = {Malformed: [], InvalidParams: []}

    def note(self, error: type[InputError], *faults: Fault) -> None:
        self._found[error] += faults

    def read(self, rule: Rule, value: JSON, at: str) -> Any:
        """What the rule makes of the value; nothing when it refuses, which is noted."""
        try:
            return rule.read(value, at)
        except (Malformed, InvalidParams) as refused:
            self.note(type(refused), *refused.errors)
            return None

    def settle(self) -> None:
        """Raises `Malformed` when that was noted, else `InvalidParams` when that was."""
        for error, faults in self._found.items():
            if faults:
                raise error("The body does not have the expected form.", errors=faults)


def _refuse(at: str, code: str, detail: str) -> InvalidParams:
    return InvalidParams(errors=[Fault(at, code, detail)])


@dataclass(frozen=True, slots=True)
class Identifier:
    """An id chosen by the caller or given out by the server."""

    def read(self, value: JSON, at: str) -> str:
        return check_id(value, at=at)

    def schema(self) -> Schema:
        return {"type": "string", "pattern": "^[!-~]{1,200}$"}


@dataclass(frozen=True, slots=True)
class Hash:
    """A hash, `sha256:` and 64 hex digits, kept as it is written."""

    def read(self, value: JSON, at: str) -> str:
        return f"sha256:{parse_tagged(value, at=at)}"

    def schema(self) -> Schema:
        return {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}


@dataclass(frozen=True, slots=True)
class Text:
    """A text that says something: not only white space and invisible characters."""

    most: int = 200
    pattern: str = ""
    form: str = ""  # the pattern in words

    def read(self, value: JSON, at: str) -> str:
        if not isinstance(value, str):
            raise _refuse(at, "type", "This must be a text.")
        if len(value) > self.most:
            raise _refuse(at, "too-long", f"At most {self.most} characters.")
        if not any(letter.isprintable() and not letter.isspace() for letter in value):
            raise _refuse(at, "blank", "This must not be blank.")
        if self.pattern and not re.fullmatch(self.pattern, value, re.ASCII):
            raise _refuse(at, "form", self.form)
        return value

    def schema(self) -> Schema:
        limits: Schema = {"type": "string", "minLength": 1, "maxLength": self.most}
        return limits | {"pattern": f"^(?:{self.pattern})$"} if self.pattern else limits


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number, written as one: neither "7" nor 7.0 nor true."""

    least: int = 0
    most: int = 2**53 - 1

    def read(self, value: JSON, at: str) -> int:
        if type(value) is not int:
            raise _refuse(at, "type", "This must be a whole number.")
        if not self.least <= value <= self.most:
            raise _refuse(at, "range", f"From {self.least} to {self.most}.")
        return value

    def schema(self) -> Schema:
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    def read(self, value: JSON, at: str) -> bool:
        if type(value) is not bool:
            raise _refuse(at, "type", "This must be true or false.")
        return value

    def schema(self) -> Schema:
        return {"type": "boolean"}


class Choice:
    """One of a few words."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def read(self, value: JSON, at: str) -> str:
        if not isinstance(value, str) or value not in self.words:
            raise _refuse(at, "choice", f"One of {', '.join(self.words)}.")
        return value

    def schema(self) -> Schema:
        return {"type": "string", "enum": list(self.words)}


@dataclass(frozen=True, slots=True)
class Object:
    """A JSON object whose members are judged elsewhere, such as the parameters of a command."""

    def read(self, value: JSON, at: str) -> dict[str, JSON]:
        if not isinstance(value, dict):
            raise _refuse(at, "type", "This must be an object.")
        return value

    def schema(self) -> Schema:
        return {"type": "object"}


@dataclass(frozen=True, slots=True)
class Items:
    """A list, each item by the same rule."""

    rule: Rule
    most: int = 100

    def read(self, value: JSON, at: str) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise _refuse(at, "type", "This must be a list.")
        if len(value) > self.most:
            raise _refuse(at, "too-many", f"At most {self.most} items.")
        faults = Faults()
        items = tuple([faults.read(self.rule, item, f"{at}/{index}") for index, item in enumerate(value)])
        faults.settle()
        return items

    def schema(self) -> Schema:
        return {"type": "array", "items": self.rule.schema(), "maxItems": self.most}


@dataclass(frozen=True, slots=True)
class Entries:
    """An object of free names whose values follow the same rule, such as artifacts by slot."""

    rule: Rule
    most: int = 100

    def read(self, value: JSON, at: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _refuse(at, "type", "This must be an object.")
        if len(value) > self.most:
            raise _refuse(at, "too-many", f"At most {self.most} members.")
        faults = Faults()
        entries = {name: faults.read(self.rule, item, at + shown_pointer(name)) for name, item in value.items()}
        faults.settle()
        return entries

    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": self.rule.schema(), "maxProperties": self.most}


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time, RFC 3339 with its offset."""

    def read(self, value: JSON, at: str) -> datetime:
        if isinstance(value, str) and _RFC3339.fullmatch(value):
            with suppress(ValueError, OverflowError):  # the 31st of June, or the year 10000 in UTC
                return datetime.fromisoformat(value.upper()).astimezone(UTC)
        raise _refuse(at, "form", "A time is written like 2026-11-30T12:00:00Z.")

    def schema(self) -> Schema:
        return {"type": "string", "format": "date-time"}


@dataclass(frozen=True, slots=True)
class Amount:
    """A sum of money: a decimal string, never a number."""

    def read(self, value: JSON, at: str) -> Decimal:
        if not isinstance(value, str) or not _AMOUNT.fullmatch(value):
            raise _refuse(at, "form", 'An amount is a text like "30.00".')
        return Decimal(value)

    def schema(self) -> Schema:
        return {"type": "string", "pattern": f"^{_AMOUNT.pattern}$"}
