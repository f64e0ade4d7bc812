"""Workflow definitions as frozen values: fields, commands, conflict rules, actions, first policy.

Pure. `loading.py` makes them from TOML and names every fault; nothing else constructs them, so whoever
holds a `Workflow` holds a valid one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jsonschema_rs

from runs.errors import Fault
from runs.fields import FieldKind, Op, Verb, empty
from runs.states import CANCELLABLE, OPEN_FOR_WORK, REOPENABLE, Disposition, RunStatus
from runs.values import Budget

JSON = Any

#: Names that a field may not have, because changes are told by name beside them.
RESERVED_NAMES = frozenset({"status", "active_snapshot", "revision"})

#: A counter starts no higher, so that no number of increments leads beyond the numbers of JSON.
MAX_COUNT = 10**15


def _refuse_reference(uri: str) -> JSON:
    raise ValueError(f"schemas may not refer to {uri}")


def compile_schema(schema: Mapping[str, JSON]) -> jsonschema_rs.Validator:
    """A validator for `schema`. Raises `ValueError` when it is no JSON Schema or refers outside itself."""
    return jsonschema_rs.validator_for(dict(schema), retriever=_refuse_reference)


def schema_faults(validator: jsonschema_rs.Validator, value: JSON, at: str) -> list[Fault]:
    """Every way in which `value` does not fit, with its JSON pointer below `at`."""
    return [
        Fault(at + _pointer(error.instance_path), error.kind.name, error.message)
        for error in validator.iter_errors(value)
    ]


def _pointer(path: list[str | int]) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


@dataclass(frozen=True)
class Field:
    """One field of a run."""

    name: str
    kind: FieldKind
    schema: Mapping[str, JSON]  # of the value; of one element or item for sets and logs
    initial: JSON = None
    owner: str | None = None  # the only scope that may write it
    material: bool = False

    @property
    def first_value(self) -> JSON:
        return empty(self.kind) if self.initial is None else self.initial

    @cached_property
    def validator(self) -> jsonschema_rs.Validator:
        """Checks a whole value, as given when a run is created."""
        return compile_schema(self.value_schema)

    @property
    def value_schema(self) -> Mapping[str, JSON]:
        match self.kind:
            case FieldKind.COUNTER:
                return {"type": "integer", "minimum": 0, "maximum": MAX_COUNT}
            case FieldKind.SET:
                return {"type": "array", "items": self.schema, "uniqueItems": True}
            case FieldKind.LOG:
                return {"type": "array", "items": self.schema}
            case _:
                return self.schema


@dataclass(frozen=True, slots=True)
class Rule:
    """One conflict rule: when one of these fields was touched (and holds one of `to`), then this."""

    when_changed: tuple[str, ...]
    then: Disposition
    because: str
    to: tuple[JSON, ...] | None = None


@dataclass(frozen=True)
class Command:
    """One narrow change that people and agents may ask for."""

    name: str
    title: str
    scope: str
    params: Mapping[str, Mapping[str, JSON]] = field(default_factory=dict)  # name -> JSON Schema
    effects: tuple[Op, ...] = ()  # values are literals or "{param}" placeholders
    status: RunStatus | None = None
    reads: frozenset[str] = frozenset()
    only_when: Mapping[str, tuple[JSON, ...]] = field(default_factory=dict)
    allowed_in: frozenset[RunStatus] = OPEN_FOR_WORK
    on_conflict: tuple[Rule, ...] = ()
    otherwise: Disposition = Disposition.ESCALATE
    entry_kind: str = "command.committed"

    @cached_property
    def params_schema(self) -> Mapping[str, JSON]:
        return {
            "type": "object",
            "properties": {name: dict(schema) for name, schema in self.params.items()},
            "required": list(self.params),
            "additionalProperties": False,
        }

    @cached_property
    def validator(self) -> jsonschema_rs.Validator:
        return compile_schema(self.params_schema)

    @cached_property
    def writes(self) -> frozenset[str]:
        return frozenset(op.field for op in self.effects)

    def param_of(self, field_name: str) -> str | None:
        """The parameter that gives the new value of a field, where there is one."""
        return next((self._named_by(op.value) for op in self.effects if op.field == field_name), None)

    def ops(self, params: Mapping[str, JSON]) -> tuple[Op, ...]:
        """The operations with their placeholders filled in from `params`."""
        return tuple(self._filled(op, params) for op in self.effects)

    def _filled(self, op: Op, params: Mapping[str, JSON]) -> Op:
        name = self._named_by(op.value)
        return op if name is None else Op(op.field, op.verb, params[name], at=f"/params/{name}")

    def _named_by(self, value: JSON) -> str | None:
        """The parameter that a placeholder such as `{amount}` names."""
        is_placeholder = isinstance(value, str) and value.startswith("{") and value.endswith("}")
        return value[1:-1] if is_placeholder and value[1:-1] in self.params else None


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for the immutable output of one worker."""

    name: str
    title: str
    scope: str
    media_types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dispatch:
    """How an effect is sent: time limit of one attempt and lease in seconds, and attempts at most."""

    timeout_seconds: int
    lease_seconds: int
    attempts: int


@dataclass(frozen=True)
class Action:
    """A consequential action: what is frozen, who must approve, where it goes."""

    name: str
    title: str
    sentence: str
    scope: str
    destination: str
    payload: Mapping[str, str] | None  # a template by member; None: the request supplies it
    contract: str  # exact | until_changed
    authorize: str  # automatic | coordinator
    dispatch: Dispatch
    slots: tuple[str, ...] = ()
    reads: frozenset[str] = frozenset()
    only_when: Mapping[str, tuple[JSON, ...]] = field(default_factory=dict)
    standing: Mapping[str, str] | None = None  # {"amount": field, "currency": field}
    allowed_in: frozenset[RunStatus] = frozenset({RunStatus.WORKING, RunStatus.READY_FOR_REVIEW})
    compensates: str | None = None
    on_conflict: tuple[Rule, ...] = ()
    otherwise: Disposition = Disposition.ESCALATE

    @cached_property
    def payload_fields(self) -> frozenset[str]:
        """The fields that the payload template shows."""
        texts = (self.payload or {}).values()
        return frozenset(text[8:-1] for text in texts if text.startswith("{fields."))


@dataclass(frozen=True, slots=True)
class Policy:
    """The consent part and the terms of a workflow. The definition gives the first one; people edit it later."""

    operators: frozenset[str]
    reviewers: frozenset[str]
    quorum: int
    separation: str  # strict | relaxed
    decision_expires_after: int  # seconds
    run_expires_after: int  # seconds
    budget: Budget
    limits: Mapping[str, str] = field(default_factory=dict)
    retention: Mapping[str, int] = field(default_factory=dict)  # seconds, by kind of content
    reauthenticate_within: int | None = None  # seconds; None: no step-up
    suspended: bool = False
    version: int = 1
    authority_version: int = 1


@dataclass(frozen=True, slots=True)
class Create:
    """Who may create a run, and which fields that scope alone may set."""

    scope: str
    fields: frozenset[str]


@dataclass(frozen=True)
class Workflow:
    """One revision of a named definition."""

    slug: str
    title: str
    labels: Mapping[str, str]
    policy: Policy
    create: Create
    fields: Mapping[str, Field]
    slots: Mapping[str, Slot]
    commands: Mapping[str, Command]
    actions: Mapping[str, Action]
    revision: int = 0  # given when stored
    sha256: str = ""

    def label(self, status: RunStatus) -> str:
        """What people call this status in this workflow."""
        return self.labels.get(status.value, status.value.replace("_", " "))

    def command(self, name: str) -> Command | None:
        """A command of this workflow or a built-in one."""
        return self.commands.get(name) or self.builtins.get(name)

    @cached_property
    def builtins(self) -> Mapping[str, Command]:
        """The commands that every workflow has."""
        return {
            "cancel": Command(
                "cancel", "Cancel the run", f"{self.slug}:cancel",
                status=RunStatus.CANCELLED, allowed_in=CANCELLABLE,
                otherwise=Disposition.RETRY, entry_kind="run.cancelled",
            ),
            "reopen": Command(
                "reopen", "Open a new cycle", "operators",
                status=RunStatus.WORKING, allowed_in=REOPENABLE,
                otherwise=Disposition.RETRY, entry_kind="run.reopened",
            ),
            "expire": Command(
                "expire", "End the run by its time limit", "system",
                status=RunStatus.EXPIRED, allowed_in=CANCELLABLE,
                otherwise=Disposition.RETRY, entry_kind="run.expired",
            ),
            "move-to-revision": Command(
                "move-to-revision", "Move to another revision of the workflow", "admins",
                params={"revision": {"type": "integer", "minimum": 1}},
                allowed_in=OPEN_FOR_WORK, otherwise=Disposition.RETRY, entry_kind="run.moved",
            ),
        }  # fmt: skip

    @cached_property
    def freezes(self) -> Mapping[str, Command]:
        """The freeze of each action as a command, for judging conflicts. Nobody can ask for one by this name."""
        return {
            f"freeze:{name}": Command(
                f"freeze:{name}", action.title, action.scope,
                reads=action.reads, only_when=action.only_when, allowed_in=action.allowed_in,
                on_conflict=action.on_conflict, otherwise=action.otherwise, entry_kind="snapshot.frozen",
            )
            for name, action in self.actions.items()
        }  # fmt: skip

    def judged(self, name: str) -> Command | None:
        """A command or a freeze by the name under which conflicts and cases know it."""
        return self.command(name) or self.freezes.get(name)

    @cached_property
    def declares_start(self) -> bool:
        """Whether a command of its own leads out of `received`; if none does, the first committed one does."""
        return any(command.status is not None for command in self.commands.values())

    @cached_property
    def material(self) -> frozenset[str]:
        return frozenset(name for name, item in self.fields.items() if item.material)

    def facts_of_consent(self, action: Action) -> frozenset[str]:
        """The fields whose values an approval of `action` is given for."""
        return self.material | action.reads | frozenset(action.only_when) | action.payload_fields

    def writers(self, field_name: str) -> tuple[Command, ...]:
        """The commands that write a field."""
        return tuple(command for command in self.commands.values() if field_name in command.writes)


__all__ = [
    "Action", "Command", "Create", "Dispatch", "Field", "Op", "Policy", "RESERVED_NAMES", "Rule", "Slot", "Verb",
    "Workflow", "compile_schema", "schema_faults",
]  # fmt: skip
