"""Field kinds: how each applies a change, tells what changed, takes it back, and which changes commute.

Pure. A change is a small JSON object that names what happened to one field, as the ledger keeps it:
`{"from", "to"}` of an exclusive field or counter, `{"added", "removed"}` of a set, `{"appended"}` of a log.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as member
from enum import StrEnum
from typing import Any

from runs.digest import canonical
from runs.errors import Fault, ItemIdReused

JSON = Any
Change = Mapping[str, JSON]


class FieldKind(StrEnum):
    """How concurrent writes of a field relate."""

    EXCLUSIVE = "exclusive"  # one decision; never merged when touched
    SET = "set"  # elements with an identity; changes of different elements commute
    LOG = "log"  # append-only items with an id; appends commute
    COUNTER = "counter"  # a monotonic count; increments commute


class Verb(StrEnum):
    """What a command does to one field."""

    SET = "set"
    ADD = "add"
    REMOVE = "remove"
    APPEND = "append"
    INCREMENT = "increment"


#: Which verbs each kind understands.
VERBS: dict[FieldKind, frozenset[Verb]] = {
    FieldKind.EXCLUSIVE: frozenset({Verb.SET}),
    FieldKind.SET: frozenset({Verb.ADD, Verb.REMOVE}),
    FieldKind.LOG: frozenset({Verb.APPEND}),
    FieldKind.COUNTER: frozenset({Verb.INCREMENT}),
}


@dataclass(frozen=True, slots=True)
class Op:
    """One operation of a command with its parameters filled in."""

    field: str
    verb: Verb
    value: JSON
    at: str = member(default="", compare=False)  # the JSON pointer of the parameter that gave the value


def identity(value: JSON) -> str:
    """The identity of a value: its canonical JSON, in which 1 and true differ and 1 and 1.0 do not."""
    return canonical(value).decode()


def same(left: JSON, right: JSON) -> bool:
    """Whether two JSON values are one value."""
    return identity(left) == identity(right)


def empty(kind: FieldKind) -> JSON:
    """The value of a field that nobody wrote yet."""
    return {FieldKind.EXCLUSIVE: None, FieldKind.COUNTER: 0}.get(kind, [])


def apply_op(value: JSON, op: Op) -> tuple[JSON, Change | None]:
    """Apply `op` to the value of its field.

    Returns the new value and the change, or the old value and None when nothing changes.
    Raises `ItemIdReused` when a log already holds the item's id with other content.
    """
    match op.verb:
        case Verb.SET:
            return _replace(value, op.value)
        case Verb.INCREMENT:
            return _replace(value, value + op.value)
        case Verb.ADD:
            return _add(value, op.value)
        case Verb.REMOVE:
            return _remove(value, op.value)
        case Verb.APPEND:
            return _append(value, op)


def _replace(value: JSON, new: JSON) -> tuple[JSON, Change | None]:
    return (value, None) if same(value, new) else (new, {"from": value, "to": new})


def _add(elements: list[JSON], new: JSON) -> tuple[JSON, Change | None]:
    if any(same(element, new) for element in elements):
        return elements, None
    return [*elements, new], {"added": [new]}


def _remove(elements: list[JSON], old: JSON) -> tuple[JSON, Change | None]:
    rest = [element for element in elements if not same(element, old)]
    return (elements, None) if len(rest) == len(elements) else (rest, {"removed": [old]})


def _append(items: list[JSON], op: Op) -> tuple[JSON, Change | None]:
    known = next((item for item in items if item["id"] == op.value["id"]), None)
    if known is None:
        return [*items, op.value], {"appended": [op.value]}
    if same(known, op.value):
        return items, None
    detail = f"{op.field} already holds an item {op.value['id']} with other content."
    raise ItemIdReused(detail, errors=[Fault(f"{op.at}/id", ItemIdReused.code, detail)])


def undo(value: JSON, change: Change) -> JSON:
    """The value before `change` led to `value`. (The order of a set's elements carries no meaning.)"""
    if "to" in change:
        return change["from"]
    if "appended" in change:
        gone = {item["id"] for item in change["appended"]}
        return [item for item in value if item["id"] not in gone]
    gone = {identity(element) for element in change.get("added", ())}
    return [element for element in value if identity(element) not in gone] + list(change.get("removed", ()))


def element_of(op: Op) -> str | None:
    """The element of a set or log that `op` writes, or None when it writes its field whole."""
    match op.verb:
        case Verb.ADD | Verb.REMOVE:
            return identity(op.value)
        case Verb.APPEND:
            return identity(op.value["id"])
        case _:
            return None


def opposes(op: Op, change: Change) -> bool:
    """Whether `change` did the opposite of `op` to the same element of a set."""
    undone = {Verb.ADD: "removed", Verb.REMOVE: "added"}.get(op.verb)
    return undone is not None and any(same(element, op.value) for element in change.get(undone, ()))


def fulfils(op: Op, change: Change) -> bool:
    """Whether `change` did what `op` asks for: the same to the same element of a set, or gave the field this value."""
    done = {Verb.ADD: "added", Verb.REMOVE: "removed"}.get(op.verb)
    if done is None:
        return "to" in change and same(change["to"], op.value)
    return any(same(element, op.value) for element in change.get(done, ()))
