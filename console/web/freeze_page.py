"""Freezing a candidate by hand: what would be frozen, the form, and what refused it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django import forms
from django.http import QueryDict

from approvals.destinations import newest_revision
from approvals.models import Artifact, DestinationRevision
from approvals.payload import Sources, filled, sentence_parts
from approvals.values import FreezeRequest
from console.forms import LARGEST_BODY, Evidence, Reason, RequestId, SeenVersion, new_id, tell_hidden_faults
from console.param_fields import Text
from console.payloads import Payload, read_payload
from console.problems import problem_of
from console.sentences import Word, words_of
from console.web.meeting import Met
from console.web.review_card import host_of
from outbox.models import Effect
from outbox.receipts import compensated
from outbox.states import EffectState
from runs import steps
from runs.definitions import Action
from runs.digest import canonical, parse_json
from runs.errors import ClearanceError, InputError, NotFound

JSON = Any


@dataclass(frozen=True)
class FreezePage:
    """An action of a run, as one person would freeze it now."""

    met: Met
    action: Action
    because: str  # why it cannot be frozen now; empty when it can
    artifacts: Mapping[str, Sequence[Artifact]]  # made from the current inputs, by slot, the newest first
    compensable: Sequence[str]  # the operations that this action could take back
    destination: DestinationRevision | None
    of: str = ""

    @property
    def needs_payload(self) -> bool:
        """Whether the payload is supplied with the request."""
        return self.action.payload is None

    @property
    def host(self) -> str:
        return host_of(self.destination.url) if self.destination else ""

    @cached_property
    def rendered(self) -> dict[str, JSON]:
        """The payload as its template renders it now; None where a fact is not set."""
        run = self.met.run
        try:
            source = compensated(run.id, self.of or None)
        except ClearanceError:
            source = None
        return filled(self.action, Sources(run.key, run.state.fields, source.as_source() if source else {}))

    @property
    def missing(self) -> list[str]:
        """What the payload shows and nobody has set."""
        return [name for name, value in self.rendered.items() if value is None]

    @cached_property
    def payload(self) -> Payload | None:
        """The payload that would be frozen, where it is rendered and complete."""
        return None if self.needs_payload or self.missing else read_payload(canonical(self.rendered))

    @property
    def sentence(self) -> tuple[Word, ...]:
        run = self.met.run
        facts = {name: run.state.fields[name] for name in self.met.workflow.facts_of_consent(self.action)}
        value = self.payload.value if self.payload else {}
        return words_of(sentence_parts(self.action.sentence, run.key, facts, value))

    @property
    def skeleton(self) -> str:
        """What a supplied payload has to hold at least, for the newest artifacts."""
        named = {
            slot: {"id": rows[0].pk, "sha256": rows[0].content_id} for slot, rows in self.artifacts.items() if rows
        }
        return json.dumps({"artifacts": named} if named else {}, indent=2, ensure_ascii=False)


def read_freeze_page(met: Met, name: str, of: str = "") -> FreezePage:
    """Read what freezing an action needs. Raises `NotFound` for an action that the workflow has not."""
    action = met.workflow.actions.get(name)
    if action is None:
        raise NotFound
    because = next(step.because for step in steps.next_steps(met.at) if step.step == f"action:{name}")
    compensable = _compensable(met, action)
    return FreezePage(
        met=met,
        action=action,
        because=because or "",
        artifacts=_artifacts(met, action),
        compensable=compensable,
        destination=newest_revision(action.destination),
        of=of or (compensable[0] if compensable else ""),
    )


def _artifacts(met: Met, action: Action) -> dict[str, list[Artifact]]:
    found: dict[str, list[Artifact]] = {slot: [] for slot in action.slots}
    if action.slots:
        rows = Artifact.objects.filter(run_id=met.run.id, slot__in=action.slots, input_version=met.run.input_version)
        for row in rows.order_by("-number"):
            found[row.slot].append(row)
    return found


def _compensable(met: Met, action: Action) -> list[str]:
    if action.compensates is None:
        return []
    rows = Effect.objects.filter(run_id=met.run.id, action=action.compensates, state=EffectState.SUCCEEDED)
    return list(rows.order_by("-authorized_at").values_list("pk", flat=True))


# ---- the form --------------------------------------------------------------------------------------------


class SuppliedPayload(Text):
    """A payload as JSON, through the same strict door as the body of an API request."""

    def clean(self, value: Any) -> JSON:
        text = super().clean(value)
        if not text:
            return None
        try:
            made = parse_json(text.encode(), max_bytes=LARGEST_BODY)
        except InputError as refusal:
            words = "; ".join(f"{fault.pointer or 'the text'}: {fault.detail}" for fault in refusal.errors)
            raise forms.ValidationError(words or refusal.detail) from None
        return made


class FreezeForm(forms.Form):
    """What a candidate is frozen from, drawn for one version of the run."""

    id = RequestId()
    seen = SeenVersion()
    reason = Reason(help_text="Shown to reviewers and kept in the ledger.")
    evidence = Evidence(label="References", help_text="What this rests on; one on each line.")

    def __init__(self, page: FreezePage, data: QueryDict | None = None, **options: Any) -> None:
        super().__init__(data, auto_id="freeze-%s", **options)
        self.slots = list(page.action.slots)
        for slot in self.slots:
            rows = [(row.pk, row.pk) for row in page.artifacts[slot]]
            title = page.met.workflow.slots[slot].title
            self.fields[f"slot-{slot}"] = forms.ChoiceField(label=f"{title} to freeze", choices=rows)
        if page.compensable:
            operations = [(number, number) for number in page.compensable]
            self.fields["of"] = forms.ChoiceField(label="Takes back", choices=operations)
        if page.needs_payload:
            hint = "The exact object to be sent. Its member artifacts names each slot's id and sha256, as frozen."
            widget = forms.Textarea(attrs={"rows": 10, "class": "mono", "spellcheck": "false"})
            self.fields["payload"] = SuppliedPayload(label="Payload", help_text=hint, widget=widget)
        self.order_fields([name for name in self.fields if name not in ("reason", "evidence")])
        self.action = page.action

    def clean(self) -> dict[str, Any]:
        tell_hidden_faults(self)
        return self.cleaned_data

    def request(self) -> FreezeRequest:
        """The freeze that was asked for, from a valid form."""
        given = self.cleaned_data
        return FreezeRequest(
            id=given["id"],
            action=self.action.name,
            reason=given["reason"],
            artifacts={slot: given[f"slot-{slot}"] for slot in self.slots},
            payload=given.get("payload"),
            of=given.get("of") or None,
            evidence=tuple(given["evidence"]),
        )


@dataclass(frozen=True)
class Freezing:
    """The form, with whatever there is to say about it."""

    page: FreezePage
    form: FreezeForm
    refusal: ClearanceError | None = None
    moved: Mapping[str, JSON] | None = None  # the answer to a freeze of a version that is no longer current

    @property
    def status(self) -> int:
        """The HTTP status that says the same."""
        if self.refusal:
            return problem_of(self.refusal).status
        return 412 if self.moved else 422 if self.form.errors else 200

    @property
    def title(self) -> str:
        return problem_of(self.refusal).title if self.refusal else ""


def drawn(page: FreezePage, typed: QueryDict | None = None) -> Freezing:
    """A form for the version that is shown, with what was typed already."""
    initial: dict[str, Any] = {"payload": page.skeleton, "of": page.of}
    if typed is not None:
        initial |= {name: typed[name] for name in typed if name not in ("id", "seen", "csrfmiddlewaretoken")}
    form = FreezeForm(page, initial={**initial, "id": new_id(), "seen": page.met.seen})
    return Freezing(page, form)
