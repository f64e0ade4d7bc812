"""A command as a form in the margin of a run: drawn, refused, overtaken by what happened meanwhile, or done."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from console import comparison, headlines
from console.comparison import Comparison, Sides
from console.forms import CommandForm
from console.headlines import RuleWords
from console.problems import problem_of
from console.stories import FieldStory, told_change
from console.web.meeting import Met
from runs import cases
from runs.cases import CommandRecord
from runs.definitions import Command, Workflow
from runs.errors import ClearanceError
from runs.fields import FieldKind
from runs.outcomes import Outcome
from runs.states import Disposition
from runs.values import ChangedField

JSON = Any


@dataclass(frozen=True, slots=True)
class Moved:
    """Why nothing was applied: what the form was drawn for, what holds now, and by which rule it was refused."""

    base_version: int
    version: int
    seen: str  # the state shown here, for a form that goes on from it
    rule: RuleWords
    because: str
    comparison: Comparison | None
    is_final: bool
    can_hand_over: bool


@dataclass(frozen=True, slots=True)
class Done:
    """What became of the command."""

    state: str  # committed | merged | unchanged | escalated | …, as recorded
    version: int
    is_repeat: bool
    changes: tuple[FieldStory, ...] = ()
    consent: str = ""
    escalation: str = ""
    resolution: Mapping[str, JSON] | None = None


@dataclass(frozen=True, slots=True)
class CommandCard:
    """What the margin shows of one command."""

    command: Command
    key: str
    version: int  # of the run, when this was drawn
    form: CommandForm | None = None
    because: str = ""  # why there is no form
    refusal: ClearanceError | None = None
    moved: Moved | None = None
    done: Done | None = None

    @property
    def form_version(self) -> str:
        """The version the form was drawn for."""
        return str(self.form["seen"].value()).rpartition(".")[2] if self.form else ""

    @property
    def status(self) -> int:
        """The HTTP status that says the same."""
        if self.refusal:
            return problem_of(self.refusal).status
        return 412 if self.moved else 422 if self.form and self.form.is_bound else 200

    @property
    def title(self) -> str:
        """What the refusal is called."""
        return problem_of(self.refusal).title if self.refusal else ""


def asked(met: Met, name: str) -> CommandCard:
    """The form of a command that this person may take now, or why they may not."""
    command = met.command(name)
    if because := met.because(name):
        return CommandCard(command, met.run.key, met.run.version, because=because)
    form = CommandForm.drawn(command, met.run.state.fields, met.seen)
    return CommandCard(command, met.run.key, met.run.version, form)


def sent(met: Met, form: CommandForm, refusal: ClearanceError | None = None) -> CommandCard:
    """The form as it was sent, with its faults or the reason why it was refused."""
    return CommandCard(form.command, met.run.key, met.run.version, form, refusal=refusal)


def drawn_again(met: Met, form: CommandForm, seen: str) -> CommandCard:
    """The same words in a new form for the state that was looked at."""
    again = CommandForm.drawn(form.command, met.run.state.fields, seen, form.typed())
    return CommandCard(form.command, met.run.key, met.run.version, again)


def answered(met: Met, form: CommandForm, outcome: Outcome) -> CommandCard:
    """What a command came to."""
    command, answer = form.command, outcome.answer
    if outcome.is_refusal and not answer.get("escalation"):
        moved = _moved(met, command, form, answer)
        again = CommandForm.drawn(command, met.run.state.fields, form.cleaned_data["seen"], form.typed())
        return CommandCard(command, met.run.key, moved.version, again, moved=moved)
    done = _done(outcome.state, answer, outcome.resolution, is_repeat=outcome.is_replay)
    return CommandCard(command, met.run.key, met.run.version, done=done)


def recorded(met: Met, name: str, record: CommandRecord, *, is_repeat: bool) -> CommandCard:
    """What became of a command that was sent before, as it stands now."""
    done = _done(record.state, record.answer, record.resolution, is_repeat=is_repeat)
    return CommandCard(met.command(name), met.run.key, met.run.version, done=done)


def _done(state: str, answer: Mapping[str, JSON], resolution: Mapping[str, JSON] | None, *, is_repeat: bool) -> Done:
    return Done(
        state=state,
        version=answer.get("version") or answer["current_version"],
        is_repeat=is_repeat,
        changes=tuple(FieldStory(name, told_change(change)) for name, change in answer.get("changed", {}).items()),
        consent=(answer.get("consent") or {}).get("because", ""),
        escalation=(answer.get("escalation") or {}).get("id", ""),
        resolution=resolution,
    )


def _moved(met: Met, command: Command, form: CommandForm, answer: Mapping[str, JSON]) -> Moved:
    changed = {item["field"]: ChangedField(**item) for item in answer["changed_fields"]}
    rule = answer["rule"]["name"]
    return Moved(
        base_version=answer["base_version"],
        version=answer["current_version"],
        seen=answer["current_etag"].strip('"'),
        rule=headlines.rule_words(command, rule),
        because=answer["rule"]["because"],
        comparison=_compared(met.workflow, command, form, answer, changed) if changed else None,
        is_final=answer["disposition"] == "reject",
        can_hand_over=_would_escalate(met, command, rule, changed),
    )


def _compared(
    workflow: Workflow,
    command: Command,
    form: CommandForm,
    answer: Mapping[str, JSON],
    changed: Mapping[str, ChangedField],
) -> Comparison:
    """Base, current and what was asked for, as the refusal saw them."""
    kept = cases.tell_both_sides(cases.get_conflict(cases.conflict_number(answer["conflict"])))
    base = dict((kept["base"] or {}).get("fields", {}))
    base |= {name: item.base for name, item in changed.items()}
    current = base | {name: item.current for name, item in changed.items()}
    return comparison.compare(workflow, command, form.params(), Sides(base, current, changed))


def _would_escalate(met: Met, command: Command, rule: str, changed: Mapping[str, ChangedField]) -> bool:
    """Whether the same command, handed over, would wait for another operator."""
    own = met.principal.actor
    if all(item.changed_by == own for item in changed.values()):
        return False
    if rule.startswith("on_conflict["):
        return command.on_conflict[int(rule[len("on_conflict[") : -1])].then is Disposition.ESCALATE
    if rule == "default":
        exclusive = {name for name in command.writes if met.workflow.fields[name].kind is FieldKind.EXCLUSIVE}
        return bool(exclusive & changed.keys()) or command.otherwise is Disposition.ESCALATE
    return rule == "unsafe-merge"
