"""What becomes of a command, whichever action it belongs to: the outcome, and the outcome an id already stands for.

Reads and judges; writes nothing.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runs import authority, store
from runs.attempts import Attempt, request_sha256
from runs.definitions import Policy, Workflow
from runs.errors import CommandIdReused, NotFound, WeakPrecondition
from runs.permissions import may_see
from runs.store import Found
from runs.values import WEAK_BASE, CommandRequest, Principal, RunReading

JSON = Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a command: its state, the recorded answer, and the run where the answer shows one."""

    state: str  # committed | merged | unchanged | rejected | retry | escalated | superseded
    answer: Mapping[str, JSON]
    run: RunReading | None = None
    workflow: Workflow | None = None
    ledger_epoch: int = 0
    is_replay: bool = False
    resolution: Mapping[str, JSON] | None = None

    @property
    def is_refusal(self) -> bool:
        """Whether the answer is a 412: nothing of the command was applied."""
        return self.state in ("rejected", "retry", "escalated")


def visible(principal: Principal, found: Found) -> tuple[RunReading, Principal, Policy]:
    """The run, with the principal's authority and the policy of this moment. Raises `NotFound`."""
    principal = authority.current(principal, found.authority_epoch, found.now)
    if found.run is None:
        raise NotFound
    policy = authority.policy_of(found.run.workflow, found.authority_epoch)
    if not may_see(principal, found.run.workflow, policy):
        raise NotFound
    return found.run, principal, policy


def replayed(
    principal: Principal, found: Found, run: RunReading, expected: int, request: CommandRequest
) -> Outcome | None:
    """The recorded outcome of the id as it stands now, if it stands for this request.

    Raises `CommandIdReused`, and `WeakPrecondition` where there is none and the tag was weak.
    """
    recorded = found.recorded
    if recorded is None:
        require_strong(expected)
        return None
    if recorded.request_sha256 != request_sha256(request.identity()):
        raise CommandIdReused(f"{request.id} was already used for another request, {recorded.name}.")
    answer = json.loads(recorded.answer)
    resolution = json.loads(recorded.resolution) if recorded.resolution else None
    if recorded.state == "retry" and answer.get("base_version") != expected:
        require_strong(expected)
        earlier = store.refusal_at(run.id, principal.actor, request.id, expected)
        return None if earlier is None else Outcome("retry", earlier, is_replay=True)
    return Outcome(recorded.state, answer, is_replay=True, resolution=resolution)


def require_strong(expected: int) -> None:
    """Raise `WeakPrecondition` for the version of a weak tag: only a repeat is answered whatever its tag says."""
    if expected == WEAK_BASE:
        raise WeakPrecondition


def refused(attempt: Attempt, answer: Mapping[str, JSON] | None) -> Outcome | None:
    """The outcome of a refusal by rule; None when something came between and nothing was written."""
    if answer is None:
        return None
    state = {"retry": "retry", "reject": "rejected", "escalate": "escalated"}[answer["disposition"]]
    return Outcome(state, answer, workflow=attempt.workflow)
