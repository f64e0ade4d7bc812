"""Reading `[fields.…]`: the fields of a run, and looking one up by a name used elsewhere in the definition.

Pure.
"""

from collections.abc import Mapping
from typing import Any

from runs.definitions import RESERVED_NAMES, Field
from runs.fields import FieldKind, identity
from runs.loading import forms
from runs.loading.faults import FaultCode, Findings
from runs.loading.schemas import admits_only_decimals, has_identified_items, read_schema
from runs.loading.tables import Table

JSON = Any

#: The key that describes the value of each kind: whole, or one element or item of it.
_SCHEMA_KEY = {FieldKind.EXCLUSIVE: "schema", FieldKind.SET: "item", FieldKind.LOG: "item"}


def read_fields(table: Table, slug: str) -> dict[str, Field]:
    """Every declared field, by name; one with faults is there too, so that its name is known."""
    return {name: _read_field(name, below, slug) for name, below in table.tables(forms.NAME)}


def _read_field(name: str, table: Table, slug: str) -> Field:
    if name in RESERVED_NAMES:
        table.findings.refuse(table.place, FaultCode.RESERVED_NAME, f"`{name}` is told of every run already.")
    kind = table.choice("kind", FieldKind)
    field = Field(
        name=name,
        kind=kind,
        schema=_read_value_schema(table, kind, f"urn:workflow:{slug}:field:{name}"),
        initial=table.value("initial"),
        owner=table.text("owner", forms.SCOPE, default="") or None,
        material=table.flag("material"),
    )
    table.close()
    _check_initial(table, field)
    return field


def _read_value_schema(table: Table, kind: FieldKind, uri: str) -> Mapping[str, JSON]:
    if table.findings.touches(table.at("kind")):
        return {}
    key = _SCHEMA_KEY.get(kind)
    schema = {} if key is None else read_schema(table, key, uri) or {}
    if kind is FieldKind.LOG and not table.findings.touches(table.at("item")) and not has_identified_items(schema):
        words = "An item of a log is an object that requires `id`, a text."
        table.refuse("item", FaultCode.LOG_ITEM_WITHOUT_ID, words)
    return schema


def _check_initial(table: Table, field: Field) -> None:
    if field.initial is None or table.findings.touches(table.place):
        return
    if not field.validator.is_valid(field.initial):
        table.refuse("initial", FaultCode.DOES_NOT_FIT, f"No `{field.name}` can hold this.")
    elif field.kind is FieldKind.LOG and len({identity(item["id"]) for item in field.initial}) < len(field.initial):
        table.refuse("initial", FaultCode.DUPLICATE, "Every item of a log has an id of its own.")


def is_amount(field: Field) -> bool:
    """Whether a field holds one decimal number, written as a text, and nothing else."""
    return field.kind is FieldKind.EXCLUSIVE and admits_only_decimals(field.schema)


class Fields:
    """The declared fields, as other parts of the definition refer to them."""

    def __init__(self, declared: Mapping[str, Field], findings: Findings) -> None:
        self.declared = declared
        self._findings = findings

    def sound(self, name: str) -> Field | None:
        """The field of this name, unless there is none or it has faults of its own."""
        return None if self._findings.touches(f"fields.{name}") else self.declared.get(name)

    def referred(self, name: str, place: str) -> Field | None:
        """The field that `place` refers to; a name that nobody declared is a fault there."""
        if name not in self.declared:
            self._findings.refuse(place, FaultCode.UNKNOWN_FIELD, f"No field is called “{name}”.")
        return self.sound(name)

    def refer_all(self, names: tuple[str, ...], place: str) -> frozenset[str]:
        """The declared ones among the names of a list; each other one is a fault."""
        for index, name in enumerate(names):
            self.referred(name, f"{place}[{index}]")
        return frozenset(names) & self.declared.keys()
