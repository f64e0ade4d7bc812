"""A case side by side: each field as it was at the base, as it is now, and as the proposal would have it.

Pure. Which fields come first is decided here: those that both sides changed, then the proposal's, then what changed
since; what neither touched is folded away. Material ones lead each group.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import Any

from console.diffing import Difference, difference, numeric_delta
from runs.definitions import Command, Workflow
from runs.errors import ItemIdReused
from runs.fields import apply_op, same
from runs.values import ChangedField

JSON = Any


#: A longer id of a command is cut in the middle; the entry beside it has the whole.
LONGEST_ID = 16


class Touch(IntEnum):
    """Who touched a field since the base; the smaller, the higher in the table."""

    BOTH = 0
    PROPOSAL = 1
    SINCE = 2
    NOBODY = 3


#: How each is said and marked.
TOUCH_WORDS = {
    Touch.BOTH: ("changed by both", "users", "bad"),
    Touch.PROPOSAL: ("changed by the proposal", "bot", "agent"),
    Touch.SINCE: ("changed since", "history", "warn"),
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the ledger a version was made, and when."""

    seq: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Row:
    """One field, or the status, of a case."""

    name: str
    kind: str
    is_material: bool
    touch: Touch
    base: JSON
    current: Difference
    proposal: Difference | None  # None: not written by the proposal
    between: str  # how the proposal differs from the record now, where both are numbers
    change: ChangedField | None  # the last change since the base
    place: Place | None = None  # of that change
    has_base: bool = True

    @property
    def words(self) -> str:
        return TOUCH_WORDS[self.touch][0]

    @property
    def icon(self) -> str:
        return TOUCH_WORDS[self.touch][1]

    @property
    def tone(self) -> str:
        return TOUCH_WORDS[self.touch][2]

    @property
    def command(self) -> str:
        """The id of the command that made the last change, without its middle where it is long."""
        text = (self.change and self.change.command_id) or ""
        return text if len(text) <= LONGEST_ID else f"{text[:8]}…{text[-4:]}"

    @property
    def is_collection(self) -> bool:
        return isinstance(self.base, list)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The rows of a case: the touched ones in their order, and the rest."""

    touched: tuple[Row, ...]
    untouched: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Sides:
    """What is compared: values by name at the base (None: not known any more) and now, and what changed since."""

    base: Mapping[str, JSON] | None
    current: Mapping[str, JSON]
    changed: Mapping[str, ChangedField]
    places: Mapping[int, Place] = field(default_factory=dict)  # by version


def compare(workflow: Workflow, command: Command, params: Mapping[str, JSON], sides: Sides) -> Comparison:
    """Every field of the run, and `status` or `active_snapshot` where they changed."""
    rows = sorted(_rows(workflow, command, params, sides), key=lambda row: (row.touch, not row.is_material))
    touched = tuple(row for row in rows if row.touch is not Touch.NOBODY)
    return Comparison(touched, tuple(row for row in rows if row.touch is Touch.NOBODY))


def _rows(workflow: Workflow, command: Command, params: Mapping[str, JSON], sides: Sides) -> Iterator[Row]:
    proposed = proposed_values(command, params, sides.current if sides.base is None else sides.base)
    for name in [*workflow.fields, *(name for name in ("status", "active_snapshot") if name in sides.changed)]:
        declared = workflow.fields.get(name)
        base = sides.current.get(name) if sides.base is None else sides.base.get(name)
        current, change = sides.current.get(name), sides.changed.get(name)
        asks = name in proposed and not same(proposed[name], base)
        yield Row(
            name=name,
            kind=declared.kind.value if declared else "",
            is_material=declared is not None and declared.material,
            touch=_touch(asks=asks or (name in proposed and change is not None), changed=change is not None),
            base=base,
            current=difference(base, current),
            proposal=difference(base, proposed[name]) if name in proposed else None,
            between=numeric_delta(current, proposed[name]) if name in proposed else "",
            change=change,
            place=sides.places.get(change.version) if change else None,
            has_base=sides.base is not None,
        )


def _touch(*, asks: bool, changed: bool) -> Touch:
    if asks:
        return Touch.BOTH if changed else Touch.PROPOSAL
    return Touch.SINCE if changed else Touch.NOBODY


def proposed_values(command: Command, params: Mapping[str, JSON], fields: Mapping[str, JSON]) -> dict[str, JSON]:
    """What the command would make of the fields it writes, starting from `fields`."""
    values: dict[str, JSON] = {}
    for op in command.ops(params):
        before = values.get(op.field, fields.get(op.field))
        try:
            values[op.field], _ = apply_op(before, op)
        except ItemIdReused:
            others = [item for item in before or () if item["id"] != op.value["id"]]
            values[op.field] = [*others, op.value]
    return values


def compare_values(before: Mapping[str, JSON], now: Mapping[str, JSON]) -> Comparison:
    """Two objects by member: those that differ, and the rest."""
    rows = [
        Row(
            name=name,
            kind="",
            is_material=False,
            touch=Touch.NOBODY if same(before.get(name), now.get(name)) else Touch.SINCE,
            base=before.get(name),
            current=difference(before.get(name), now.get(name)),
            proposal=None,
            between="",
            change=None,
        )
        for name in [*now, *(name for name in before if name not in now)]
    ]
    touched = tuple(row for row in rows if row.touch is not Touch.NOBODY)
    return Comparison(touched, tuple(row for row in rows if row.touch is Touch.NOBODY))
