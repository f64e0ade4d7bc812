"""What can be wrong with a definition, under stable codes, and the list in which every finding is collected.

Pure. `docs/workflows.md` explains each code; a test compares.
"""

from enum import StrEnum

from runs.errors import Fault


class FaultCode(StrEnum):
    """Why a definition is refused."""

    SYNTAX = "syntax"  # the text is no TOML
    UNKNOWN_KEY = "unknown-key"  # no key of this name has a meaning here
    MISSING_KEY = "missing-key"
    WRONG_TYPE = "wrong-type"
    NOT_JSON = "not-json"  # a date, infinity or other value that JSON cannot hold
    BAD_FORM = "bad-form"  # a name, scope, duration or text that is not written as it must be
    NOT_AMONG = "not-among"  # none of the values that are possible here
    TOO_SMALL = "too-small"
    EMPTY = "empty"  # a list that needs at least one element
    DUPLICATE = "duplicate"  # a list that names something twice
    RESERVED_NAME = "reserved-name"  # the name has a meaning of its own
    NAME_TAKEN = "name-taken"  # an action and a command share a name
    BAD_SCHEMA = "bad-schema"  # no JSON Schema
    SCHEMA_REFERENCE = "schema-reference"  # a schema that refers outside itself
    LOG_ITEM_WITHOUT_ID = "log-item-without-id"
    DOES_NOT_FIT = "does-not-fit"  # a value that the schema of its field cannot hold
    UNKNOWN_FIELD = "unknown-field"
    UNKNOWN_STATUS = "unknown-status"
    UNKNOWN_SLOT = "unknown-slot"
    UNKNOWN_ACTION = "unknown-action"
    UNKNOWN_PLACEHOLDER = "unknown-placeholder"
    PLACEHOLDER_FORM = "placeholder-form"  # a placeholder where only a whole value may be one, or a stray brace
    VERB_MISMATCH = "verb-mismatch"  # an operation that the kind of the field does not understand
    WRITTEN_TWICE = "written-twice"  # one command, two operations on one field
    OWNER_SCOPE = "owner-scope"  # a field that only another scope may write
    NOT_DECIMAL = "not-decimal"  # an amount that could be something else than a decimal number
    NOT_A_FACT = "not-a-fact"  # a field that reviewers would see but not approve
    STANDING_NOT_PAID = "standing-not-paid"  # a standing approval measured by what the payload does not show
    NOT_COMPENSABLE = "not-compensable"  # a compensation of itself or of a compensation
    ILLEGAL_STEP = "illegal-step"  # a change of status that nobody may make this way
    UNREACHABLE_STATUS = "unreachable-status"  # a status that no run of this workflow ever has
    UNSAFE_MERGE = "unsafe-merge"  # a merge that could override a decision
    CONSENT_WRITTEN_LATE = "consent-written-late"  # a fact of consent that could change after consent was spent
    LEASE_TOO_SHORT = "lease-too-short"  # a lease that ends before an attempt does


class WarningCode(StrEnum):
    """What is probably not meant, though it breaks nothing."""

    NEVER_MATCHES = "never-matches"  # a conflict rule that can never decide
    NO_EFFECT = "no-effect"  # a command that changes nothing
    PARAM_UNUSED = "param-unused"
    NEVER_WRITTEN = "never-written"  # a field that keeps its first value for ever


class Findings:
    """The faults and warnings found so far, each with its place, such as `commands.assign.on_conflict[0].to`."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.warnings: list[Fault] = []

    def refuse(self, place: str, code: FaultCode, words: str) -> None:
        self.faults.append(Fault(place, code.value, words))

    def warn(self, place: str, code: WarningCode, words: str) -> None:
        self.warnings.append(Fault(place, code.value, words))

    def touches(self, *places: str) -> bool:
        """Whether a fault was found at or below one of `places`, so that nothing can be concluded from it."""
        return any(_within(fault.pointer, place) for fault in self.faults for place in places)


def _within(place: str, outer: str) -> bool:
    return place == outer or place.startswith((f"{outer}.", f"{outer}["))
