"""Deciding on a snapshot: the form, and what became of sending it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import QueryDict

from approvals.deciding import DecisionRequest
from approvals.states import Verdict
from console import rules
from console.forms import LARGEST_BODY, Reason, RequestId, SeenVersion, new_id, tell_hidden_faults
from console.param_fields import Text
from console.problems import problem_of
from console.shapes import LONGEST_REASON
from console.web.review_lines import DecisionLine
from console.web.review_progress import Progress
from runs import store
from runs.digest import parse_json
from runs.errors import ClearanceError, InputError
from runs.values import version_tag

JSON = Any


class Note(Text):
    """What a person says of it, by the same rules as in the API; may be left out where nothing has to be said."""

    def clean(self, value: Any) -> str:
        text: str = super().clean(value)
        if not text:
            return ""
        try:
            rules.Text(LONGEST_REASON).read(text, "/reason")
            parse_json(json.dumps({"reason": text}).encode(), max_bytes=LARGEST_BODY)
        except InputError as refusal:
            raise forms.ValidationError(refusal.errors[0].detail) from None
        return text


class DecisionForm(forms.Form):
    """What somebody says of a snapshot, naming exactly what they were shown."""

    id = RequestId()
    manifest_sha256 = forms.RegexField(r"^sha256:[0-9a-f]{64}$", widget=forms.HiddenInput)
    run_version = forms.IntegerField(min_value=1, widget=forms.HiddenInput)
    authority_epoch = forms.IntegerField(min_value=0, widget=forms.HiddenInput)
    verdict = forms.ChoiceField(choices=[(verdict.value, verdict.value) for verdict in Verdict])
    reason = Note(required=False, label="Note", widget=forms.Textarea(attrs={"rows": 3}))
    looked = forms.BooleanField(required=False)

    def __init__(self, oddities: tuple[str, ...], data: QueryDict | None = None, **options: Any) -> None:
        super().__init__(data, auto_id="decide-%s", **options)
        self.oddities = oddities

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if given.get("verdict") == Verdict.DENY and not given.get("reason") and "reason" not in self.errors:
            self.add_error("reason", "A deny needs a reason: say why, in a few words.")
        if given.get("verdict") == Verdict.APPROVE and self.oddities and not given.get("looked"):
            self.add_error("looked", "Look at what is marked, then say that you did.")
        tell_hidden_faults(self)
        return given

    def request(self, progress: Progress) -> DecisionRequest:
        """What was asked for, from a valid form."""
        given = self.cleaned_data
        return DecisionRequest(
            id=given["id"],
            verdict=Verdict(given["verdict"]),
            manifest_sha256=given["manifest_sha256"],
            run_version=given["run_version"],
            authority_epoch=given["authority_epoch"],
            reason=given["reason"],
            authenticated_at=progress.proven_at,
        )


class RevocationForm(forms.Form):
    """Why an approval no longer stands."""

    id = RequestId()
    reason = Reason(label="Why", help_text="Kept in the ledger, and told to whoever asks what became of it.")


class AuthorizationForm(forms.Form):
    """Spending the approvals of exactly these bytes, on the version that was seen."""

    id = RequestId()
    manifest_sha256 = forms.RegexField(r"^sha256:[0-9a-f]{64}$", widget=forms.HiddenInput)
    seen = SeenVersion()
    reason = Reason(label="Why now", help_text="Kept in the ledger.")


@dataclass(frozen=True, slots=True)
class Done:
    """What was recorded of something that this person did here."""

    name: str  # decide | revoke | authorize
    answer: Mapping[str, JSON]
    is_repeat: bool = False


@dataclass(frozen=True)
class Deciding:
    """The margin of a review card: its forms, and what there is to say about what was sent."""

    progress: Progress
    form: DecisionForm
    refusal: ClearanceError | None = None
    done: Done | None = None
    step: forms.Form | None = None  # a revocation or authorization as it was sent, with its faults
    step_of: str = ""  # the approval it revokes; empty for an authorization

    @property
    def status(self) -> int:
        """The HTTP status that says the same."""
        if self.refusal:
            return problem_of(self.refusal).status
        return 422 if self.form.errors or (self.step and self.step.errors) else 200

    @property
    def title(self) -> str:
        """What the refusal is called."""
        return problem_of(self.refusal).title if self.refusal else ""

    @property
    def typed(self) -> str:
        """What was typed, for a form that is no longer there."""
        return str(self.form["reason"].value() or "")

    @property
    def authorization(self) -> forms.Form:
        review = self.progress.review
        seen = version_tag(review.found.ledger_epoch, review.run.version).strip('"')
        return self._step("", AuthorizationForm, {"manifest_sha256": review.row.manifest_sha256, "seen": seen})

    @property
    def revocations(self) -> list[tuple[DecisionLine, forms.Form]]:
        """The approvals that this person may revoke, each with its form."""
        return [(line, self._step(line.ref, RevocationForm, {})) for line in self.progress.revocable]

    def _step(self, ref: str, kind: type[forms.Form], initial: Mapping[str, Any]) -> forms.Form:
        """The form as it was sent, if it was and did not do; else a new one, with the words that were typed."""
        if isinstance(self.step, kind) and self.step_of == ref:
            if self.step.errors:
                return self.step
            initial = {**initial, "reason": self.step["reason"].value()}
        return kind(initial={**initial, "id": new_id()}, auto_id=f"{ref or 'authorize'}-%s")


# ---- drawing -------------------------------------------------------------------------------------------------


def drawn(progress: Progress, oddities: tuple[str, ...], typed: QueryDict | None = None) -> Deciding:
    """The form for what is shown now, with what was typed already."""
    row = progress.review.row
    initial: dict[str, Any] = {
        "id": new_id(),
        "manifest_sha256": row.manifest_sha256,
        "run_version": progress.review.run.version,
        "authority_epoch": progress.epoch,
        "reason": typed.get("reason", "") if typed else "",
        "looked": bool(typed and typed.get("looked")),
    }
    return Deciding(progress, DecisionForm(oddities, initial=initial))


def sent(progress: Progress, oddities: tuple[str, ...], data: QueryDict) -> DecisionForm:
    """The form as it was sent."""
    return DecisionForm(oddities, data)


def recorded(progress: Progress, request_id: str, *, is_repeat: bool) -> Done | None:
    """What this person did here under an id; None when it stands for nothing of the kind."""
    review = progress.review
    found = store.read(review.run.key, review.principal.actor, request_id).recorded
    if found is None or found.name not in ("decide", "revoke", "authorize"):
        return None
    return Done(found.name, json.loads(found.answer), is_repeat)


@dataclass(frozen=True, slots=True)
class Overtaken:
    """What happened to a page that is still open: what its form would meet now, if anything."""

    refusal: ClearanceError | None

    @property
    def title(self) -> str:
        return problem_of(self.refusal).title if self.refusal else ""


def overtaken(progress: Progress, drawn: QueryDict) -> Overtaken | None:
    """Whether what a page offers is no longer what this person may do; None while it is."""
    offers = drawn.get("offers")
    if offers is None:
        return None
    verdicts = [Verdict(word) for word in offers.split() if word in list(Verdict)]
    refusals = (progress.against(verdict, *_seen(drawn)) for verdict in verdicts)
    refusal = next((refusal for refusal in refusals if refusal), None)
    return Overtaken(refusal) if refusal or offers != progress.offers else None


def _seen(drawn: QueryDict) -> tuple[int, int]:
    """The version and the epoch that a form was drawn for; what no form of ours says counts as never seen."""
    try:
        return int(drawn.get("run_version", "")), int(drawn.get("authority_epoch", ""))
    except ValueError:
        return 0, 0
