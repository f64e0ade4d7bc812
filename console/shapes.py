"""The shapes of request bodies: which members there are, of which form, and which may be missing.

A shape is a frozen dataclass whose annotations carry rules. One mechanism serves the plain view of the command
endpoint, which cannot afford DRF serializers (forty times slower here), and every DRF view beside it: mypy knows
what comes out, all faults come at once with their pointers, and `schema_of` documents a shape in OpenAPI from the
very rules that judge it, so that the document cannot promise anything else.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Claim:
        id: Id
        reason: Reason | None = None

A member with a default may be absent or null. Ids and hashes of a wrong form are `Malformed`, like members that are
not declared; everything else that is wrong is `InvalidParams`.
"""

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from console.rules import Faults, Hash, Identifier, Items, Object, Rule, Schema, Text, Whole
from runs.digest import MOST_FAULTS_SHOWN, pointer, shown_pointer
from runs.errors import Fault, InvalidParams, Malformed
from runs.values import JSON

S = TypeVar("S")

LONGEST_REASON = 4000
LONGEST_REFERENCE = 1000
MOST_REFERENCES = 100

# ---- members that many bodies have ------------------------------------------------------------------------

Id = Annotated[str, Identifier()]
Reason = Annotated[str, Text(LONGEST_REASON)]
Name = Annotated[str, Text(200)]
Evidence = Annotated[tuple[str, ...], Items(Text(LONGEST_REFERENCE), MOST_REFERENCES)]
Params = Annotated[dict[str, JSON], Object()]
Sha256 = Annotated[str, Hash()]
Version = Annotated[int, Whole(1)]


# ---- reading ---------------------------------------------------------------------------------------------


def read_shape(shape: type[S], body: Mapping[str, JSON]) -> S:
    """The body as a `shape`. Raises `Malformed` when a member is unknown or an id is ill-formed, else `InvalidParams`.

    Each error lists every fault of its kind.
    """
    members = _members_of(shape)  # type: ignore[arg-type]  # classes are hashable
    given: dict[str, Any] = {}
    faults = Faults()
    faults.note(Malformed, *_unknown(body, members))
    for name, member in members.items():
        value = body.get(name)
        if value is not None or (member.required and name in body):
            given[name] = faults.read(member.rule, value, member.pointer)
        elif member.required:
            faults.note(InvalidParams, Fault(member.pointer, "missing", "This member is required."))
    faults.settle()
    return shape(**given)


def schema_of(shape: type[Any]) -> Schema:
    """The JSON schema of a shape, for the OpenAPI document."""
    members = _members_of(shape)  # type: ignore[arg-type]  # classes are hashable
    return {
        "type": "object",
        "properties": {name: member.schema() for name, member in members.items()},
        "required": [name for name, member in members.items() if member.required],
        "additionalProperties": False,
    }


@dataclasses.dataclass(frozen=True, slots=True)
class _Member:
    pointer: str
    rule: Rule
    required: bool

    def schema(self) -> Schema:
        return self.rule.schema() if self.required else {"anyOf": [self.rule.schema(), {"type": "null"}]}


@cache
def _members_of(shape: Any) -> dict[str, _Member]:
    hints = get_type_hints(shape, include_extras=True)
    return {
        field.name: _Member(pointer(field.name), _rule_of(hints[field.name]), _is_required(field))
        for field in dataclasses.fields(shape)
    }


def _rule_of(hint: Any) -> Rule:
    if get_origin(hint) is Annotated:
        return next(item for item in hint.__metadata__ if isinstance(item, Rule))
    return next(_rule_of(part) for part in get_args(hint) if part is not type(None))


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _unknown(body: Mapping[str, JSON], members: Mapping[str, _Member]) -> list[Fault]:
    strangers = sorted(body.keys() - members.keys())[:MOST_FAULTS_SHOWN]
    return [Fault(shown_pointer(name), "unknown-member", "This member is not known here.") for name in strangers]
