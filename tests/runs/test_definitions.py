"""Definitions as values: first values, schemas, operations with their parameters, and who writes what."""

from pathlib import Path
from typing import Any

import pytest

from runs.definitions import MAX_COUNT, RESERVED_NAMES, Command, Field, Workflow, compile_schema, schema_faults
from runs.errors import Fault
from runs.fields import FieldKind, Op, Verb
from runs.loading import load_workflow
from runs.states import LEGAL_STEPS, Disposition, RunStatus

JSON = Any

DEFINITIONS = Path(__file__).parents[2] / "runs/workflows"
TEXT = {"type": "string", "maxLength": 5}
ITEM = {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}


@pytest.fixture(scope="module")
def refund() -> Workflow:
    return load_workflow((DEFINITIONS / "refund.toml").read_text(encoding="utf-8")).workflow


@pytest.fixture(scope="module")
def report() -> Workflow:
    return load_workflow((DEFINITIONS / "report.toml").read_text(encoding="utf-8")).workflow


# ---- fields ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (Field("stage", FieldKind.EXCLUSIVE, TEXT), None),
        (Field("stage", FieldKind.EXCLUSIVE, TEXT, initial="open"), "open"),
        (Field("tags", FieldKind.SET, TEXT), []),
        (Field("tags", FieldKind.SET, TEXT, initial=["new"]), ["new"]),
        (Field("notes", FieldKind.LOG, ITEM), []),
        (Field("calls", FieldKind.COUNTER, {}), 0),
        (Field("calls", FieldKind.COUNTER, {}, initial=3), 3),
    ],
)
def test_a_field_starts_with_its_initial_value_or_empty(field: Field, value: JSON) -> None:
    assert field.first_value == value


@pytest.mark.parametrize(
    ("kind", "schema", "value", "fits"),
    [
        (FieldKind.EXCLUSIVE, TEXT, "open", True),
        (FieldKind.EXCLUSIVE, TEXT, "opened", False),
        (FieldKind.EXCLUSIVE, TEXT, ["open"], False),
        (FieldKind.SET, TEXT, ["a", "b"], True),
        (FieldKind.SET, TEXT, "a", False),
        (FieldKind.SET, TEXT, ["a", 1], False),
        (FieldKind.SET, TEXT, ["a", "a"], False),
        (FieldKind.SET, {}, [1, True], True),
        (FieldKind.SET, {}, [1, 1.0], False),
        (FieldKind.LOG, ITEM, [{"id": "a"}, {"id": "b"}], True),
        (FieldKind.LOG, ITEM, [{"text": "a"}], False),
        (FieldKind.COUNTER, {}, 0, True),
        (FieldKind.COUNTER, {}, MAX_COUNT, True),
        (FieldKind.COUNTER, {}, MAX_COUNT + 1, False),
        (FieldKind.COUNTER, {}, -1, False),
        (FieldKind.COUNTER, {}, "1", False),
    ],
)
def test_a_whole_value_is_checked_by_its_kind(kind: FieldKind, schema: JSON, value: JSON, fits: bool) -> None:
    assert Field("field", kind, schema).validator.is_valid(value) is fits


# ---- schemas ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schema", [{"type": "text"}, {"pattern": "("}, {"$ref": "https://example.org/a"}, {"$ref": "#/$defs/a"}]
)
def test_what_is_no_schema_or_leads_outside_is_refused(schema: JSON) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        compile_schema(schema)


def test_every_misfit_has_its_pointer() -> None:
    schema = {"properties": {"a/b": {"items": TEXT}, "c~d": TEXT}, "required": ["e"]}

    faults = schema_faults(compile_schema(schema), {"a/b": ["x", 3], "c~d": "too long"}, "/params")

    places = {(fault.pointer, fault.code) for fault in faults}
    assert places == {("/params", "required"), ("/params/a~1b/1", "type"), ("/params/c~0d", "maxLength")}
    assert all(isinstance(fault, Fault) and fault.detail for fault in faults)


def test_a_pattern_ends_at_the_end_of_the_text() -> None:
    validator = compile_schema({"type": "string", "pattern": r"^\d+\.\d{2}$"})

    assert validator.is_valid("10.00")
    assert not validator.is_valid("10.00\n")
    assert not validator.is_valid("١٠.٠٠")


# ---- commands --------------------------------------------------------------------------------------------


def test_operations_take_their_values_from_the_parameters(refund: Workflow) -> None:
    command = refund.commands["set-refund-amount"]

    ops = command.ops({"amount": "30.00", "currency": "EUR"})

    assert ops == (Op("refund_amount", Verb.SET, "30.00"), Op("currency", Verb.SET, "EUR"))


def test_a_parameter_that_looks_like_a_placeholder_is_not_filled_again(refund: Workflow) -> None:
    command = refund.commands["set-refund-amount"]

    assert command.ops({"amount": "{currency}", "currency": "EUR"})[0].value == "{currency}"


def test_literals_stay_as_they_are(refund: Workflow) -> None:
    assert refund.commands["close-case"].ops({}) == (Op("case_state", Verb.SET, "closed"),)
    assert refund.commands["record-contact"].ops({}) == (Op("contact_attempts", Verb.INCREMENT, 1),)


@pytest.mark.parametrize(
    ("value", "param"),
    [("{amount}", "amount"), ("(amount)", None), ("{amount", None), ("{other}", None), ("amount", None), (3, None)],
)
def test_only_a_whole_placeholder_stands_for_a_parameter(value: JSON, param: str | None) -> None:
    command = Command("c", "C", "s:c", params={"amount": {}}, effects=(Op("sum", Verb.SET, value),))

    assert command.param_of("sum") == param
    assert command.ops({"amount": 7})[0].value == (7 if param else value)


def test_a_field_that_a_command_does_not_write_has_no_parameter(refund: Workflow) -> None:
    assert refund.commands["set-refund-amount"].param_of("recipient") is None


@pytest.mark.parametrize(
    ("params", "codes"),
    [
        ({"amount": "30.00", "currency": "EUR"}, []),
        ({"amount": "30", "currency": "EUR"}, ["pattern"]),
        ({"amount": "0.00", "currency": "EUR"}, ["pattern"]),
        ({"amount": 30, "currency": "XXX"}, ["enum", "type"]),
        ({"amount": "30.00"}, ["required"]),
        ({"amount": "30.00", "currency": "EUR", "fee": "1.00"}, ["additionalProperties"]),
    ],
)
def test_a_command_takes_all_its_parameters_and_no_others(refund: Workflow, params: JSON, codes: list[str]) -> None:
    faults = schema_faults(refund.commands["set-refund-amount"].validator, params, "/params")

    assert sorted(fault.code for fault in faults) == codes


def test_a_command_tells_which_fields_it_writes(refund: Workflow, report: Workflow) -> None:
    assert refund.commands["set-refund-amount"].writes == {"refund_amount", "currency"}
    assert report.commands["start"].writes == frozenset()


# ---- workflows -------------------------------------------------------------------------------------------


def test_a_status_is_called_by_its_label_or_by_its_name(refund: Workflow) -> None:
    assert refund.label(RunStatus.WORKING) == "in handling"
    assert refund.label(RunStatus.READY_FOR_REVIEW) == "ready for review"


def test_every_workflow_has_the_built_in_commands(refund: Workflow) -> None:
    assert set(refund.builtins) == {"cancel", "reopen", "expire", "move-to-revision"}
    assert refund.command("cancel") is refund.builtins["cancel"]
    assert refund.command("set-category") is refund.commands["set-category"]
    assert refund.command("pay") is None
    assert refund.builtins["cancel"].scope == "refund:cancel"


def test_built_in_commands_change_the_status_by_legal_steps(refund: Workflow) -> None:
    for command in refund.builtins.values():
        assert command.otherwise is Disposition.RETRY
        if command.status is not None:
            assert all((start, command.status) in LEGAL_STEPS for start in command.allowed_in)


def test_a_workflow_declares_its_start_when_a_command_has_a_status(refund: Workflow, report: Workflow) -> None:
    assert report.declares_start
    assert not refund.declares_start


def test_the_facts_of_consent_are_all_that_an_action_shows_reads_and_requires(
    refund: Workflow, report: Workflow
) -> None:
    pay = refund.actions["pay"]

    assert pay.payload_fields == {"refund_amount", "currency", "recipient"}
    assert refund.material == {"refund_amount", "currency", "recipient"}
    assert refund.facts_of_consent(pay) == {"refund_amount", "currency", "recipient", "case_state"}
    assert report.facts_of_consent(report.actions["send"]) == {"question", "audience"}


def test_a_payload_that_the_request_supplies_shows_no_field(report: Workflow) -> None:
    assert report.actions["send"].payload is None
    assert report.actions["send"].payload_fields == frozenset()


def test_the_writers_of_a_field_are_known(refund: Workflow) -> None:
    assert [command.name for command in refund.writers("tags")] == ["add-tag", "remove-tag"]
    assert [command.name for command in refund.writers("currency")] == ["set-refund-amount"]
    assert refund.writers("nothing") == ()


def test_no_field_is_called_like_what_is_told_of_every_run() -> None:
    assert {"status", "active_snapshot", "revision"} == RESERVED_NAMES
