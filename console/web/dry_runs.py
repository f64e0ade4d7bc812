"""Trying a command on two versions of a run: a form whose address holds all that was chosen. It only reads."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse, QueryDict
from django.views.decorators.http import require_GET

from console.access import RunAccess, access_run, access_workflow
from console.forms import ParamsForm
from console.rendering import render_screen
from console.rule_book import rule_anchor
from console.stories import Story, tell
from console.web.gate import signed_in
from console.web.workflows import frame
from runs import history
from runs.definitions import Command, Workflow
from runs.dry_runs import Trial, Verdict, changed_between, try_command
from runs.errors import ClearanceError, InputError, NotFound
from runs.values import ChangedField, Principal

#: Steps of the run from which the two versions are chosen; older ones are typed into the address.
STEPS = 50

STRANGER = "somebody else"


class WhichForm(forms.Form):
    """The run and the command to be tried."""

    run = forms.CharField(
        max_length=64, label="Run", widget=forms.TextInput(attrs={"class": "mono", "autocomplete": "off"})
    )
    command = forms.ChoiceField(label="Command")

    def __init__(self, workflow: Workflow, data: QueryDict | None) -> None:
        super().__init__(data, auto_id="which-%s")
        choices = [(command.name, command.title) for command in workflow.commands.values()]
        self.fields["command"].choices = [("", "Choose …"), *choices]  # type: ignore[attr-defined]  # a choice field


class VersionsForm(forms.Form):
    """The version it is computed on, the version it meets, and whose command it is."""

    base = forms.IntegerField(min_value=1, label="Computed on")
    current = forms.IntegerField(min_value=1, label="Meets")
    whose = forms.ChoiceField(label="Asked for by", required=False)

    def __init__(self, met: RunAccess, stories: list[Story], data: Mapping[str, Any] | None) -> None:
        super().__init__(data, auto_id="versions-%s")
        choices = [(str(story.version), _in_words(story)) for story in stories]
        for name in ("base", "current"):
            self.fields[name].widget = forms.Select(choices=choices)
        actors = sorted({story.actor for story in stories})
        self.fields["whose"].choices = [("", STRANGER), *((who, who) for who in actors)]  # type: ignore[attr-defined]  # a choice field
        self.fields["whose"].help_text = "Nobody escalates against their own earlier change."


def _in_words(story: Story) -> str:
    changed = ", ".join(change.field for change in story.changes)
    return f"{story.version}: {changed} by {story.actor}" if changed else f"{story.version}: by {story.actor}"


@dataclass(frozen=True, slots=True)
class Tried:
    """What would become of the command, and what was touched between the two versions."""

    verdict: Verdict | None
    refusal: ClearanceError | None
    changed: tuple[ChangedField, ...]
    command: Command

    @property
    def anchor(self) -> str:
        """Where the rule that decided is told."""
        return rule_anchor(self.command.name, self.verdict.rule) if self.verdict and self.verdict.rule else ""


@require_GET
@signed_in
def show(request: HttpRequest, principal: Principal, slug: str) -> HttpResponse:
    workflow, policy = access_workflow(principal, slug)
    which = WhichForm(workflow, request.GET if "run" in request.GET else None)
    context = {**frame(principal, workflow, policy, "dry-run"), "which": which}
    if which.is_valid() and (met := _met(which, principal, slug)):
        context |= _trial(request, met, which.cleaned_data["command"])
    return render_screen(request, "workflows/dry_run.html", context, status=422 if which.errors else 200)


def _met(which: WhichForm, principal: Principal, slug: str) -> RunAccess | None:
    """The run that was named, if it is one of this workflow; else a fault at its input."""
    try:
        met = access_run(principal, which.cleaned_data["run"])
    except NotFound:
        met = None
    if met is None or met.run.workflow != slug:
        which.add_error("run", "There is no such run of this workflow that you may see.")
        return None
    return met


def _trial(request: HttpRequest, met: RunAccess, name: str) -> Mapping[str, Any]:
    command = met.workflow.commands.get(name)
    if command is None:
        raise NotFound
    stories = list(_steps(met))
    given = request.GET if "base" in request.GET else None
    drawn = {"base": max(1, met.run.version - 1), "current": met.run.version}
    versions = VersionsForm(met, stories, given or drawn)
    params = ParamsForm(command, met.run.state.fields, given, auto_id="params-%s")
    context = {"met": met, "command": command, "versions": versions, "params": params}
    if given is not None and versions.is_valid() and params.is_valid():
        context["tried"] = _try(met, command, versions, params)
    return context


def _steps(met: RunAccess) -> Iterator[Story]:
    """The newest versions of the run, each with the entry that made it."""
    seen: set[int] = set()
    for entry in history.list_backwards(met.run.id, 4 * STEPS):
        story = tell(entry, met.workflow)
        if story.is_step and story.version not in seen and len(seen) < STEPS:
            seen.add(story.version)
            yield story


def _try(met: RunAccess, command: Command, versions: VersionsForm, params: ParamsForm) -> Tried:
    base, current = versions.cleaned_data["base"], versions.cleaned_data["current"]
    trial = Trial(command.name, params.params(), base, current)
    try:
        verdict = try_command(versions.cleaned_data["whose"], met.run, met.workflow, trial)
    except InputError as refusal:
        params.add_faults(refusal.errors)
        return Tried(None, refusal, (), command)
    except ClearanceError as refusal:
        return Tried(None, refusal, (), command)
    return Tried(verdict, None, changed_between(met.run, base, current), command)
