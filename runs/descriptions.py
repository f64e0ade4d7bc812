"""A workflow and its policy told as JSON: everything a program needs to work under it, and people to check it. Pure."""

from collections.abc import Iterable
from typing import Any

from runs.definitions import Action, Command, Field, Policy, Rule, Slot, Workflow
from runs.states import RunStatus

JSON = Any


def summarise(workflow: Workflow, policy: Policy) -> dict[str, JSON]:
    """A workflow as a line of a list."""
    return {
        "slug": workflow.slug,
        "title": workflow.title,
        "revision": workflow.revision,
        "sha256": f"sha256:{workflow.sha256}",
        "suspended": policy.suspended,
    }


def describe(workflow: Workflow, policy: Policy) -> dict[str, JSON]:
    """A workflow with its fields, commands, conflict rules, actions and the policy in force."""
    return {
        **summarise(workflow, policy),
        "labels": {status.value: workflow.label(status) for status in RunStatus},
        "create": {"scope": workflow.create.scope, "fields": sorted(workflow.create.fields)},
        "fields": [_field(item) for item in workflow.fields.values()],
        "slots": [_slot(item) for item in workflow.slots.values()],
        "commands": [_command(item) for item in (*workflow.commands.values(), *workflow.builtins.values())],
        "actions": [_action(workflow, item) for item in workflow.actions.values()],
        "policy": describe_policy(policy),
    }


def describe_policy(policy: Policy) -> dict[str, JSON]:
    """The terms of a policy with its versions. Times are in seconds."""
    return {
        "version": policy.version,
        "authority_version": policy.authority_version,
        "suspended": policy.suspended,
        "operators": sorted(policy.operators),
        "reviewers": sorted(policy.reviewers),
        "quorum": policy.quorum,
        "separation": policy.separation,
        "decision_expires_after": policy.decision_expires_after,
        "run_expires_after": policy.run_expires_after,
        "budget": {"attempts": policy.budget.attempts, "elapsed": policy.budget.elapsed_seconds},
        "limits": dict(policy.limits),
        "retention": dict(policy.retention),
        "reauthenticate_within": policy.reauthenticate_within,
    }


def _field(item: Field) -> dict[str, JSON]:
    return {
        "name": item.name,
        "kind": item.kind.value,
        "schema": dict(item.value_schema),
        "initial": item.first_value,
        "owner": item.owner,
        "material": item.material,
    }


def _slot(item: Slot) -> dict[str, JSON]:
    return {"name": item.name, "title": item.title, "scope": item.scope, "media_types": list(item.media_types)}


def _command(command: Command) -> dict[str, JSON]:
    return {
        "name": command.name,
        "title": command.title,
        "scope": command.scope,
        "params_schema": dict(command.params_schema),
        "writes": sorted(command.writes),
        "status": command.status.value if command.status else None,
        **_conditions(command),
    }


def _action(workflow: Workflow, action: Action) -> dict[str, JSON]:
    return {
        "name": action.name,
        "title": action.title,
        "sentence": action.sentence,
        "scope": action.scope,
        "destination": action.destination,
        "payload": "request" if action.payload is None else dict(action.payload),
        "slots": list(action.slots),
        "contract": action.contract,
        "authorize": action.authorize,
        "standing": None if action.standing is None else dict(action.standing),
        "compensates": action.compensates,
        "facts_of_consent": sorted(workflow.facts_of_consent(action)),
        **_conditions(action),
    }


def _conditions(item: Command | Action) -> dict[str, JSON]:
    """Where and when it is legal, what it reads, and what becomes of it when it is stale."""
    return {
        "reads": sorted(item.reads),
        "allowed_in": _in_order(item.allowed_in),
        "only_when": {name: list(values) for name, values in item.only_when.items()},
        "on_conflict": [_rule(rule) for rule in item.on_conflict],
        "otherwise": item.otherwise.value,
    }


def _in_order(statuses: Iterable[RunStatus]) -> list[str]:
    wanted = set(statuses)
    return [status.value for status in RunStatus if status in wanted]


def _rule(rule: Rule) -> dict[str, JSON]:
    return {
        "when_changed": list(rule.when_changed),
        "to": None if rule.to is None else list(rule.to),
        "then": rule.then.value,
        "because": rule.because,
    }
