"""What in a sound definition is probably not meant.

Pure.
"""

from runs.definitions import Action, Command, Rule, Workflow
from runs.loading.clauses import WATCHED
from runs.loading.faults import Findings, WarningCode


def doubt(workflow: Workflow, findings: Findings) -> None:
    """Warn of rules that can never decide, of commands and parameters without effect, of fields that nobody writes."""
    for command in workflow.commands.values():
        _doubt_rules(workflow, command, f"commands.{command.name}", findings)
        _doubt_effect(command, findings)
        _doubt_params(command, findings)
    for action in workflow.actions.values():
        _doubt_rules(workflow, action, f"actions.{action.name}", findings)
    for name in sorted(workflow.fields.keys() - workflow.create.fields):
        if not workflow.writers(name):
            words = "No command writes this field, and a creator may not set it."
            findings.warn(f"fields.{name}", WarningCode.NEVER_WRITTEN, words)


def _doubt_effect(command: Command, findings: Findings) -> None:
    if not command.effects and command.status is None:
        findings.warn(f"commands.{command.name}", WarningCode.NO_EFFECT, "This command changes nothing.")


def _doubt_params(command: Command, findings: Findings) -> None:
    used = {op.value for op in command.effects if isinstance(op.value, str)}
    for name in command.params:
        if f"{{{name}}}" not in used:
            place = f"commands.{command.name}.params.{name}"
            findings.warn(place, WarningCode.PARAM_UNUSED, "Nothing is written from this parameter.")


def _doubt_rules(workflow: Workflow, change: Command | Action, place: str, findings: Findings) -> None:
    decided: set[str] = set()
    for index, rule in enumerate(change.on_conflict):
        _doubt_rule(workflow, rule, decided, f"{place}.on_conflict[{index}]", findings)
        if rule.to is None:
            decided |= set(rule.when_changed)


def _doubt_rule(workflow: Workflow, rule: Rule, decided: set[str], place: str, findings: Findings) -> None:
    changing = {name for name in rule.when_changed if name in WATCHED or workflow.writers(name)}
    for index, name in enumerate(rule.when_changed):
        if name not in changing:
            words = f"No command writes `{name}`, so it never changes."
            findings.warn(f"{place}.when_changed[{index}]", WarningCode.NEVER_MATCHES, words)
    if changing and changing <= decided:
        words = "Earlier rules decide everything that this rule could."
        findings.warn(place, WarningCode.NEVER_MATCHES, words)
