"""The states of an effect, once and for all, and what each makes of its run; outcomes of attempts and next steps. Pure.

The database guard `outbox_effect_state_legal` is compared with `LEGAL_STEPS` by a test.
"""

from enum import StrEnum

from runs.states import RunStatus


class EffectState(StrEnum):
    """Where an outside action stands."""

    PENDING = "pending"  # authorized and never claimed
    DISPATCHING = "dispatching"  # leased, or waiting for its next step
    SUCCEEDED = "succeeded"  # proven to have happened
    FAILED = "failed"  # proven not to have happened, for good
    NEEDS_RECONCILIATION = "needs_reconciliation"  # unknown: a person must find out
    CANCELLED = "cancelled"  # withdrawn, and proven not to have happened

    @property
    def is_end(self) -> bool:
        return self in ENDS


E = EffectState

ENDS = frozenset({E.SUCCEEDED, E.FAILED, E.CANCELLED})

#: Every legal change of state.
LEGAL_STEPS: frozenset[tuple[EffectState, EffectState]] = frozenset(
    {
        (E.PENDING, E.DISPATCHING),
        (E.PENDING, E.CANCELLED),
        (E.PENDING, E.NEEDS_RECONCILIATION),
        (E.DISPATCHING, E.SUCCEEDED),
        (E.DISPATCHING, E.FAILED),
        (E.DISPATCHING, E.CANCELLED),
        (E.DISPATCHING, E.NEEDS_RECONCILIATION),
        (E.NEEDS_RECONCILIATION, E.SUCCEEDED),
        (E.NEEDS_RECONCILIATION, E.FAILED),
        (E.NEEDS_RECONCILIATION, E.DISPATCHING),
        (E.NEEDS_RECONCILIATION, E.CANCELLED),
    }
)

#: The status of a run whose effect (no compensation) is in this state.
RUN_STATUS: dict[EffectState, RunStatus] = {
    E.PENDING: RunStatus.APPROVED,
    E.DISPATCHING: RunStatus.DISPATCHING,
    E.SUCCEEDED: RunStatus.SENT,
    E.FAILED: RunStatus.FAILED,
    E.NEEDS_RECONCILIATION: RunStatus.NEEDS_RECONCILIATION,
    E.CANCELLED: RunStatus.REVOKED,
}


class Outcome(StrEnum):
    """What one attempt came to."""

    ACCEPTED = "accepted"  # the provider took it
    REFUSED = "refused"  # for good; this attempt did nothing
    THROTTLED = "throttled"  # come back later; this attempt did nothing
    NEVER_LEFT = "never-left"  # proven: no byte of it reached the provider
    UNKNOWN = "unknown"  # it may or may not have happened

    @property
    def proves_nothing_happened(self) -> bool:
        """Whether this attempt, taken alone, certainly did nothing."""
        return self in (Outcome.REFUSED, Outcome.THROTTLED, Outcome.NEVER_LEFT)


class Step(StrEnum):
    """What is done with an effect next."""

    SEND = "send"  # nothing may have left
    REPLAY = "replay"  # something may have left, and the provider recognises repeats
    LOOK_UP = "look-up"  # ask the provider whether it knows the key
    PERSON = "person"  # somebody has to find out
    NONE = "none"  # at an end


class Answer(StrEnum):
    """What a provider says of a key."""

    FOUND = "found"  # it happened
    NOT_FOUND = "not-found"  # proves something only late enough
    CANNOT_TELL = "cannot-tell"


class Finding(StrEnum):
    """A person's verdict on an unknown outcome."""

    HAPPENED = "happened"
    DID_NOT_HAPPEN = "did_not_happen"
    CANNOT_TELL = "cannot_tell"


class RepairKind(StrEnum):
    """What an admin may order."""

    RESEND = "resend"  # after did_not_happen
    MARK_FAILED = "mark_failed"  # after did_not_happen
    RELEASE = "release"  # from quarantine to needs_reconciliation
