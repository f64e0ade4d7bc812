"""Forms for commands: from the schema of a parameter to an input, and back to parameters."""

from collections.abc import Mapping
from typing import Any

import pytest
from django import forms
from django.http import QueryDict

from console.forms import CommandForm, ParamsForm, expected_version
from console.param_fields import as_typed, param_fields
from runs.definitions import Command
from runs.errors import Fault, MalformedPrecondition
from runs.fields import Op, Verb
from runs.values import UNKNOWN_BASE

JSON = Any

MONEY = {"type": "string", "pattern": "^(?!0{1,9}\\.00$)[0-9]{1,9}\\.[0-9]{2}$"}
NOTE = {
    "type": "object",
    "required": ["id", "text"],
    "additionalProperties": False,
    "properties": {"id": {"type": "string"}, "text": {"type": "string", "maxLength": 20000}},
}


def command(schema: Mapping[str, JSON], verb: Verb = Verb.SET) -> Command:
    """A command that writes its only parameter to the field `target`."""
    effects = (Op("target", verb, "{value}"),)
    return Command("change", "Change it", "demo:change", params={"value": schema}, effects=effects)


def field(schema: Mapping[str, JSON], current: JSON = None, verb: Verb = Verb.SET) -> forms.Field:
    (found,) = param_fields(command(schema, verb), {"target": current})
    return found.field


def sent(schema: Mapping[str, JSON], verb: Verb = Verb.SET, current: JSON = None, **typed: str) -> ParamsForm:
    """The form as it was sent with this typed."""
    data = QueryDict(mutable=True)
    data.update({f"params.{name}": value for name, value in typed.items()})
    return ParamsForm(command(schema, verb), {"target": current}, data)


# ---- inputs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "field_type", "widget"),
    [
        ({"enum": ["a", "b"]}, forms.TypedChoiceField, forms.Select),
        ({"type": "string"}, forms.CharField, forms.TextInput),
        ({"type": "string", "maxLength": 300}, forms.CharField, forms.TextInput),
        ({"type": "string", "maxLength": 301}, forms.CharField, forms.Textarea),
        (MONEY, forms.CharField, forms.TextInput),
        ({"type": "integer"}, forms.IntegerField, forms.NumberInput),
        ({"type": "boolean"}, forms.BooleanField, forms.CheckboxInput),
        ({"type": "array"}, forms.CharField, forms.Textarea),
        ({}, forms.CharField, forms.Textarea),
        ({"allOf": [{"enum": ["a"]}, {"type": "string"}]}, forms.TypedChoiceField, forms.Select),
    ],
)
def test_a_schema_decides_how_a_parameter_is_asked_for(
    schema: Mapping[str, JSON], field_type: type[forms.Field], widget: type[forms.Widget]
) -> None:
    found = field(schema)

    assert isinstance(found, field_type)
    assert isinstance(found.widget, widget)


def test_money_is_asked_for_with_an_example_that_fits() -> None:
    found = field(MONEY)

    assert found.help_text == "Written like 45.00."
    assert found.widget.attrs["inputmode"] == "decimal"


def test_a_value_that_is_set_is_prefilled_with_what_holds_now() -> None:
    assert field(MONEY, "30.00").initial == "30.00"
    assert field({"enum": ["a", "b"]}, "b").initial == '"b"'
    assert field({"type": "array"}, [1]).initial == "[1]"
    assert field({"type": "string"}, "vip", Verb.ADD).initial is None


def test_an_item_of_a_log_has_an_input_for_each_member_and_an_id_of_its_own() -> None:
    first, second = ({item.name: item.field for item in param_fields(command(NOTE, Verb.APPEND), {})} for _ in "12")

    assert list(first) == ["params.value.id", "params.value.text"]
    assert first["params.value.id"].widget.is_hidden
    assert first["params.value.id"].initial != second["params.value.id"].initial


def test_removing_offers_what_is_there() -> None:
    found = field({"type": "string"}, ["late", "vip"], Verb.REMOVE)

    assert [value for value, _ in found.widget.choices] == ["", "late", "vip"]


def test_a_chosen_element_stays_on_offer_when_the_record_has_lost_it() -> None:
    form = sent({"type": "string"}, Verb.REMOVE, ["vip"], value="late")

    assert form.is_valid()
    assert form.params() == {"value": "late"}
    assert '<option value="late" selected>' in str(form["params.value"])


def test_nothing_that_is_pasted_is_cut_off_by_the_browser() -> None:
    assert "maxlength" not in str(sent({"type": "string", "maxLength": 3}, value="abcd")["params.value"])


# ---- parameters ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "typed", "value"),
    [
        ({"enum": ["a", 1, None]}, '"a"', "a"),
        ({"enum": ["a", 1, None]}, "1", 1),
        ({"enum": ["a", 1, None]}, "null", None),
        ({"type": "string"}, " with blanks ", "with blanks"),
        ({"type": "string", "maxLength": 999}, "one\r\ntwo\n ", "one\ntwo\n "),
        ({"type": "integer"}, "42", 42),
        ({"type": "boolean"}, "on", True),
        ({"type": "array"}, '["a", {"b": 1}]', ["a", {"b": 1}]),
    ],
)
def test_what_is_typed_becomes_the_parameter(schema: Mapping[str, JSON], typed: str, value: JSON) -> None:
    form = sent(schema, value=typed)

    assert form.is_valid()
    assert form.params() == {"value": value}


@pytest.mark.parametrize("typed", ["", "{", "[1,", "[" * 100_000])
def test_what_is_no_json_is_said_at_its_field(typed: str) -> None:
    form = sent({"type": "array"}, value=typed)

    assert not form.is_valid()
    assert list(form.errors) == ["params.value"]


def test_what_goes_deeper_than_json_may_is_said_at_its_field() -> None:
    form = sent({"type": "array"}, value="[" * 40 + "]" * 40)

    assert not form.is_valid()
    assert "Nesting deeper than 32 is not accepted." in form.errors["params.value"]


@pytest.mark.parametrize("typed", ['["\\ud800"]', '["a\\u0000b"]', "[NaN]", "[1e999]", "[9007199254740993]"])
def test_what_no_record_could_hold_is_said_at_its_field(typed: str) -> None:
    form = sent({"type": "array"}, value=typed)

    assert not form.is_valid()
    assert list(form.errors) == ["params.value"]


def test_a_secret_is_refused_at_the_field_it_was_typed_into() -> None:
    form = sent({"type": "string"}, value="ghp_" + "a" * 36)

    assert not form.is_valid()
    assert "secret (GitHub token)" in str(form.errors["params.value"])


def test_faults_of_the_action_come_back_to_their_inputs() -> None:
    form = sent(NOTE, Verb.APPEND, **{"value.id": "n1", "value.text": "x"})
    assert form.is_valid()

    form.add_faults([
        Fault("/params/value/text", "maxLength", "Too long."),
        Fault("/params/other", "unknown", "There is no such parameter."),
    ])  # fmt: skip

    assert form.errors["params.value.text"] == ["Too long."]
    assert form.non_field_errors() == ["There is no such parameter."]


def test_a_pattern_is_not_shown_to_people() -> None:
    form = sent(MONEY, value="45")
    assert form.is_valid()

    form.add_faults([Fault("/params/value", "pattern", '"45" does not match "^(?!0{1,9}…"')])

    assert form.errors["params.value"] == ["This is not accepted here. Written like 45.00."]


@pytest.mark.parametrize(
    ("schema", "value"),
    [({"enum": ["a", 1]}, 1), ({"type": "string"}, "x"), ({"type": "array"}, [1, {"a": None}]), (MONEY, "45.00")],
)
def test_a_value_is_typed_as_somebody_would_have_typed_it(schema: Mapping[str, JSON], value: JSON) -> None:
    (item,) = param_fields(command(schema), {})

    typed = as_typed(item, {"value": value})

    form = sent(schema, value=typed)
    assert form.is_valid()
    assert form.params() == {"value": value}


def test_what_parameters_do_not_say_is_not_typed() -> None:
    for schema in (MONEY, {"enum": ["a"]}):
        (item,) = param_fields(command(schema), {})
        assert as_typed(item, {}) is None


# ---- a command -------------------------------------------------------------------------------------------------


def command_form(**typed: str) -> CommandForm:
    data = QueryDict(mutable=True)
    data.update({"id": "c-1", "seen": "1.21", "params.value": "45.00", "reason": "why", "evidence": ""} | typed)
    return CommandForm(command(MONEY), {"target": "30.00"}, data)


def test_a_form_asks_for_its_parameters_first() -> None:
    assert list(command_form().fields) == ["params.value", "id", "seen", "evidence", "reason"]


def test_a_form_becomes_a_request() -> None:
    form = command_form(evidence="message:m4\r\n\r\n  policy:2 ")
    assert form.is_valid()

    request = form.request(hand_over=True)

    assert (request.id, request.name, dict(request.params)) == ("c-1", "change", {"value": "45.00"})
    assert (request.reason, request.evidence, request.hand_over) == ("why", ("message:m4", "policy:2"), True)


def test_more_references_than_the_api_takes_are_refused() -> None:
    assert "evidence" in command_form(evidence="\n".join(map(str, range(101)))).errors


def test_every_form_that_is_drawn_has_an_id_of_its_own() -> None:
    first, second = (CommandForm.drawn(command(MONEY), {"target": None}, "1.21") for _ in "12")

    assert first["id"].value() != second["id"].value()
    assert first["seen"].value() == "1.21"


def test_a_form_is_drawn_again_with_what_was_typed() -> None:
    form = command_form()

    again = CommandForm.drawn(form.command, {"target": "31.00"}, "1.22", form.typed())

    assert again["params.value"].value() == "45.00"
    assert again["reason"].value() == "why"
    assert again["id"].value() != "c-1"
    assert again["seen"].value() == "1.22"


def test_a_parameter_may_be_called_like_a_part_of_the_form() -> None:
    named = Command("change", "Change", "demo:change", params={"reason": {"type": "string"}, "id": {"type": "string"}})
    data = QueryDict(mutable=True)
    data.update({"id": "c-1", "seen": "1.1", "reason": "why", "params.reason": "because", "params.id": "7"})

    form = CommandForm(named, {}, data)

    assert form.is_valid()
    assert form.request().params == {"reason": "because", "id": "7"}
    assert form.request().reason == "why"


def test_the_version_seen_counts_only_in_its_own_epoch() -> None:
    assert expected_version("1.21", epoch=1) == 21
    assert expected_version("1.21", epoch=2) == UNKNOWN_BASE
    with pytest.raises(MalformedPrecondition):
        expected_version("*", epoch=1)


def test_a_form_says_no_more_than_a_request_may() -> None:
    form = sent({"type": "string", "maxLength": 2_000_000}, value="x" * (1024 * 1024))

    assert not form.is_valid()
    assert form.non_field_errors() == ["The body is larger than this endpoint takes."]
