"""Reading `[commands.…]`: who may ask for which narrow change, with which parameters, and what it writes.

Pure.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runs.definitions import Command, Field, compile_schema
from runs.fields import VERBS, FieldKind, Op, Verb
from runs.loading import forms
from runs.loading.clauses import read_allowed_in, read_only_when, read_reads, read_rules
from runs.loading.faults import FaultCode
from runs.loading.fields import Fields
from runs.loading.placeholders import has_braces, whole_placeholder
from runs.loading.schemas import read_schema
from runs.loading.tables import Table
from runs.states import OPEN_FOR_WORK, Disposition, RunStatus

JSON = Any

#: One increment adds at most this, so that no count outgrows the numbers of JSON.
MAX_INCREMENT = 1_000_000


@dataclass(frozen=True, slots=True)
class _Param:
    """One parameter: its schema, and the field it was taken from."""

    schema: Mapping[str, JSON]
    field: str | None = None


def read_commands(table: Table, fields: Fields, slug: str) -> dict[str, Command]:
    """Every declared command, by name."""
    return {name: _read_command(name, below, fields, slug) for name, below in table.tables(forms.NAME)}


def _read_command(name: str, table: Table, fields: Fields, slug: str) -> Command:
    params = _read_params(table.table("params"), fields, f"urn:workflow:{slug}:command:{name}")
    effects = tuple(_read_effects(table, fields, params))
    command = Command(
        name=name,
        title=table.text("title", forms.TITLE),
        scope=table.text("scope", forms.SCOPE),
        params={name: _fitting(name, param, effects, fields) for name, param in params.items()},
        effects=effects,
        status=table.choice("status", RunStatus) if table.has("status") else None,
        reads=read_reads(table, fields),
        only_when=read_only_when(table, fields),
        allowed_in=read_allowed_in(table, OPEN_FOR_WORK),
        on_conflict=read_rules(table, fields),
        otherwise=table.choice("otherwise", Disposition, Disposition.ESCALATE),
    )
    table.close()
    return command


# ---- parameters ------------------------------------------------------------------------------------------


def _read_params(table: Table, fields: Fields, uri: str) -> dict[str, _Param]:
    return {name: _read_param(below, fields, f"{uri}:{name}") for name, below in table.tables(forms.NAME)}


def _read_param(table: Table, fields: Fields, uri: str) -> _Param:
    if not table.has("field"):
        param = _Param(read_schema(table, "schema", uri) or {})
    else:
        name = table.text("field")
        field = fields.referred(name, table.at("field")) if name else None
        param = _Param(_written_schema(field), name)
    table.close()
    return param


def _written_schema(field: Field | None) -> Mapping[str, JSON]:
    """What one operation may write to a field: the whole value, one element or item, or how much to add."""
    if field is None:
        return {}
    if field.kind is FieldKind.COUNTER:
        return {"type": "integer", "minimum": 1, "maximum": MAX_INCREMENT}
    return field.schema


def _fitting(name: str, param: _Param, effects: tuple[Op, ...], fields: Fields) -> Mapping[str, JSON]:
    """The schema of a parameter, narrowed to what every field that it is written to can hold."""
    written = {op.field for op in effects if op.value == f"{{{name}}}"} - {param.field}
    narrower = [_written_schema(fields.sound(target)) for target in sorted(written)]
    return {"allOf": [param.schema, *narrower]} if narrower else param.schema


# ---- operations ------------------------------------------------------------------------------------------


def _read_effects(table: Table, fields: Fields, params: Mapping[str, _Param]) -> Iterator[Op]:
    written: set[str] = set()
    for verb in Verb:
        below = table.table(verb.value)
        for name in below.names():
            op = Op(name, verb, below.value(name))
            _check_op(below, op, fields, params)
            if name in written:
                below.refuse(name, FaultCode.WRITTEN_TWICE, "A command writes a field by one operation.")
            written.add(name)
            if name in fields.declared:
                yield op


def _check_op(table: Table, op: Op, fields: Fields, params: Mapping[str, _Param]) -> None:
    field = fields.referred(op.field, table.at(op.field))
    if op.value is None:
        return  # it was no JSON, which was said
    if field is not None and op.verb not in VERBS[field.kind]:
        known = " and ".join(sorted(VERBS[field.kind]))
        table.refuse(op.field, FaultCode.VERB_MISMATCH, f"`{op.field}` is of kind {field.kind}, which knows {known}.")
    elif (param := whole_placeholder(op.value)) is not None:
        if param not in params:
            table.refuse(op.field, FaultCode.UNKNOWN_PLACEHOLDER, f"This command has no parameter “{param}”.")
    elif has_braces(op.value):
        table.refuse(op.field, FaultCode.PLACEHOLDER_FORM, 'A placeholder is the whole value: `"{name}"`.')
    elif field is not None and not compile_schema(_written_schema(field)).is_valid(op.value):
        table.refuse(op.field, FaultCode.DOES_NOT_FIT, f"`{op.field}` can never hold this.")
