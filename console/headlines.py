"""What a conflict is about, as facts that a headline puts in plain words: who asked for what, who did what instead.

Pure. The facts come from the record, the ledger and the parameters of the command, never from the words that an agent
gave for them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from console.diffing import written
from runs.definitions import Command, Workflow
from runs.fields import FieldKind, Op, Verb, same

JSON = Any

#: A longer value is not shown in a headline: two long texts look alike at their beginnings.
LONGEST_VALUE = 60


@dataclass(frozen=True, slots=True)
class Asked:
    """One thing that the proposal asks for: `refund_amount`, from 30.00, to 45.00. Long texts are left empty."""

    verb: Verb
    field: str
    value: str
    base: str = ""


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """One thing that somebody did since: `mara`, `refund_amount`, 25.00, in version 21."""

    actor: str
    field: str
    value: str  # empty where there is no single short value, as with a log
    version: int
    is_restored: bool


@dataclass(frozen=True, slots=True)
class Headline:
    """Both sides of a conflict."""

    proposer: str
    title: str  # of the command
    asked: tuple[Asked, ...]
    base_version: int
    meanwhile: tuple[Meanwhile, ...]


@dataclass(frozen=True, slots=True)
class RuleWords:
    """Which rule decided, in words."""

    name: str
    explains: str


#: The rules that no definition writes down.
RULES = {
    "already-so": "What was asked for holds already.",
    "not-legal": "The command is no longer possible.",
    "default": "No rule of the command matched; what it writes and reads decided.",
    "unsafe-merge": "A merge was asked for and would have undone somebody's change.",
    "budget-exhausted": "The agent met one conflict after another; a person looks before it goes on.",
    "held": "An open case holds what this would change.",
}


def headline(
    workflow: Workflow, command: Command, proposal: Mapping[str, JSON], conflict: Mapping[str, JSON]
) -> Headline:
    """The facts of a conflict: `proposal` as it was kept, `conflict` with principal, base_version, changed_fields."""
    changed = conflict["changed_fields"]
    bases = {item["field"]: item["base"] for item in changed} | dict(conflict.get("base_fields") or {})
    ops = command.ops(proposal["params"])
    return Headline(
        proposer=conflict["principal"],
        title=command.title,
        asked=tuple(_asked(ops, bases)),
        base_version=conflict["base_version"],
        meanwhile=tuple(_meanwhile(workflow, command, changed)),
    )


def _asked(ops: Sequence[Op], bases: Mapping[str, JSON]) -> Iterator[Asked]:
    """What the proposal would change; what it only repeats is left out, unless it repeats everything."""
    changing = [
        op for op in ops if op.verb is not Verb.SET or op.field not in bases or not same(bases[op.field], op.value)
    ]
    for op in changing or ops:
        base = short(bases.get(op.field)) if op.verb is Verb.SET else ""
        yield Asked(op.verb, op.field, _value_of(op), base)


def _value_of(op: Op) -> str:
    """The value, without what only identifies an item of a log."""
    if op.verb is Verb.APPEND:
        return short(op.value.get("text", op.value["id"]))
    return short(op.value)


def _meanwhile(workflow: Workflow, command: Command, changed: Sequence[Mapping[str, JSON]]) -> Iterator[Meanwhile]:
    """What was done since to the fields that matter to the command, or else to any."""
    relevant = command.writes | command.reads | {name for rule in command.on_conflict for name in rule.when_changed}
    written_too = [item for item in changed if item["field"] in command.writes]
    for item in written_too or [item for item in changed if item["field"] in relevant] or changed:
        field = workflow.fields.get(item["field"])
        has_value = field is None or field.kind in (FieldKind.EXCLUSIVE, FieldKind.COUNTER)
        value = short(item["current"]) if has_value else ""
        yield Meanwhile(item["changed_by"], item["field"], value, item["version"], bool(item["restored"]))


def short(value: JSON) -> str:
    """A value on one line of a headline; empty when it is too long for one."""
    text = " ".join(written(value).split())
    return text if len(text) <= LONGEST_VALUE else ""


def rule_words(command: Command, name: str) -> RuleWords:
    """The rule that decided: the number of a declared one, or what a rule of the contract means."""
    if name.startswith("on_conflict["):
        number = int(name[len("on_conflict[") : -1]) + 1
        return RuleWords(f"Rule {number} of {command.name}", "")
    return RuleWords(f"The rule “{name}”", RULES.get(name, ""))
