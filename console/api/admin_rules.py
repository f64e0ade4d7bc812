"""What members of an admin's request may be: named and written as on the command line, in the types of JSON."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

from console.rules import Rule, Schema, Text
from runs.errors import Fault, InvalidParams
from runs.loading.forms import DURATION, seconds_of
from runs.values import JSON

_MOST_WORDS = 100
_MOST_SECONDS = 10 * 365 * 24 * 60 * 60
_SWITCH = {"on": True, "off": False}


@dataclass(frozen=True, slots=True)
class OneOrMore:
    """A list of texts, or one text alone."""

    rule: Rule

    def read(self, value: JSON, at: str) -> tuple[str, ...]:
        if isinstance(value, str):
            return (self.rule.read(value, at),)
        if not isinstance(value, list) or len(value) > _MOST_WORDS:
            words = f"A text, or a list of at most {_MOST_WORDS} texts."
            raise InvalidParams(errors=[Fault(at, "type", words)])
        return tuple([self.rule.read(item, f"{at}/{index}") for index, item in enumerate(value)])

    def schema(self) -> Schema:
        one = self.rule.schema()
        return {"anyOf": [{"type": "array", "items": one, "maxItems": _MOST_WORDS}, one]}


@dataclass(frozen=True, slots=True)
class Span:
    """A duration: whole seconds, or a number with its unit such as `90d`."""

    def read(self, value: JSON, at: str) -> timedelta:
        if isinstance(value, str) and DURATION.fits(value):
            value = seconds_of(value)
        if type(value) is not int or not 1 <= value <= _MOST_SECONDS:
            raise InvalidParams(errors=[Fault(at, "form", f"Write {DURATION.words}, or seconds.")])
        return timedelta(seconds=value)

    def schema(self) -> Schema:
        text = {"type": "string", "pattern": "^[1-9][0-9]{0,5}[smhd]$"}
        return {"anyOf": [text, {"type": "integer", "minimum": 1, "maximum": _MOST_SECONDS}]}


@dataclass(frozen=True, slots=True)
class Switch:
    """True or false; `on` and `off` say the same."""

    def read(self, value: JSON, at: str) -> bool:
        found = value if type(value) is bool else _SWITCH.get(value) if isinstance(value, str) else None
        if found is None:
            raise InvalidParams(errors=[Fault(at, "type", "This must be true or false.")])
        return found

    def schema(self) -> Schema:
        return {"anyOf": [{"type": "boolean"}, {"enum": list(_SWITCH)}]}


@dataclass(frozen=True, slots=True)
class Anything:
    """A value that is judged where its meaning is known."""

    def read(self, value: JSON, at: str) -> JSON:
        return value

    def schema(self) -> Schema:
        return {}


Words = Annotated[tuple[str, ...], OneOrMore(Text(200))]
Duration = Annotated[timedelta, Span()]
OnOff = Annotated[bool, Switch()]
Open = Annotated[Any, Anything()]
Address = Annotated[str, Text(2000)]
