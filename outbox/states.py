"""The states of an effect, once and for all, and what each makes of its run. Pure.

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


E = EffectState

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

ENDS = frozenset({E.SUCCEEDED, E.FAILED, E.CANCELLED})

#: The status of a run whose effect (no compensation) is in this state.
RUN_STATUS: dict[EffectState, RunStatus] = {
    E.PENDING: RunStatus.APPROVED,
    E.DISPATCHING: RunStatus.DISPATCHING,
    E.SUCCEEDED: RunStatus.SENT,
    E.FAILED: RunStatus.FAILED,
    E.NEEDS_RECONCILIATION: RunStatus.NEEDS_RECONCILIATION,
    E.CANCELLED: RunStatus.REVOKED,
}
