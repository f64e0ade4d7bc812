"""What single members of a body may be: each rule by a table, both ways, and against its own schema."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import jsonschema_rs
import pytest

from console.rules import (
    Amount,
    Choice,
    Entries,
    Flag,
    Hash,
    Identifier,
    Items,
    Moment,
    Object,
    Rule,
    Text,
    Whole,
)
from runs.digest import tagged
from runs.errors import InputError, InvalidParams, Malformed

HASH = tagged(b"")
SLUG = Text(10, "[a-z]+", "Lower-case letters.")
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)

ACCEPTED: list[tuple[Rule, Any, Any]] = [
    (Identifier(), "c-1", "c-1"),
    (Hash(), HASH, HASH),
    (Text(5), "  é  ", "  é  "),
    (Text(5), "12345", "12345"),
    (SLUG, "refund", "refund"),
    (Whole(), 0, 0),
    (Whole(1, 10), 10, 10),
    (Flag(), False, False),
    (Choice("apply", "keep"), "keep", "keep"),
    (Object(), {"any": [1]}, {"any": [1]}),
    (Items(Text(5)), [], ()),
    (Items(Text(5), 2), ["a", "b"], ("a", "b")),
    (Entries(Identifier()), {"research": "R-42:research:6:a"}, {"research": "R-42:research:6:a"}),
    (Moment(), "2026-11-30T12:00:00Z", NOON),
    (Moment(), "2026-11-30t13:00:00.000000+01:00", NOON),
    (Amount(), "30.00", Decimal("30.00")),
    (Amount(), "0", Decimal(0)),
]

REFUSED: list[tuple[Rule, Any, type[InputError], str]] = [
    (Identifier(), "a b", Malformed, "id-form"),
    (Hash(), HASH.upper(), Malformed, "hash-form"),
    (Text(5), 5, InvalidParams, "type"),
    (Text(5), None, InvalidParams, "type"),
    (Text(5), "123456", InvalidParams, "too-long"),
    (Text(5), "", InvalidParams, "blank"),
    (Text(5), " \t\n", InvalidParams, "blank"),
    (Text(5), "\u200b\u2060\ufeff", InvalidParams, "blank"),
    (Text(5), "\u3000\u00a0", InvalidParams, "blank"),
    (SLUG, "Refund", InvalidParams, "form"),
    (SLUG, "refund\n", InvalidParams, "form"),
    (Whole(), -1, InvalidParams, "range"),
    (Whole(1, 10), 11, InvalidParams, "range"),
    (Whole(), "7", InvalidParams, "type"),
    (Whole(), 7.0, InvalidParams, "type"),
    (Whole(), True, InvalidParams, "type"),
    (Flag(), 0, InvalidParams, "type"),
    (Flag(), "true", InvalidParams, "type"),
    (Choice("apply"), "Apply", InvalidParams, "choice"),
    (Choice("apply"), ["apply"], InvalidParams, "choice"),
    (Object(), [], InvalidParams, "type"),
    (Items(Text(5)), "ab", InvalidParams, "type"),
    (Items(Text(5), 2), ["a"] * 3, InvalidParams, "too-many"),
    (Entries(Text(5), 1), {"a": "b", "c": "d"}, InvalidParams, "too-many"),
    (Entries(Text(5)), [], InvalidParams, "type"),
    (Moment(), "2026-11-30", InvalidParams, "form"),
    (Moment(), "2026-11-30T12:00:00", InvalidParams, "form"),
    (Moment(), "2026-06-31T12:00:00Z", InvalidParams, "form"),
    (Moment(), "9999-12-31T23:59:59-10:00", InvalidParams, "form"),
    (Moment(), "2026-W48-1T12:00:00Z", InvalidParams, "form"),
    (Moment(), 1764504000, InvalidParams, "form"),
    (Amount(), 30, InvalidParams, "form"),
    (Amount(), "30.00000", InvalidParams, "form"),
    (Amount(), "-1", InvalidParams, "form"),
    (Amount(), "1e3", InvalidParams, "form"),
    (Amount(), "٣", InvalidParams, "form"),
    (Amount(), "030", InvalidParams, "form"),
    (Amount(), "NaN", InvalidParams, "form"),
]


@pytest.mark.parametrize(("rule", "value", "expected"), ACCEPTED)
def test_a_rule_reads_what_it_documents(rule: Rule, value: Any, expected: Any) -> None:
    assert rule.read(value, "/x") == expected
    assert jsonschema_rs.is_valid(rule.schema(), value)


@pytest.mark.parametrize(("rule", "value", "error", "code"), REFUSED)
def test_a_rule_refuses_with_its_place_and_never_repeats_the_value(
    rule: Rule, value: Any, error: type[InputError], code: str
) -> None:
    with pytest.raises(error) as refused:
        rule.read(value, "/x")

    assert [(fault.pointer, fault.code) for fault in refused.value.errors] == [("/x", code)]


def test_lists_and_free_objects_name_each_faulty_item() -> None:
    with pytest.raises(InvalidParams) as list_refused:
        Items(Text(5)).read(["a", 5, "", "b"], "/evidence")
    with pytest.raises(Malformed) as object_refused:
        Entries(Identifier()).read({"a/b": "", "c": "ok", "d": 7}, "/artifacts")

    assert [fault.pointer for fault in list_refused.value.errors] == ["/evidence/1", "/evidence/2"]
    assert [fault.pointer for fault in object_refused.value.errors] == ["/artifacts/a~1b", "/artifacts/d"]
