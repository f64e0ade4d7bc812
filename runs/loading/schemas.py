"""Which JSON Schemas a definition may hold, and what they let in.

Pure.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from runs.definitions import compile_schema
from runs.loading.faults import FaultCode
from runs.loading.tables import Table

JSON = Any

#: Keywords that point at a schema, and those that would move or change what pointers mean.
_POINTERS = ("$ref", "$dynamicRef", "$recursiveRef")
_ANCHORS = ("$id", "$schema")

#: Keywords whose values are data, not schemas, and those that hold schemas under names of any kind.
_DATA = frozenset({"const", "default", "enum", "examples"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})

_DECIMAL = re.compile(r"[0-9]+(\.[0-9]+)?")
_DECIMALS = tuple("1" * whole + ("." + "1" * part if part else "") for whole, part in product(range(1, 10), range(7)))
_NO_DECIMALS = ("", " ", "a", "1a", "a1", "1e3", "-1", "-1.11", "+1.11", "1,11", "1.1.1", " 1.11", "1.11 ", "1.11\n",
                ".11", "1.", "0x1", "NaN", "Infinity", "١.١١")  # fmt: skip


def read_schema(table: Table, key: str, uri: str) -> dict[str, JSON] | None:
    """The JSON Schema under `key`, ready to be embedded in others; None, with its fault, where there is none.

    A schema with references inside itself becomes a resource of its own under `uri`, so that they
    still lead to the same place when the schema is part of a larger one.
    """
    if not table.has(key):
        table.missing(key)
        return None
    schema = table.value(key)
    if not isinstance(schema, dict):
        if not table.findings.touches(table.at(key)):
            table.refuse(key, FaultCode.WRONG_TYPE, "A schema is a table.")
        return None
    if pointers := [target for target in _pointers(schema) if not target.startswith("#")]:
        words = f"A schema stands alone: it may refer to its own parts with “#…”, not to {pointers[0]}."
        table.refuse(key, FaultCode.SCHEMA_REFERENCE, words)
        return None
    try:
        compile_schema(schema)
    except ValueError as error:
        table.refuse(key, FaultCode.BAD_SCHEMA, f"This is no JSON Schema: {str(error).splitlines()[0]}.")
        return None
    return {"$id": uri, **schema} if list(_pointers(schema)) else schema


def _pointers(schema: JSON) -> Iterator[str]:
    """Everything that a schema refers to; its own address counts, because it would move the others."""
    if isinstance(schema, list):
        for item in schema:
            yield from _pointers(item)
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        if keyword in _POINTERS + _ANCHORS and isinstance(value, str):
            yield value
        elif keyword in _NAMED and isinstance(value, dict):
            yield from _pointers(list(value.values()))
        elif keyword not in _DATA:
            yield from _pointers(value)


def has_identified_items(schema: Mapping[str, JSON]) -> bool:
    """Whether every value is an object with a text `id`, as the items of a log must be."""
    identity = schema.get("properties", {}).get("id", {})
    is_text = isinstance(identity, dict) and identity.get("type") == "string"
    return schema.get("type") == "object" and "id" in schema.get("required", ()) and is_text


def admits_only_decimals(schema: Mapping[str, JSON]) -> bool:
    """Whether a schema lets decimal numbers in, written as texts, and nothing else, as far as samples tell."""
    if schema.get("type", "string") != "string":
        return False
    if "enum" in schema:
        return all(isinstance(value, str) and _DECIMAL.fullmatch(value) for value in schema["enum"])
    validator = compile_schema({"type": "string", **schema})
    return any(map(validator.is_valid, _DECIMALS)) and not any(map(validator.is_valid, _NO_DECIMALS))
