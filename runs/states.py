"""The states of a run, once and for all: which there are, what they mean, which step leads where and who owns it.

Imports the standard library only. The database guard `runs_status_legal` and the state table in
`docs/concurrency.md` are compared with `LEGAL_STEPS` by tests.
"""

from dataclasses import dataclass
from enum import StrEnum


class RunStatus(StrEnum):
    """Where a business record stands."""

    RECEIVED = "received"  # created, nobody worked on it yet
    WORKING = "working"  # agents and people change it
    READY_FOR_REVIEW = "ready_for_review"  # a frozen snapshot waits for reviewers
    APPROVED = "approved"  # authorized: one effect exists and nothing may have left
    DISPATCHING = "dispatching"  # a worker holds or held the effect
    SENT = "sent"  # the effect succeeded
    FAILED = "failed"  # the effect failed and nothing happened
    NEEDS_RECONCILIATION = "needs_reconciliation"  # nobody knows whether the effect happened
    REVOKED = "revoked"  # the approval was withdrawn and nothing happened
    CANCELLED = "cancelled"  # ended by a person or an agent with the scope
    EXPIRED = "expired"  # ended by the clock


class Disposition(StrEnum):
    """What is done with a command whose version was stale."""

    RETRY = "retry"  # nothing written; the caller reads again and decides anew
    MERGE = "merge"  # applied to the current state
    REJECT = "reject"  # recorded as rejected; the id can never take effect later
    ESCALATE = "escalate"  # an operator decides


class Role(StrEnum):
    """What a person may be."""

    REVIEWER = "reviewer"  # approves or revokes snapshots
    OPERATOR = "operator"  # works on runs and settles conflicts
    ADMIN = "admin"  # repairs, edits policy, people, agents, destinations
    AUDITOR = "auditor"  # reads everything, acts on nothing


R = RunStatus

#: Every legal change of status, and who owns the step.
LEGAL_STEPS: dict[tuple[RunStatus, RunStatus], str] = {
    (R.RECEIVED, R.WORKING): "whoever commits the first command",
    (R.RECEIVED, R.READY_FOR_REVIEW): "whoever freezes",
    (R.RECEIVED, R.CANCELLED): "operators, or the scope to cancel",
    (R.RECEIVED, R.EXPIRED): "the clock",
    (R.WORKING, R.READY_FOR_REVIEW): "whoever freezes",
    (R.WORKING, R.CANCELLED): "operators, or the scope to cancel",
    (R.WORKING, R.EXPIRED): "the clock",
    (R.READY_FOR_REVIEW, R.WORKING): "a reviewer who denies, or a change that voids consent",
    (R.READY_FOR_REVIEW, R.APPROVED): "the last needed approval, or the coordinator",
    (R.READY_FOR_REVIEW, R.CANCELLED): "operators, or the scope to cancel",
    (R.READY_FOR_REVIEW, R.EXPIRED): "the clock",
    (R.APPROVED, R.DISPATCHING): "a worker's claim",
    (R.APPROVED, R.REVOKED): "a reviewer who revokes, or a claim that is refused",
    (R.APPROVED, R.NEEDS_RECONCILIATION): "an admin who releases from quarantine",
    (R.DISPATCHING, R.SENT): "the provider's answer",
    (R.DISPATCHING, R.FAILED): "the provider's answer, or a last attempt that never left",
    (R.DISPATCHING, R.NEEDS_RECONCILIATION): (
        "an attempt or a look-up that leaves it unknown, a claim that is refused,"
        " or an admin who releases from quarantine"
    ),
    (R.DISPATCHING, R.REVOKED): (
        "a reviewer who revokes, a claim that is refused, or an attempt that did nothing after a revocation"
    ),
    (R.NEEDS_RECONCILIATION, R.SENT): "an admin's verdict, or the provider's answer",
    (R.NEEDS_RECONCILIATION, R.FAILED): "an admin's repair",
    (R.NEEDS_RECONCILIATION, R.DISPATCHING): "an admin who orders a resend",
    (R.NEEDS_RECONCILIATION, R.REVOKED): "an admin's verdict on a revoked approval, or a reviewer who revokes",
    (R.SENT, R.WORKING): "an operator who reopens",
    (R.FAILED, R.WORKING): "an operator who reopens",
    (R.REVOKED, R.WORKING): "an operator who reopens",
}

ENDS = frozenset({R.CANCELLED, R.EXPIRED})
OPEN_FOR_WORK = frozenset({R.RECEIVED, R.WORKING})
REOPENABLE = frozenset({R.SENT, R.FAILED, R.REVOKED})
CANCELLABLE = frozenset({R.RECEIVED, R.WORKING, R.READY_FOR_REVIEW})
#: A command that writes a fact of consent is legal here at most.
BEFORE_CONSENT_IS_SPENT = frozenset({R.RECEIVED, R.WORKING, R.READY_FOR_REVIEW})


@dataclass(frozen=True, slots=True)
class StatusStory:
    """What a status means to people."""

    meaning: str
    next_step: str


STORIES: dict[RunStatus, StatusStory] = {
    R.RECEIVED: StatusStory("New; nobody has worked on it yet.", "Any legal command starts the work."),
    R.WORKING: StatusStory("Agents and people are changing it.", "Freeze a candidate for review when it is complete."),
    R.READY_FOR_REVIEW: StatusStory("A frozen snapshot waits for reviewers.", "Reviewers approve or deny."),
    R.APPROVED: StatusStory("Authorized; nothing has left yet.", "A worker claims the effect, or a reviewer revokes."),
    R.DISPATCHING: StatusStory("A worker is sending, or waits for its next step.", "The provider's answer settles it."),
    R.SENT: StatusStory("The effect is confirmed.", "An operator may reopen it for a new cycle."),
    R.FAILED: StatusStory("The effect failed; nothing happened outside.", "An operator may reopen it for a new cycle."),
    R.NEEDS_RECONCILIATION: StatusStory(
        "Unknown whether the effect happened.", "An admin finds out and gives a verdict."
    ),
    R.REVOKED: StatusStory(
        "The approval was withdrawn; nothing happened outside.", "An operator may reopen it for a new cycle."
    ),
    R.CANCELLED: StatusStory("Ended before anything was authorized.", "Nothing follows."),
    R.EXPIRED: StatusStory("Ended by its time limit.", "Nothing follows."),
}


def exits(status: RunStatus) -> dict[RunStatus, str]:
    """The statuses that may follow `status`, each with the owner of the step."""
    return {to: owner for (start, to), owner in LEGAL_STEPS.items() if start == status}
