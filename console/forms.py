"""Forms for commands: what a person types, read through the same strict door as the body of an API request.

A form is drawn for one version of a run and carries an id of its own, so sending it twice is one request. Whether
the parameters are acceptable is judged in the action; its faults come back to the inputs they belong to.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django import forms
from django.forms.boundfield import BoundField
from uuid6 import uuid7

from console import rules
from console.inputs import parse_if_match
from console.param_fields import Lines, Text, param_fields
from console.rules import Rule
from console.shapes import LONGEST_REASON, LONGEST_REFERENCE, MOST_REFERENCES
from runs.definitions import Command
from runs.digest import parse_json, pointer
from runs.errors import Fault, InputError, TooLarge
from runs.values import CommandRequest

JSON = Any

#: What one form may say at most, like the body of an API request.
LARGEST_BODY = 1024 * 1024


def new_id() -> str:
    """The id of a request, made when its form is drawn."""
    return str(uuid7())


def _by_the_rule(rule: Rule, value: JSON) -> None:
    """Raise what the API would say of this value, as the form's own error."""
    try:
        rule.read(value, "")
    except InputError as refusal:
        raise forms.ValidationError(refusal.errors[0].detail) from None


class Reason(Text):
    """Why, by the same rule as in the API: shown to those concerned and kept in the ledger."""

    def __init__(self, **options: Any) -> None:
        errors = {"required": "Say why, in a few words."}
        super().__init__(widget=forms.Textarea(attrs={"rows": 2}), error_messages=errors, **options)

    def validate(self, value: str) -> None:
        super().validate(value)
        _by_the_rule(rules.Text(LONGEST_REASON), value)


class Evidence(Lines):
    """References to what a command rests on, by the same rule as in the API."""

    def __init__(self, **options: Any) -> None:
        super().__init__(required=False, widget=forms.Textarea(attrs={"rows": 1}), **options)

    def clean(self, value: Any) -> list[str]:
        references = super().clean(value)
        _by_the_rule(rules.Items(rules.Text(LONGEST_REFERENCE), MOST_REFERENCES), references)
        return references


class RequestId(forms.RegexField):
    """The id of the request, made when the form was drawn."""

    def __init__(self) -> None:
        super().__init__(r"^[\x21-\x7e]{1,200}$", widget=forms.HiddenInput)


class SeenVersion(forms.RegexField):
    """The version the form was drawn for, with the epoch of the ledger, as in the tags of the API."""

    def __init__(self) -> None:
        super().__init__(r"^[1-9][0-9]{0,17}\.[1-9][0-9]{0,17}$", widget=forms.HiddenInput)


def expected_version(seen: str, epoch: int) -> int:
    """The version that a form was drawn for; `UNKNOWN_BASE` when that was in another epoch of the ledger."""
    return parse_if_match(f'"{seen}"', epoch=epoch)


def tell_hidden_faults(form: forms.Form) -> None:
    """Say above the form when what it carries is not as it was drawn: nobody sees a fault of a hidden input."""
    if any(form.fields[name].widget.is_hidden for name in form.errors if name in form.fields):
        form.add_error(None, "This form is not as it was drawn. Open it again; what you typed is kept.")


class ParamsForm(forms.Form):
    """The parameters of one command, prefilled with what the record holds now."""

    def __init__(self, command: Command, values: Mapping[str, JSON], *args: Any, **options: Any) -> None:
        options.setdefault("auto_id", f"{command.name}-%s")
        super().__init__(*args, **options)
        self.command = command
        self.param_fields = tuple(param_fields(command, values))
        self.fields.update({item.name: item.field for item in self.param_fields})
        self._keep_choices()

    def _keep_choices(self) -> None:
        """What was chosen stays on offer when the record has lost it meanwhile."""
        for item in self.param_fields:
            widget, typed = item.field.widget, self.data.get(self.add_prefix(item.name)) or self.initial.get(item.name)
            if isinstance(item.field, Text) and isinstance(widget, forms.Select) and typed:
                widget.choices = [*widget.choices, *([] if (typed, typed) in widget.choices else [(typed, typed)])]

    @property
    def inputs(self) -> list[BoundField]:
        """The visible inputs of the parameters, in their order."""
        return [self[item.name] for item in self.param_fields if not item.field.widget.is_hidden]

    def params(self) -> dict[str, JSON]:
        """The parameters, as far as they could be read."""
        params: dict[str, JSON] = {}
        for item in self.param_fields:
            if item.name in self.cleaned_data:
                below = params
                for step in item.path[:-1]:
                    below = below.setdefault(step, {})
                below[item.path[-1]] = self.cleaned_data[item.name]
        return params

    def body(self) -> dict[str, JSON]:
        """What this form says, as the body of a request."""
        return {"params": self.params()}

    def clean(self) -> dict[str, Any]:
        try:
            parse_json(json.dumps(self.body()).encode(), max_bytes=LARGEST_BODY)
        except InputError as refusal:
            self.add_faults(refusal.errors)
        except TooLarge as refusal:
            self.add_error(None, refusal.detail)
        tell_hidden_faults(self)
        return self.cleaned_data

    def add_faults(self, faults: Sequence[Fault]) -> None:
        """Show each fault at the input it belongs to, or above the form where there is none."""
        for fault in faults:
            name = next((name for name, place in self._places() if _is_below(fault.pointer, place)), None)
            if name is None or name not in self.errors:
                self.add_error(name, self._words(name, fault))

    def _places(self) -> Iterator[tuple[str, str]]:
        for item in self.param_fields:
            yield item.name, pointer("params", *item.path)
        for name in self.fields:
            yield name, pointer(name)

    def _words(self, name: str | None, fault: Fault) -> str:
        """A pattern means nothing to people; the hint beside the input does."""
        if name is None or fault.code != "pattern":
            return fault.detail
        return f"This is not accepted here. {self.fields[name].help_text}".strip()

    def typed(self) -> dict[str, Any]:
        """What was typed, as it came."""
        return {name: self.data[self.add_prefix(name)] for name in self.fields if self.add_prefix(name) in self.data}


class CommandForm(ParamsForm):
    """One command on a run, drawn for one version of it."""

    id = RequestId()
    seen = SeenVersion()
    evidence = Evidence(label="References", help_text="What this rests on, such as message:m4; one on each line.")
    reason = Reason(help_text="Kept in the ledger with your name.")

    def __init__(self, command: Command, values: Mapping[str, JSON], *args: Any, **options: Any) -> None:
        super().__init__(command, values, *args, **options)
        self.order_fields([item.name for item in self.param_fields])

    @classmethod
    def drawn(
        cls, command: Command, values: Mapping[str, JSON], seen: str, typed: Mapping[str, Any] | None = None
    ) -> "CommandForm":
        """A form to be filled in for the version `seen`, with what was `typed` already; its id is new."""
        return cls(command, values, initial={**(typed or {}), "id": new_id(), "seen": seen})

    def body(self) -> dict[str, JSON]:
        said = {name: self.cleaned_data[name] for name in ("reason", "evidence") if name in self.cleaned_data}
        return super().body() | said

    def request(self, *, hand_over: bool = False) -> CommandRequest:
        """The command that was asked for, from a valid form."""
        given = self.cleaned_data
        return CommandRequest(
            id=given["id"],
            name=self.command.name,
            params=self.params(),
            reason=given["reason"],
            evidence=tuple(given["evidence"]),
            hand_over=hand_over,
        )


def _is_below(where: str, place: str) -> bool:
    return where == place or where.startswith(f"{place}/")
