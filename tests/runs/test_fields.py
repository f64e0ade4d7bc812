"""Field kinds: what each verb does to each kind, what the ledger is told, and that it can be taken back."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.errors import ItemIdReused
from runs.fields import (
    VERBS,
    Change,
    FieldKind,
    Op,
    Verb,
    apply_op,
    element_of,
    empty,
    identity,
    opposes,
    same,
    undo,
)

JSON = Any

KNOWN_VERBS = [
    (FieldKind.EXCLUSIVE, Verb.SET),
    (FieldKind.SET, Verb.ADD),
    (FieldKind.SET, Verb.REMOVE),
    (FieldKind.LOG, Verb.APPEND),
    (FieldKind.COUNTER, Verb.INCREMENT),
]


def letter(id: str, text: str = "…") -> dict[str, str]:
    return {"id": id, "text": text}


@pytest.mark.parametrize("kind", FieldKind)
@pytest.mark.parametrize("verb", Verb)
def test_a_kind_knows_exactly_its_verbs(kind: FieldKind, verb: Verb) -> None:
    assert (verb in VERBS[kind]) == ((kind, verb) in KNOWN_VERBS)


@pytest.mark.parametrize(
    ("kind", "value"),
    [(FieldKind.EXCLUSIVE, None), (FieldKind.SET, []), (FieldKind.LOG, []), (FieldKind.COUNTER, 0)],
)
def test_a_field_that_nobody_wrote_is_empty(kind: FieldKind, value: JSON) -> None:
    assert empty(kind) == value


# ---- identity --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right", "are_same"),
    [
        (1, 1, True),
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (1, "1", False),
        (None, False, False),
        ("a", "A", False),
        ([], {}, False),
        ([1, 2], [2, 1], False),
        ({"a": 1, "b": [True]}, {"b": [True], "a": 1.0}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": None}, {}, False),
    ],
)
def test_values_are_one_when_their_canonical_json_is(left: JSON, right: JSON, are_same: bool) -> None:
    assert same(left, right) is are_same
    assert (identity(left) == identity(right)) is are_same


# ---- every verb ------------------------------------------------------------------------------------------

APPLIED: list[tuple[JSON, Verb, JSON, JSON, Change | None]] = [
    # exclusive
    (None, Verb.SET, "a", "a", {"from": None, "to": "a"}),
    ("a", Verb.SET, "b", "b", {"from": "a", "to": "b"}),
    ("a", Verb.SET, "a", "a", None),
    (1, Verb.SET, 1.0, 1, None),
    (1, Verb.SET, True, True, {"from": 1, "to": True}),
    # counter
    (0, Verb.INCREMENT, 1, 1, {"from": 0, "to": 1}),
    (2, Verb.INCREMENT, 3, 5, {"from": 2, "to": 5}),
    # set
    ([], Verb.ADD, "a", ["a"], {"added": ["a"]}),
    (["a"], Verb.ADD, "b", ["a", "b"], {"added": ["b"]}),
    (["a"], Verb.ADD, "a", ["a"], None),
    ([1], Verb.ADD, 1.0, [1], None),
    ([1], Verb.ADD, True, [1, True], {"added": [True]}),
    (["a", "b"], Verb.REMOVE, "a", ["b"], {"removed": ["a"]}),
    (["a"], Verb.REMOVE, "b", ["a"], None),
    ([], Verb.REMOVE, "a", [], None),
    ([1, True], Verb.REMOVE, True, [1], {"removed": [True]}),
    ([{"n": 1}], Verb.REMOVE, {"n": 1.0}, [], {"removed": [{"n": 1.0}]}),
    # log
    ([], Verb.APPEND, letter("m1"), [letter("m1")], {"appended": [letter("m1")]}),
    ([letter("m1")], Verb.APPEND, letter("m2"), [letter("m1"), letter("m2")], {"appended": [letter("m2")]}),
    ([letter("m1")], Verb.APPEND, letter("m1"), [letter("m1")], None),
]


@pytest.mark.parametrize(("value", "verb", "argument", "result", "change"), APPLIED)
def test_a_verb_gives_the_new_value_and_the_change(
    value: JSON, verb: Verb, argument: JSON, result: JSON, change: Change | None
) -> None:
    before = identity(value)

    applied = apply_op(value, Op("field", verb, argument))

    assert same(applied[0], result)
    assert applied[1] == change
    assert identity(value) == before  # the old value is untouched


def test_the_table_above_holds_every_verb() -> None:
    assert {verb for _, verb, *_ in APPLIED} == set(Verb)


def test_an_item_id_is_not_used_for_other_content() -> None:
    with pytest.raises(ItemIdReused) as refusal:
        apply_op([letter("m1", "yes")], Op("messages", Verb.APPEND, letter("m1", "no"), at="/params/message"))

    assert refusal.value.code == "item-id-reused"
    assert [fault.pointer for fault in refusal.value.errors] == ["/params/message/id"]


# ---- taking back -----------------------------------------------------------------------------------------

scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([0.5, 1.0]) | st.text("ab", max_size=2)
sets = st.lists(scalars, unique_by=identity, max_size=5)
logs = st.lists(
    st.builds(letter, st.text("abc", min_size=1, max_size=2)), unique_by=lambda item: item["id"], max_size=5
)


def elements(value: JSON) -> list[str]:
    return sorted(identity(element) for element in value)


@given(scalars, scalars)
def test_a_decision_is_taken_back(value: JSON, new: JSON) -> None:
    result, change = apply_op(value, Op("field", Verb.SET, new))

    assert same(undo(result, change) if change else result, value)


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_an_increment_is_taken_back(value: int, more: int) -> None:
    result, change = apply_op(value, Op("field", Verb.INCREMENT, more))

    assert change is not None
    assert undo(result, change) == value


@given(sets, st.lists(st.tuples(st.sampled_from([Verb.ADD, Verb.REMOVE]), scalars), max_size=8))
def test_any_changes_of_a_set_are_taken_back_in_turn(value: JSON, steps: list[tuple[Verb, JSON]]) -> None:
    result, changes = value, []
    for verb, element in steps:
        result, change = apply_op(result, Op("field", verb, element))
        changes += [change] if change else []

    for change in reversed(changes):
        result = undo(result, change)

    assert elements(result) == elements(value)


@given(logs, logs)
def test_appended_items_are_taken_back(value: JSON, more: JSON) -> None:
    result, changes = value, []
    for item in more:
        result, change = apply_op(result, Op("field", Verb.APPEND, item))
        changes += [change] if change else []

    for change in reversed(changes):
        result = undo(result, change)

    assert same(result, value)


@given(sets, scalars, scalars)
def test_changes_of_different_elements_commute(value: JSON, left: JSON, right: JSON) -> None:
    if same(left, right):
        return
    add, remove = Op("field", Verb.ADD, left), Op("field", Verb.REMOVE, right)

    one_way = apply_op(apply_op(value, add)[0], remove)[0]
    other_way = apply_op(apply_op(value, remove)[0], add)[0]

    assert elements(one_way) == elements(other_way)


# ---- elements and opposites ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "argument", "element"),
    [
        (Verb.SET, "a", None),
        (Verb.INCREMENT, 1, None),
        (Verb.ADD, "a", '"a"'),
        (Verb.REMOVE, 1.0, "1"),
        (Verb.APPEND, letter("m1"), '"m1"'),
    ],
)
def test_an_operation_writes_an_element_or_its_field_whole(verb: Verb, argument: JSON, element: str | None) -> None:
    assert element_of(Op("field", verb, argument)) == element


@pytest.mark.parametrize(
    ("verb", "argument", "change", "is_opposite"),
    [
        (Verb.ADD, "a", {"removed": ["a"]}, True),
        (Verb.ADD, 1, {"removed": [1.0]}, True),
        (Verb.ADD, 1, {"removed": [True]}, False),
        (Verb.ADD, "a", {"added": ["a"]}, False),
        (Verb.ADD, "a", {"removed": ["b"]}, False),
        (Verb.ADD, "a", {"added": ["b"], "removed": ["a"]}, True),
        (Verb.REMOVE, "a", {"added": ["a"]}, True),
        (Verb.REMOVE, "a", {"removed": ["a"]}, False),
        (Verb.SET, "a", {"from": "a", "to": "b"}, False),
        (Verb.INCREMENT, 1, {"from": 1, "to": 2}, False),
        (Verb.APPEND, letter("m1"), {"appended": [letter("m1")]}, False),
    ],
)
def test_only_the_other_change_of_the_same_element_opposes(
    verb: Verb, argument: JSON, change: Change, is_opposite: bool
) -> None:
    assert opposes(Op("field", verb, argument), change) is is_opposite
