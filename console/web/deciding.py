"""Settling an escalation: its form, and what became of sending it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import QueryDict

from console.diffing import difference
from console.forms import ParamsForm, Reason, RequestId, SeenVersion, expected_version, new_id, tell_hidden_faults
from console.param_fields import as_typed
from console.problems import problem_of
from console.stories import FieldStory, told_change
from console.web.case_page import CasePage, read_case_page
from outbox.authorization import resolve
from runs.errors import ClearanceError, InputError, VersionConflict
from runs.escalations import ResolutionRequest, moved_since
from runs.fields import same
from runs.verbs import Case, Verb, preview_amended

JSON = Any


class ResolutionForm(forms.Form):
    """How a case is settled, drawn for one version of the run and of the case."""

    id = RequestId()
    seen = SeenVersion()
    case_version = forms.IntegerField(min_value=1, widget=forms.HiddenInput)
    verb = forms.ChoiceField(
        choices=[(verb.value, verb.value) for verb in Verb],
        error_messages={"required": "Choose what to do with the proposal.", "invalid_choice": "This is no choice."},
    )
    reason = Reason(help_text="Kept in the ledger, and told to whoever proposed.")

    def clean(self) -> dict[str, Any]:
        tell_hidden_faults(self)
        return self.cleaned_data


class AmendForm(ParamsForm):
    """The parameters of the proposal, to be changed."""

    def __init__(self, case: Case, data: QueryDict | None = None) -> None:
        super().__init__(case.command, case.run.state.fields, data, prefix="amend", auto_id="amend-%s")
        self.initial = {
            item.name: typed
            for item in self.param_fields
            if (typed := as_typed(item, case.proposal.params)) is not None
        }


@dataclass(frozen=True, slots=True)
class Amended:
    """What amending with the parameters as typed would do."""

    against_proposal: tuple[FieldStory, ...]
    changes: tuple[FieldStory, ...]
    version: int
    consent: str


@dataclass(frozen=True, slots=True)
class Moved:
    """What moved since the form was drawn, so that nothing was applied until it was looked at."""

    names: tuple[str, ...]  # of what the proposal writes or reads, or the page showed as changed
    version: int
    state: str  # of run and case as they are shown, for a form that goes on from it
    verbs_changed: bool = False  # what this person may do here is no longer the same


@dataclass(frozen=True, slots=True)
class Decision:
    """The margin of a case: the form, with whatever there is to say about it."""

    page: CasePage
    form: ResolutionForm
    amend: AmendForm | None
    refusal: ClearanceError | None = None
    moved: Moved | None = None
    amended: Amended | None = None
    is_repeat: bool = False

    @property
    def form_version(self) -> str:
        """The version of the run that the form was drawn for."""
        return str(self.form["seen"].value()).rpartition(".")[2]

    @property
    def status(self) -> int:
        """The HTTP status that says the same."""
        if self.refusal:
            return problem_of(self.refusal).status
        has_faults = self.form.errors or (self.amend and self.amend.errors)
        return 412 if self.moved else 422 if has_faults else 200

    @property
    def title(self) -> str:
        """What the refusal is called."""
        return problem_of(self.refusal).title if self.refusal else ""


# ---- drawing -------------------------------------------------------------------------------------------------


def drawn(page: CasePage, typed: QueryDict | None = None) -> Decision:
    """The form for the state that the page shows, with what was typed already."""
    return Decision(page, _form(page, typed), _amend_form(page, typed))


def drawn_again(page: CasePage, typed: QueryDict) -> Decision:
    """The same words in a new form, for the state that was looked at."""
    seen, _, case_version = str(typed["continue_on"]).partition("/")
    form = _form(page, typed)
    form.initial.update(seen=seen, case_version=case_version)
    return Decision(page, form, _amend_form(page, typed))


def _form(page: CasePage, typed: QueryDict | None) -> ResolutionForm:
    initial: dict[str, Any] = {name: typed[name] for name in ("verb", "reason") if typed and name in typed}
    initial |= {"id": new_id(), "seen": page.seen, "case_version": page.case.row.version}
    return ResolutionForm(initial=initial, auto_id="settle-%s")


def _amend_form(page: CasePage, typed: QueryDict | None) -> AmendForm | None:
    """The inputs for amending; None where there is nothing that could be amended."""
    if page.case.is_freeze or not page.case.command.params:
        return None
    form = AmendForm(page.case)
    if typed is not None:
        form.initial.update(AmendForm(page.case, typed).typed())
    return form


def moved_meanwhile(page: CasePage, drawn: Mapping[str, str]) -> Moved | None:
    """What moved since a form was `drawn` that is still open; None while it can be sent as it is."""
    version = expected_version(drawn["seen"], page.case.found.ledger_epoch)
    names = tuple(moved_since(page.case, version))
    same_case = drawn.get("case_version") == str(page.case.row.version)
    same_verbs = drawn.get("drawn_verbs") == page.legal_verbs
    if not names and same_case and same_verbs:
        return None
    return Moved(names, page.case.run.version, page.state, verbs_changed=not same_verbs)


# ---- sending -------------------------------------------------------------------------------------------------


def previewed(page: CasePage, typed: QueryDict) -> Decision:
    """What amending as typed would do. Writes nothing."""
    amend = AmendForm(page.case, typed)
    refusal, amended = None, None
    if amend.is_valid():
        try:
            amended = _amended(page, amend.params())
        except InputError as faults:
            amend.add_faults(faults.errors)
        except ClearanceError as error:
            refusal = error
    form = _form(page, typed)
    versions = {name: typed[name] for name in ("id", "seen", "case_version") if name in typed}
    form.initial.update(verb=Verb.AMEND.value, **versions)
    return Decision(page, form, amend, refusal=refusal, amended=amended)


def _amended(page: CasePage, params: Mapping[str, JSON]) -> Amended:
    told = preview_amended(page.case, params)
    proposed = page.case.proposal.params
    return Amended(
        against_proposal=tuple(
            FieldStory(name, difference(proposed.get(name), value))
            for name, value in params.items()
            if not same(proposed.get(name), value)
        ),
        changes=tuple(FieldStory(name, told_change(change)) for name, change in told["changed"].items()),
        version=told["version"],
        consent=(told.get("consent") or {}).get("because", ""),
    )


def settled(page: CasePage, data: QueryDict) -> Decision:
    """Send the form: the case is settled once, or the refusal stands beside what was typed."""
    form = ResolutionForm(data, auto_id="settle-%s")
    amending = data.get("verb") == Verb.AMEND.value
    amend = AmendForm(page.case, data) if amending else _amend_form(page, data)
    if not form.is_valid() or (amending and amend and not amend.is_valid()):
        return Decision(page, form, amend)
    request = _request(page, form, amend if amending else None)
    try:
        resolution = resolve(page.case.operator, page.ref, request)
    except InputError as faults:
        return _faulty(page, form, amend, faults)
    except VersionConflict as conflict:
        return _overtaken(page, data, conflict)
    except ClearanceError as refusal:
        now = read_case_page(page.case.operator, page.ref)
        return Decision(now, _form(now, data), _amend_form(now, data), refusal=refusal)
    now = read_case_page(page.case.operator, page.ref)
    return Decision(now, form, None, is_repeat=resolution.is_replay)


def _request(page: CasePage, form: ResolutionForm, amend: AmendForm | None) -> ResolutionRequest:
    given = form.cleaned_data
    return ResolutionRequest(
        id=given["id"],
        verb=Verb(given["verb"]),
        reason=given["reason"],
        run_version=expected_version(given["seen"], page.case.found.ledger_epoch),
        escalation_version=given["case_version"],
        params=amend.params() if amend else None,
    )


def _faulty(page: CasePage, form: ResolutionForm, amend: AmendForm | None, faults: InputError) -> Decision:
    if amend and amend.is_bound:
        amend.add_faults(faults.errors)
    else:
        form.add_error(None, faults.detail)
    return Decision(page, form, amend)


def _overtaken(page: CasePage, data: QueryDict, conflict: VersionConflict) -> Decision:
    now = read_case_page(page.case.operator, page.ref)
    names = tuple(item["field"] for item in conflict.members["changed_fields"])
    moved = Moved(names, now.case.run.version, now.state)
    return Decision(now, _form(now, data), _amend_form(now, data), moved=moved)
