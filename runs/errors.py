"""Errors of the domain: the root class and everything a run can refuse.

Imports the standard library only. An error has a stable `code` (the same in Python, API, logs and
counters), its docstring is the default message for people, and its members are the facts that differ.
It knows nothing of HTTP: `console/problems.py` holds the one table from class to status.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


class ClearanceError(Exception):
    """The request was refused."""

    code: ClassVar[str]

    def __init__(self, detail: str = "", /, **members: Any) -> None:
        self.detail = detail or (type(self).__doc__ or "").strip()
        self.members = members
        super().__init__(self.detail)


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of an input: where (a JSON pointer), which rule, and in words."""

    pointer: str
    code: str
    detail: str


class InputError(ClearanceError):
    """The input is not acceptable. `errors` lists every fault with its JSON pointer."""

    code = "invalid-params"

    def __init__(self, detail: str = "", /, *, errors: Sequence[Fault] = (), **members: Any) -> None:
        super().__init__(detail, **members)
        self.errors = tuple(errors)


# ---- the form of a request -------------------------------------------------------------------------------


class Malformed(InputError):
    """The body is not acceptable JSON."""

    code = "malformed"


class InvalidParams(InputError):
    """A value is not acceptable here."""

    code = "invalid-params"


class DefinitionInvalid(InputError):
    """The workflow definition is not acceptable."""

    code = "invalid-params"


class SecretInBody(InputError):
    """A value has the shape of a secret. Secrets are never stored: refer to them by name instead."""

    code = "secret-in-body"


class FieldsTooLarge(InputError):
    """All fields of a run together hold at most 256 KiB. Bulk belongs in artifacts."""

    code = "fields-too-large"


class ItemIdReused(InputError):
    """An item with this id is already in the log, with other content."""

    code = "item-id-reused"


class TooLarge(ClearanceError):
    """The body is larger than this endpoint takes."""

    code = "too-large"


class UnsupportedMediaType(ClearanceError):
    """Send JSON: the Content-Type must be application/json."""

    code = "unsupported-media-type"


class MalformedPrecondition(ClearanceError):
    """If-Match must hold exactly one quoted strong tag, as it was received in ETag."""

    code = "malformed-precondition"


class PreconditionRequired(ClearanceError):
    """This change needs If-Match with the tag of the version it was computed from."""

    code = "precondition-required"


class WeakPrecondition(ClearanceError):
    """The tag is weak: probably something in between compressed the answer. Read again and send the strong tag."""

    code = "weak-precondition"


# ---- who asks --------------------------------------------------------------------------------------------


class Unauthenticated(ClearanceError):
    """Sign in, or send a valid bearer token."""

    code = "unauthenticated"


class Forbidden(ClearanceError):
    """This is not for you to do."""

    code = "forbidden"


class ScopeMissing(ClearanceError):
    """The credential lacks the scope that this needs."""

    code = "scope-missing"


class AuthorityRevoked(ClearanceError):
    """The authority to do this was withdrawn."""

    code = "authority-revoked"


class WorkflowSuspended(ClearanceError):
    """The workflow is suspended."""

    code = "workflow-suspended"


class Halted(ClearanceError):
    """The installation is halted: nothing that could lead to an effect is accepted."""

    code = "halted"


class AgentsCannotDecide(ClearanceError):
    """No agent credential can decide, revoke, resolve or repair."""

    code = "agents-cannot-decide"


class SeparationOfDuties(ClearanceError):
    """One person cannot be on both sides of this decision."""

    code = "separation-of-duties"


class ReauthenticationRequired(ClearanceError):
    """Confirm who you are again before doing this."""

    code = "reauthentication-required"


class LimitExceeded(ClearanceError):
    """The value is above the limit of the workflow's policy: a person has to do this."""

    code = "limit-exceeded"


class NotFound(ClearanceError):
    """There is nothing here that you may see."""

    code = "not-found"


class RateLimited(ClearanceError):
    """Too many requests. Wait as told."""

    code = "rate-limited"


# ---- what a run refuses ----------------------------------------------------------------------------------


class InvalidTransition(ClearanceError):
    """The record does not allow this now."""

    code = "invalid-transition"


class RunExists(ClearanceError):
    """A run with this key exists with other content."""

    code = "run-exists"


class CommandInProgress(ClearanceError):
    """The first delivery of this id is still running. Ask again shortly."""

    code = "command-in-progress"


class CommandIdReused(ClearanceError):
    """This id was already used for another request."""

    code = "command-id-reused"


class VersionConflict(ClearanceError):
    """The record moved since the version this was computed from."""

    code = "version-conflict"

    def __init__(self, detail: str = "", /, *, problem: Mapping[str, Any] | None = None, **members: Any) -> None:
        super().__init__(detail, **{**(problem or {}), **members})


class EscalationClaimed(ClearanceError):
    """Somebody else holds this case."""

    code = "escalation-claimed"


class EscalationOpen(ClearanceError):
    """An open escalation proposes to change what this would freeze."""

    code = "escalation-open"


class AlreadyDecided(ClearanceError):
    """This was already decided."""

    code = "already-decided"


class LeaseHeld(ClearanceError):
    """Somebody else works on this branch and holds its lease."""

    code = "lease-held"


class StaleGeneration(ClearanceError):
    """A newer holder has the lease: what an older one still sends is not kept."""

    code = "stale-generation"


class OperationMismatch(ClearanceError):
    """The database refused a write that breaks a guard. This is an alarm, not a retry."""

    code = "operation-mismatch"


class Unavailable(ClearanceError):
    """The record is busy or the database cannot be reached. Nothing was written; try again."""

    code = "unavailable"
