"""Bodies as shapes: what a dataclass declares is what enters, and what is documented."""

from dataclasses import dataclass, field
from typing import Annotated

import jsonschema_rs
import pytest

from console.rules import Flag
from console.shapes import Evidence, Id, Params, Reason, Version, read_shape, schema_of
from runs.errors import InvalidParams, Malformed


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A body with required and optional members."""

    id: Id
    reason: Reason
    run_version: Version | None = None
    evidence: Evidence = ()
    params: Params = field(default_factory=dict)
    urgent: Annotated[bool, Flag()] = False


FULL = {"id": "c", "reason": "r", "run_version": 7, "evidence": ["e"], "params": {"a": 1}, "urgent": True}


def test_a_body_becomes_the_shape_it_has() -> None:
    claim = read_shape(Claim, FULL)

    assert claim == Claim(id="c", reason="r", run_version=7, evidence=("e",), params={"a": 1}, urgent=True)


def test_members_with_a_default_may_be_absent_or_null() -> None:
    absent = read_shape(Claim, {"id": "c", "reason": "r"})
    null = read_shape(Claim, {**dict.fromkeys(FULL), "id": "c", "reason": "r"})

    assert absent == null == Claim(id="c", reason="r")


def test_a_required_member_may_be_neither_absent_nor_null() -> None:
    with pytest.raises(InvalidParams) as absent:
        read_shape(Claim, {})
    with pytest.raises(InvalidParams) as null:
        read_shape(Claim, {"id": "c", "reason": None})

    assert [(fault.pointer, fault.code) for fault in absent.value.errors] == [
        ("/id", "missing"),
        ("/reason", "missing"),
    ]
    assert [(fault.pointer, fault.code) for fault in null.value.errors] == [("/reason", "type")]


def test_unknown_members_and_ill_formed_ids_are_told_together_and_first() -> None:
    with pytest.raises(Malformed) as refused:
        read_shape(Claim, {"id": "", "reason": "", "status": "approved", "a/b": 1})

    assert {fault.pointer for fault in refused.value.errors} == {"/status", "/a~1b", "/id"}


def test_a_refusal_of_unknown_members_is_bounded() -> None:
    strangers = {f"stranger-{number}": 1 for number in range(5000)} | {"x" * 5000: 1}

    with pytest.raises(Malformed) as refused:
        read_shape(Claim, {"id": "c", "reason": "r", **strangers})

    assert len(refused.value.errors) == 20


def test_an_unknown_member_too_long_to_repeat_is_shown_as_the_body() -> None:
    with pytest.raises(Malformed) as refused:
        read_shape(Claim, {"id": "c", "reason": "r", "x" * 5000: 1})

    assert [fault.pointer for fault in refused.value.errors] == [""]


def test_the_documented_schema_accepts_and_refuses_the_same() -> None:
    schema = schema_of(Claim)

    assert jsonschema_rs.is_valid(schema, FULL)
    assert jsonschema_rs.is_valid(schema, {**dict.fromkeys(FULL), "id": "c", "reason": "r"})
    for refused in ({}, {"id": "c"}, {**FULL, "stranger": 1}, {**FULL, "id": "a b"}, {**FULL, "run_version": 0}):
        assert not jsonschema_rs.is_valid(schema, refused)
    assert schema["required"] == ["id", "reason"]
