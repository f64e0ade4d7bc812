"""One attempt to apply a command: everything that one consistent read gave, and the steps and answers computed from it.

Computes and reads; what is written is decided in `actions` and `refusals`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from runs import catalog, store
from runs.conflicts import MAX_VERSIONS_BACK, Case, classify, retry_without_base, state_at_base
from runs.definitions import Command, Policy, Workflow
from runs.digest import canonical, sha256_hex
from runs.errors import Fault, InvalidParams, NotFound
from runs.states import RunStatus
from runs.store import Found, Record
from runs.transitions import apply, consent_after, move, void_review
from runs.values import CommandRequest, ConsentNote, Judgement, Principal, RunReading, RunState, Step

JSON = Any


def request_sha256(identity: Mapping[str, JSON]) -> str:
    """The hash by which a repeat is recognised."""
    return sha256_hex(canonical(identity))


@dataclass(frozen=True)
class Attempt:
    """A command, its caller, and the one reading it is judged against."""

    principal: Principal
    request: CommandRequest
    expected: int
    found: Found
    run: RunReading
    workflow: Workflow
    policy: Policy
    command: Command

    @property
    def intent(self) -> str:
        return self.request.counted_intent

    def next_step(self) -> Step:
        """What the command makes of the current state."""
        if self.command.name == "move-to-revision":
            return move(self.run.state, self.workflow, self._target_revision())
        return apply(self.workflow, self.run.state, self.command, self.request.params)

    def _target_revision(self) -> Workflow:
        revision = self.request.params["revision"]
        try:
            return catalog.definition(self.run.workflow, revision)
        except NotFound as missing:
            fault = Fault("/params/revision", "unknown", f"There is no revision {revision} of {self.run.workflow}.")
            raise InvalidParams(fault.detail, errors=[fault]) from missing

    @cached_property
    def base(self) -> RunState | None:
        """The state at the expected version, where it can be reconstructed."""
        return None if self._between is None else state_at_base(self.run.state, self._between)

    @cached_property
    def _between(self) -> tuple[Any, ...] | None:
        behind = self.run.version - self.expected
        if self.expected < 1 or not 0 <= behind <= MAX_VERSIONS_BACK:
            return None
        return store.entries_between(self.run, self.expected)

    def judge(self) -> Judgement:
        """Classify the command against what happened since its base."""
        if self.base is None or self._between is None:
            return retry_without_base("The version this was computed from cannot be compared any more: read again.")
        case = Case(
            self.workflow, self.command, self.request.params, self.principal.actor,
            self.base, self.run.state, self._between,
        )  # fmt: skip
        return classify(case)

    def record(self, state: str, answer: dict[str, JSON]) -> Record:
        """What is recorded for the command's id."""
        identity = request_sha256(self.request.identity())
        return Record(self.principal.actor, self.request.id, self.request.name, identity, state, answer)

    def body(self, **facts: JSON) -> dict[str, JSON]:
        """The body of the ledger entry that tells this command."""
        return {**self.request.identity(), "base_version": self.expected, "revision": self.run.revision, **facts}


@dataclass(frozen=True, slots=True)
class Advance:
    """The run after a step, with what the step changed and what became of a review."""

    after: RunReading
    changes: Mapping[str, Mapping[str, JSON]]
    consent: ConsentNote | None


def advance(attempt: Attempt, step: Step) -> Advance:
    """The run one version further, with consent judged in the same step."""
    run, now, version = attempt.run, attempt.found.now, attempt.run.version + 1
    consent = None
    if run.under_review is not None and run.state.active_snapshot is not None:
        consent = consent_after(run.under_review, step, attempt.principal.actor, version)
        step = step if consent.stands else void_review(step, run.state.active_snapshot)
    is_new_cycle = run.state.status is not RunStatus.RECEIVED and attempt.command.name == "reopen"
    after = replace(
        run,
        version=version,
        revision=step.revision or run.revision,
        state=step.state,
        input_version=version if attempt.workflow.material & step.changes.keys() else run.input_version,
        under_review=run.under_review if step.state.active_snapshot else None,
        updated_at=now,
        cycle_started_at=now if is_new_cycle else run.cycle_started_at,
    )
    return Advance(after, step.changes, consent)
