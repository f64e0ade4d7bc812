"""The frozen values that pure code computes with: who acts, what is asked, what a run is, what a step does.

Imports the standard library and `states` only. Nothing here knows the database or HTTP.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from runs.states import Disposition, Role, RunStatus

JSON = Any  # what a strict JSON document may hold: None, bool, int, float, str, list, dict

#: The expected version of a command whose tag is of another ledger epoch: it compares with nothing.
UNKNOWN_BASE = 0

#: The version that a weak tag names: none. A repeat is answered all the same, and anything else is refused.
WEAK_BASE = -1


def cited(evidence: Sequence[str]) -> dict[str, JSON]:
    """The references that came with a request, as a member of what is told of it; none where none came."""
    return {"evidence": list(evidence)} if evidence else {}


def version_tag(ledger_epoch: int, version: int) -> str:
    """The strong entity tag of a version. Opaque to clients; of an older ledger epoch it matches nothing."""
    return f'"{ledger_epoch}.{version}"'


@dataclass(frozen=True, slots=True)
class Principal:
    """Who acts. Comes from the credential, never from a body."""

    kind: str  # person | agent | system | cli
    name: str
    id: int = 0
    roles: frozenset[Role] = frozenset()
    groups: frozenset[str] = frozenset()
    scopes: frozenset[str] = frozenset()
    workflows: frozenset[str] = frozenset()
    owner: str | None = None  # username of the person who owns this agent
    grants: frozenset[str] = frozenset()  # usernames this agent may act for
    expires_at: datetime | None = None
    credential: str = field(default="", repr=False)  # hash of the token it came with, while that is to be confirmed

    @property
    def actor(self) -> str:
        """The name under which the ledger knows this principal, such as `agent:pricing`."""
        prefix = "user" if self.kind == "person" else self.kind
        return f"{prefix}:{self.name}"

    @property
    def is_agent(self) -> bool:
        return self.kind == "agent"

    @property
    def is_person(self) -> bool:
        return self.kind == "person"


@dataclass(frozen=True, slots=True)
class CommandRequest:
    """One intended change as its caller asked for it. The expected version travels apart: it is no part of it."""

    id: str
    name: str
    params: Mapping[str, JSON]
    reason: str
    evidence: tuple[str, ...] = ()
    intent: str | None = None
    branch: str | None = None
    on_behalf_of: str | None = None
    hand_over: bool = False  # a person hands a stale command to another operator

    @property
    def counted_intent(self) -> str:
        """The intent under which conflicts are counted and cases joined."""
        return self.intent or self.name

    def identity(self) -> dict[str, JSON]:
        """What must be equal for a repeat to be the same request."""
        return {
            "name": self.name,
            "params": dict(self.params),
            "reason": self.reason,
            "evidence": list(self.evidence),
            "intent": self.intent,
            "branch": self.branch,
            "on_behalf_of": self.on_behalf_of,
        }


@dataclass(frozen=True, slots=True)
class RunState:
    """What commands read and change: status, fields, pointer to the snapshot under review."""

    status: RunStatus
    fields: Mapping[str, JSON]
    active_snapshot: str | None = None

    def value(self, name: str) -> JSON:
        """The value of a field, or of `status` or `active_snapshot`."""
        if name == "status":
            return self.status.value
        if name == "active_snapshot":
            return self.active_snapshot
        return self.fields.get(name)


@dataclass(frozen=True, slots=True)
class UnderReview:
    """What a run keeps beside its snapshot pointer, so that a change can judge consent in its own commit."""

    contract: str  # exact | until_changed
    facts: frozenset[str]  # names of the facts of consent


@dataclass(frozen=True, slots=True)
class Held:
    """What an open escalation keeps agents from writing: a field whole (None), or elements of a set or log."""

    escalation: str
    principal: str
    intent: str
    elements: Mapping[str, tuple[str, ...] | None]


@dataclass(frozen=True, slots=True)
class RunReading:
    """Value, version and ledger head of a run, read together in one statement."""

    id: int
    key: str
    workflow: str
    revision: int
    version: int
    head_seq: int
    head_hash: str
    input_version: int
    state: RunState
    created_at: datetime
    updated_at: datetime
    cycle_started_at: datetime
    under_review: UnderReview | None = None
    held: tuple[Held, ...] = ()
    candidate_count: int = 0
    effect: str | None = None


@dataclass(frozen=True, slots=True)
class Between:
    """One ledger entry after the base of a command, as far as judging needs it."""

    seq: int
    version: int
    actor: str
    command_id: str | None
    changes: Mapping[str, Mapping[str, JSON]]
    kind: str = "command.committed"
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """What a command does to a state: the next state and, by name, each change."""

    state: RunState
    changes: Mapping[str, Mapping[str, JSON]]
    revision: int | None = None  # set by move-to-revision

    @property
    def is_empty(self) -> bool:
        return not self.changes


@dataclass(frozen=True, slots=True)
class ConsentNote:
    """Whether consent stands after a change, and why."""

    stands: bool
    because: str

    def as_json(self) -> dict[str, JSON]:
        return {"stands": self.stands, "because": self.because}


@dataclass(frozen=True, slots=True)
class ChangedField:
    """A field touched since the base of a command, and who touched it last."""

    field: str
    base: JSON
    current: JSON
    restored: bool
    version: int
    changed_by: str
    command_id: str | None

    def as_json(self) -> dict[str, JSON]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the classifier says of a stale command: disposition, the rule that decided, and why, in words."""

    disposition: Disposition
    rule: str
    because: str
    changed: tuple[ChangedField, ...] = ()
    unchanged: bool = False  # the effect of a log command is already there: nothing to do and no conflict
    against_self: bool = False  # the principal's own earlier write is behind it: never counted, never escalated


@dataclass(frozen=True, slots=True)
class Budget:
    """How many conflicts of one intent a workflow tolerates before a person sees it, and for how many seconds."""

    attempts: int
    elapsed_seconds: int


@dataclass(frozen=True, slots=True)
class Episode:
    """The conflicts of one intent counted so far."""

    counted: int = 0
    first_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class NewEntry:
    """A ledger entry about to be chained and written."""

    kind: str
    actor: str
    command_id: str | None
    body: Mapping[str, JSON]
    version: int
    touched: tuple[str, ...] = field(default=())
