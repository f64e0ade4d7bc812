"""The margin of an effect: verdicts, repairs, look-ups and confirmations as forms, and what became of sending one."""

import json
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import QueryDict

from console import rules
from console.forms import LARGEST_BODY, Reason, RequestId, new_id, tell_hidden_faults
from console.param_fields import Text
from console.problems import problem_of
from console.web.effect_case import EffectPage
from console.web.effect_choices import WaitingLine
from outbox.findings import RepairRequest, VerdictRequest
from outbox.states import Finding, RepairKind
from runs import store
from runs.digest import parse_json
from runs.errors import ClearanceError, InputError

JSON = Any

LONGEST_EVIDENCE, LONGEST_ID = 4000, 200


class Written(Text):
    """A text by the same rule as in the API."""

    def __init__(self, most: int, missing: str, **options: Any) -> None:
        self._rule = rules.Text(most)
        super().__init__(error_messages={"required": missing}, **options)

    def clean(self, value: Any) -> str:
        text: str = super().clean(value)
        if not text:
            return ""
        try:
            self._rule.read(text, "")
            parse_json(json.dumps({"text": text}).encode(), max_bytes=LARGEST_BODY)
        except InputError as refusal:
            raise forms.ValidationError(refusal.errors[0].detail) from None
        return text


class VerdictForm(forms.Form):
    """What an admin found out, drawn for one version of the effect."""

    id = RequestId()
    effect_version = forms.IntegerField(min_value=1, widget=forms.HiddenInput)
    verdict = forms.ChoiceField(
        choices=[(finding.value, finding.value) for finding in Finding],
        error_messages={"required": "Choose what you found.", "invalid_choice": "This is no choice."},
    )
    provider_request_id = Written(
        LONGEST_ID,
        "",
        required=False,
        label="Id at the provider",
        widget=forms.TextInput(attrs={"class": "mono", "autocomplete": "off"}),
    )
    evidence = Written(
        LONGEST_EVIDENCE,
        "Say where you looked and what you saw.",
        label="Evidence",
        widget=forms.Textarea(attrs={"rows": 2, "placeholder": "Where you looked and what you saw"}),
    )
    reason = Reason(label="What you conclude")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["reason"].widget.attrs["rows"] = 1

    def clean(self) -> dict[str, Any]:
        tell_hidden_faults(self)
        return self.cleaned_data

    def request(self) -> VerdictRequest:
        """What was asked for, from a valid form."""
        given = self.cleaned_data
        return VerdictRequest(
            id=given["id"],
            verdict=Finding(given["verdict"]),
            evidence=given["evidence"],
            reason=given["reason"],
            effect_version=given["effect_version"],
            provider_request_id=given["provider_request_id"] or None,
        )


class RepairForm(forms.Form):
    """What an admin orders, drawn for one version of the effect."""

    id = RequestId()
    effect_version = forms.IntegerField(min_value=1, widget=forms.HiddenInput)
    repair = forms.ChoiceField(
        choices=[(repair.value, repair.value) for repair in RepairKind],
        error_messages={"required": "Choose what to order.", "invalid_choice": "This is no choice."},
    )
    reason = Reason(help_text="Kept in the ledger with your name.")

    def clean(self) -> dict[str, Any]:
        tell_hidden_faults(self)
        return self.cleaned_data

    def request(self) -> RepairRequest:
        """What was asked for, from a valid form."""
        given = self.cleaned_data
        return RepairRequest(given["id"], RepairKind(given["repair"]), given["reason"], given["effect_version"])


class ConfirmForm(forms.Form):
    """Why a second admin agrees."""

    id = RequestId()
    reason = Reason(label="Why you agree", help_text="Kept for ever with your name.")


@dataclass(frozen=True, slots=True)
class Done:
    """What was recorded of something that this person did here."""

    name: str  # verdict | repair | look-up | confirm
    answer: JSON
    is_repeat: bool = False


@dataclass(frozen=True)
class FindingOut:
    """The forms of an effect, and what there is to say about what was sent."""

    page: EffectPage
    sent: forms.Form | None = None  # as it was sent, when it did not do
    about: str = ""  # the waiting step a sent confirmation is about
    refusal: ClearanceError | None = None
    done: Done | None = None
    typed: QueryDict | None = None

    @property
    def status(self) -> int:
        """The HTTP status that says the same."""
        if self.refusal:
            return problem_of(self.refusal).status
        return 422 if self.sent is not None and self.sent.errors else 200

    @property
    def title(self) -> str:
        """What the refusal is called."""
        return problem_of(self.refusal).title if self.refusal else ""

    @property
    def verdict(self) -> VerdictForm:
        if isinstance(self.sent, VerdictForm) and self.sent.errors:
            return self.sent
        typed = self._typed("verdict", "provider_request_id", "evidence", "reason")
        return VerdictForm(initial={"provider_request_id": self.page.known_id, **typed}, auto_id="verdict-%s")

    @property
    def repair(self) -> RepairForm:
        if isinstance(self.sent, RepairForm) and self.sent.errors:
            return self.sent
        return RepairForm(initial=self._typed("repair", "reason"), auto_id="repair-%s")

    @property
    def confirmations(self) -> list[tuple[WaitingLine, ConfirmForm]]:
        """What waits, each with the form to confirm it."""
        return [(line, self._confirm(line.ref)) for line in self.page.choices.waiting]

    def _confirm(self, ref: str) -> ConfirmForm:
        if isinstance(self.sent, ConfirmForm) and self.about == ref and self.sent.errors:
            return self.sent
        return ConfirmForm(initial={"id": new_id()}, auto_id=f"{ref}-%s")

    def _typed(self, *names: str) -> dict[str, Any]:
        """What a form for what is shown now begins with: a new id, and the words that were typed before."""
        made: dict[str, Any] = {"id": new_id(), "effect_version": self.page.effect.version}
        if self.typed is not None:
            made |= {name: self.typed[name] for name in names if self.typed.get(name)}
        return made


def recorded(page: EffectPage, request_id: str, *, is_repeat: bool) -> Done | None:
    """What this person did here under an id; None when it stands for nothing of the kind."""
    found = store.read(page.case.run.key, page.case.principal.actor, request_id).recorded
    if found is None or found.name not in ("verdict", "repair", "look-up"):
        return None
    return Done(found.name, json.loads(found.answer), is_repeat)


@dataclass(frozen=True, slots=True)
class Overtaken:
    """That the effect moved since a page was drawn."""

    version: int
    has_moved: bool  # or only what this person may do


def overtaken(page: EffectPage, drawn: QueryDict) -> Overtaken | None:
    """Whether what a page offers is no longer what this person may do; None while it is."""
    if "offers" not in drawn:
        return None
    has_moved = drawn.get("drawn_version") != str(page.effect.version)
    return Overtaken(page.effect.version, has_moved) if has_moved or drawn["offers"] != page.choices.offers else None
