"""The words of review: verdicts, what state a snapshot is in, and on which side of the boundary a run is. Pure."""

from enum import StrEnum


class Verdict(StrEnum):
    """What a person says of a snapshot."""

    APPROVE = "approve"
    DENY = "deny"


class SnapshotState(StrEnum):
    """A snapshot has no stored state: it follows from what refers to it."""

    AUTHORIZED = "authorized"  # an effect names it
    ACTIVE = "active"  # its run points at it
    DENIED = "denied"  # a deny exists
    SUPERSEDED = "superseded"  # none of these


class Boundary(StrEnum):
    """What revoking does now. A fact of attempts, never a state."""

    BEFORE_AUTHORIZATION = "before-authorization"  # the approval no longer counts
    REVOCABLE = "revocable"  # authorized, and nothing may have left: the effect is cancelled
    IN_FLIGHT = "in-flight"  # something may have left: it ends as what is found
    SENT = "sent"  # a remediation is opened
    NONE = "none"  # nothing left to revoke


class Contract(StrEnum):
    """How long an approval stands."""

    EXACT = "exact"  # while the run is at the version the snapshot froze
    UNTIL_CHANGED = "until_changed"  # while every fact of consent has the value the snapshot froze


def snapshot_state(*, has_effect: bool, is_pointed_at: bool, has_deny: bool) -> SnapshotState:
    """The state of a snapshot from what refers to it."""
    if has_effect:
        return SnapshotState.AUTHORIZED
    if is_pointed_at:
        return SnapshotState.ACTIVE
    return SnapshotState.DENIED if has_deny else SnapshotState.SUPERSEDED
