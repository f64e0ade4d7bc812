"""Reading the clauses that commands and actions share: `reads`, `only_when`, `allowed_in`, `on_conflict`.

Pure.
"""

from collections.abc import Mapping
from typing import Any

from runs.definitions import Field, Rule
from runs.loading.faults import FaultCode
from runs.loading.fields import Fields
from runs.loading.tables import Table
from runs.states import Disposition, RunStatus

JSON = Any

#: What a conflict rule can watch beside the fields.
WATCHED = frozenset({"status", "active_snapshot"})

_STATUSES = tuple(status.value for status in RunStatus)


def read_reads(table: Table, fields: Fields) -> frozenset[str]:
    """The fields on whose values the change is decided."""
    return fields.refer_all(table.texts("reads"), table.at("reads"))


def read_only_when(table: Table, fields: Fields) -> Mapping[str, tuple[JSON, ...]]:
    """By field, the values with which the change is legal."""
    below = table.table("only_when")
    conditions = {}
    for name in below.names():
        field = fields.referred(name, below.at(name))
        conditions[name] = below.values(name)
        for index, value in enumerate(conditions[name]):
            if field is not None and not _can_hold(field, value):
                place = f"{below.at(name)}[{index}]"
                table.findings.refuse(place, FaultCode.DOES_NOT_FIT, f"`{name}` can never hold this.")
    return conditions


def read_allowed_in(table: Table, default: frozenset[RunStatus]) -> frozenset[RunStatus]:
    """The statuses in which the change is legal."""
    if not table.has("allowed_in"):
        return default
    named = table.texts("allowed_in", at_least=1)
    for index, name in enumerate(named):
        if name not in _STATUSES:
            _refuse_status(table, f"{table.at('allowed_in')}[{index}]", name)
    return frozenset(RunStatus(name) for name in named if name in _STATUSES)


def read_rules(table: Table, fields: Fields) -> tuple[Rule, ...]:
    """The conflict rules in their order."""
    return tuple(_read_rule(row, fields) for row in table.rows("on_conflict"))


def _read_rule(row: Table, fields: Fields) -> Rule:
    watched = row.texts("when_changed", at_least=1, required=True)
    for index, name in enumerate(watched):
        if name not in WATCHED:
            fields.referred(name, f"{row.at('when_changed')}[{index}]")
    to = row.values("to") if row.has("to") else None
    for index, value in enumerate(to or ()):
        _check_held(row, fields, watched, value, f"{row.at('to')}[{index}]")
    rule = Rule(watched, row.choice("then", Disposition), row.text("because"), to)
    row.close()
    return rule


def _check_held(row: Table, fields: Fields, watched: tuple[str, ...], value: JSON, place: str) -> None:
    """Refuse a value that nothing watched can ever hold."""
    if row.findings.touches(row.at("when_changed"), place):
        return
    if watched == ("status",) and value not in _STATUSES:
        _refuse_status(row, place, value)
    elif not any(_can_be(name, fields, value) for name in watched):
        words = f"{' and '.join(watched)} can never hold this."
        row.findings.refuse(place, FaultCode.DOES_NOT_FIT, words)


def _can_be(name: str, fields: Fields, value: JSON) -> bool:
    if name == "status":
        return value in _STATUSES
    if name == "active_snapshot":
        return False  # the ids of snapshots are not known before they are frozen
    field = fields.sound(name)
    return field is None or _can_hold(field, value)


def _can_hold(field: Field, value: JSON) -> bool:
    return value is None or bool(field.validator.is_valid(value))


def _refuse_status(table: Table, place: str, name: JSON) -> None:
    words = f"“{name}” is none of {', '.join(RunStatus)}."
    table.findings.refuse(place, FaultCode.UNKNOWN_STATUS, words)
