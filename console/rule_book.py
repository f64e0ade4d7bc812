"""A workflow definition as people read it: each field, command and action with its rules in words, each with an anchor.

Pure: everything is told from the definition itself, so a page never says another rule than the one that decides.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from console.diffing import written
from console.headlines import RULES
from runs.definitions import Action, Command, Field, Rule, Workflow
from runs.fields import FieldKind, Op, Verb
from runs.loading.schemas import admits_only_decimals
from runs.policy_terms import write_duration
from runs.states import Disposition, RunStatus

JSON = Any

KINDS = {
    FieldKind.EXCLUSIVE: "one decision; never merged when touched",
    FieldKind.SET: "elements; different ones commute",
    FieldKind.LOG: "append-only items; they commute",
    FieldKind.COUNTER: "a count that only rises; increments commute",
}

OTHERWISE = {
    Disposition.MERGE: "Applied to the record as it is, if nothing it writes or reads was touched; else it escalates.",
    Disposition.RETRY: "Sent back: whoever asked reads again and decides anew.",
    Disposition.REJECT: "Rejected for good.",
    Disposition.ESCALATE: "An operator decides.",
}

CONTRACTS = {
    "exact": "An approval stands while the run is at the very version that was frozen.",
    "until_changed": "An approval stands while every fact of consent keeps the value that was frozen.",
}

AUTHORIZE = {
    "automatic": "The last needed approval authorizes in the same commit.",
    "coordinator": "The coordinator authorizes once enough approvals stand.",
}

_DOES = {
    Verb.SET: "sets {field} to {value}",
    Verb.ADD: "adds {value} to {field}",
    Verb.REMOVE: "removes {value} from {field}",
    Verb.APPEND: "appends {value} to {field}",
    Verb.INCREMENT: "raises {field} by {value}",
}


def rule_anchor(command: str, rule: str) -> str:
    """Where the page of a workflow tells a rule, by the names under which conflicts know both."""
    if rule.startswith("on_conflict["):
        return f"{command}.{int(rule[len('on_conflict[') : -1]) + 1}"
    return f"rule.{rule}" if rule in RULES and rule != "default" else f"{command}.otherwise"


@dataclass(frozen=True, slots=True)
class RuleLine:
    """One conflict rule: when one of these was touched (and holds one of those), then this, because of that."""

    anchor: str
    number: int
    when: tuple[str, ...]
    values: str
    then: Disposition
    because: str


@dataclass(frozen=True, slots=True)
class Conditions:
    """When a command or action is legal, and what becomes of it when it is stale."""

    anchor: str
    reads: tuple[str, ...]
    only_when: tuple[tuple[str, str], ...]
    allowed_in: tuple[str, ...]
    rules: tuple[RuleLine, ...]
    otherwise: Disposition
    otherwise_words: str


@dataclass(frozen=True, slots=True)
class CommandPage:
    """A command in words."""

    name: str
    title: str
    who: str
    does: tuple[str, ...]
    conditions: Conditions


@dataclass(frozen=True, slots=True)
class ActionPage:
    """A consequential action in words."""

    action: Action
    contract: str
    authorize: str
    facts: tuple[str, ...]
    payload: tuple[tuple[str, str], ...]
    dispatch: str
    conditions: Conditions


@dataclass(frozen=True, slots=True)
class FieldPage:
    """A field in words: what it may hold, and who writes it."""

    field: Field
    kind: str
    holds: str
    first: str
    writers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RuleBook:
    """A whole workflow in words."""

    workflow: Workflow
    fields: tuple[FieldPage, ...]
    commands: tuple[CommandPage, ...]
    builtins: tuple[CommandPage, ...]
    actions: tuple[ActionPage, ...]
    contract_rules: tuple[tuple[str, str], ...]


def write_rule_book(workflow: Workflow) -> RuleBook:
    """Everything that a workflow defines, in words."""
    return RuleBook(
        workflow=workflow,
        fields=tuple(_field(workflow, field) for field in workflow.fields.values()),
        commands=tuple(_command(workflow, command) for command in workflow.commands.values()),
        builtins=tuple(_command(workflow, command) for command in workflow.builtins.values()),
        actions=tuple(_action(workflow, action) for action in workflow.actions.values()),
        contract_rules=tuple((name, words) for name, words in RULES.items() if name != "default"),
    )


# ---- fields ----------------------------------------------------------------------------------------------


def _field(workflow: Workflow, field: Field) -> FieldPage:
    first = written(field.first_value) if field.first_value not in (None, [], 0) else ""
    writers = tuple(command.name for command in workflow.writers(field.name))
    return FieldPage(field, KINDS[field.kind], holds(field.schema), first, writers)


def holds(schema: Mapping[str, JSON]) -> str:
    """What a value may be, in a few words; what has no short words is told as its schema."""
    if not schema:
        return "a whole number"
    if "enum" in schema:
        return ", ".join(written(value) for value in schema["enum"])
    if admits_only_decimals(schema):
        return "a decimal number"
    match schema.get("type"):
        case "string" if "pattern" not in schema:
            longest = schema.get("maxLength")
            return f"text, at most {longest} characters" if longest else "text"
        case "object" if "properties" in schema:
            return f"items with {', '.join(schema['properties'])}"
        case _:
            return written(dict(schema))


# ---- commands and actions --------------------------------------------------------------------------------


def _command(workflow: Workflow, command: Command) -> CommandPage:
    return CommandPage(
        name=command.name,
        title=command.title,
        who=command.scope,
        does=tuple(_does(workflow, command)),
        conditions=_conditions(workflow, command.name, command),
    )


def _does(workflow: Workflow, command: Command) -> Iterator[str]:
    for op in command.effects:
        yield _DOES[op.verb].format(field=op.field, value=_value(command, op))
    if command.status is not None:
        yield f"makes the run {workflow.label(command.status)}"


def _value(command: Command, op: Op) -> str:
    return "what is given" if command.param_of(op.field) else written(op.value)


def _action(workflow: Workflow, action: Action) -> ActionPage:
    dispatch = action.dispatch
    times = f"{dispatch.attempts} attempts at most" if dispatch.attempts > 1 else "one attempt"
    seconds = f"each within {write_duration(dispatch.timeout_seconds)}, leased for"
    return ActionPage(
        action=action,
        contract=CONTRACTS[action.contract],
        authorize=AUTHORIZE[action.authorize],
        facts=tuple(sorted(workflow.facts_of_consent(action))),
        payload=tuple((action.payload or {}).items()),
        dispatch=f"{times}, {seconds} {write_duration(dispatch.lease_seconds)}",
        conditions=_conditions(workflow, f"freeze:{action.name}", action),
    )


def _conditions(workflow: Workflow, name: str, item: Command | Action) -> Conditions:
    return Conditions(
        anchor=name,
        reads=tuple(sorted(item.reads)),
        only_when=tuple((field, _listed(values)) for field, values in item.only_when.items()),
        allowed_in=tuple(workflow.label(status) for status in RunStatus if status in item.allowed_in),
        rules=tuple(_rule(name, number, rule) for number, rule in enumerate(item.on_conflict)),
        otherwise=item.otherwise,
        otherwise_words=OTHERWISE[item.otherwise],
    )


def _rule(name: str, number: int, rule: Rule) -> RuleLine:
    values = "" if rule.to is None else _listed(rule.to)
    anchor = rule_anchor(name, f"on_conflict[{number}]")
    return RuleLine(anchor, number + 1, rule.when_changed, values, rule.then, rule.because)


def _listed(values: Iterable[JSON]) -> str:
    return " or ".join(written(value) for value in values)
