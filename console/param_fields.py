"""From the JSON Schema of a parameter to the input that a person fills in.

A choice becomes a select, a decimal a field for digits, a long text a field of several lines, an item of a log one
input for each of its members, its id made by the page. What none of these can show is typed as JSON. Nothing here
decides what is acceptable: the schema itself does, when the command is applied.
"""

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms

from runs.definitions import Command, compile_schema
from runs.fields import Verb, identity
from runs.loading.schemas import admits_only_decimals

JSON = Any

#: A text that may be longer than this gets a field of several lines.
ONE_LINE = 300
DECIMAL_SAMPLES = ("45.00", "45", "45.0", "45.000")


class Text(forms.CharField):
    """A text as it was typed: nothing is cut off on the way, and a line ends with LF whatever the browser sends."""

    def to_python(self, value: Any) -> str:
        text = super().to_python(value) or ""
        return text.replace("\r\n", "\n")

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        # A browser cuts what is pasted beyond `maxlength` without a word; a refusal is honest.
        return {name: value for name, value in super().widget_attrs(widget).items() if name != "maxlength"}


class Lines(Text):
    """A list with one entry on each line; empty lines do not count."""

    def clean(self, value: Any) -> list[str]:
        return [line.strip() for line in super().clean(value).splitlines() if line.strip()]


class AnyJSON(Text):
    """A value that is typed as JSON."""

    def clean(self, value: Any) -> JSON:
        try:
            return json.loads(super().clean(value))
        except (ValueError, RecursionError):
            raise forms.ValidationError("This is no JSON.", code="not-json") from None


@dataclass(frozen=True, slots=True)
class ParamField:
    """One input of a form: its name there, the place of its value in the parameters, and how it is asked for."""

    name: str
    path: tuple[str, ...]
    field: forms.Field


def param_fields(command: Command, values: Mapping[str, JSON]) -> Iterator[ParamField]:
    """The inputs for the parameters of `command`, prefilled with what the record holds now."""
    for name, given in command.params.items():
        op = next((op for op in command.effects if op.value == f"{{{name}}}"), None)
        current = values.get(op.field) if op else None
        schema = _plain(given)
        if _is_flat(schema):
            yield from _members(name, schema)
        elif op and op.verb is Verb.REMOVE and _all_texts(current):
            yield ParamField(f"params.{name}", (name,), _one_of(name, current))
        else:
            initial = current if op and op.verb is Verb.SET else None
            yield ParamField(f"params.{name}", (name,), _field(name, schema, initial))


def _plain(schema: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """The schema that says how to ask: of several that must all fit, the first."""
    return schema["allOf"][0] if "allOf" in schema else schema


def _is_flat(schema: Mapping[str, JSON]) -> bool:
    """Whether an object has only members that a simple input can show, all of them required."""
    members = schema.get("properties", {})
    simple = all("enum" in below or below.get("type") in ("string", "integer", "boolean") for below in members.values())
    return schema.get("type") == "object" and simple and set(schema.get("required", ())) == set(members)


def _members(name: str, schema: Mapping[str, JSON]) -> Iterator[ParamField]:
    for member, below in schema["properties"].items():
        path = (name, member)
        if member == "id":
            minted = f"{name[0]}-{secrets.token_hex(4)}"
            yield ParamField(
                ".".join(("params", *path)), path, forms.CharField(initial=minted, widget=forms.HiddenInput)
            )
        else:
            yield ParamField(".".join(("params", *path)), path, _field(member, below, None))


def _all_texts(value: JSON) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(element, str) for element in value)


def _one_of(name: str, present: Any) -> forms.Field:
    """One of the elements that are there. Another one is not refused here: the record may have moved."""
    choices = [("", "Choose …"), *((element, element) for element in present)]
    return Text(label=_label(name), strip=False, widget=forms.Select(choices=choices))


def _field(name: str, schema: Mapping[str, JSON], current: JSON) -> forms.Field:
    label = _label(name)
    if "enum" in schema:
        return _choice(label, schema["enum"], current)
    match schema.get("type"):
        case "string":
            return _text(label, schema, current)
        case "integer":
            least, most = schema.get("minimum"), schema.get("maximum")
            return forms.IntegerField(label=label, initial=current, min_value=least, max_value=most)
        case "boolean":
            return forms.BooleanField(label=label, initial=current, required=False)
        case _:
            widget = forms.Textarea(attrs={"rows": 3, "class": "mono"})
            initial = None if current is None else json.dumps(current, ensure_ascii=False)
            return AnyJSON(label=label, initial=initial, widget=widget, help_text="Typed as JSON.")


def _label(name: str) -> str:
    return name.replace("_", " ").replace("-", " ").capitalize()


def _choice(label: str, values: Sequence[JSON], current: JSON) -> forms.Field:
    shown = [(identity(value), value if isinstance(value, str) else identity(value)) for value in values]
    initial = "" if current is None else identity(current)
    return forms.TypedChoiceField(
        label=label, choices=[("", "Choose …"), *shown], initial=initial, coerce=json.loads,
        error_messages={"invalid_choice": "Choose one of the values in the list."},
    )  # fmt: skip


def _text(label: str, schema: Mapping[str, JSON], current: JSON) -> forms.Field:
    longest = schema.get("maxLength")
    options: dict[str, Any] = {"label": label, "initial": current, "max_length": longest}
    if admits_only_decimals(schema):
        options["widget"] = forms.TextInput(attrs={"inputmode": "decimal", "class": "mono", "autocomplete": "off"})
        fits = compile_schema(schema).is_valid
        options["help_text"] = next((f"Written like {sample}." for sample in DECIMAL_SAMPLES if fits(sample)), "")
    elif longest and longest > ONE_LINE:
        options |= {"widget": forms.Textarea(attrs={"rows": 3}), "strip": False}
    else:
        options["widget"] = forms.TextInput(attrs={"autocomplete": "off"})
    return Text(**options)


def as_typed(item: ParamField, params: Mapping[str, JSON]) -> Any:
    """What somebody would have typed into this input to say what `params` say; None where they say nothing."""
    value: JSON = params
    for step in item.path:
        value = value.get(step) if isinstance(value, Mapping) else None
    if isinstance(item.field, forms.TypedChoiceField):
        return None if value is None else identity(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(item.field, AnyJSON) else value
