"""Where an effect stands, in words that are computed from facts: asked, sent, confirmed and unknown are never swapped.

What was sent counts from the last order to send again: earlier attempts were found not to have happened.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from outbox.cases import Case
from outbox.models import Attempt, Effect, Lookup, Verdict
from outbox.states import Answer, EffectState, Finding, Outcome, Step

Proof = Attempt | Lookup | Verdict


class Stage(StrEnum):
    """What people need to tell apart; several stages share a state."""

    WAITING = "waiting"  # authorized, and nothing has been tried
    TAKEN = "taken"  # a worker has it and has not begun to send
    SENDING = "sending"  # a worker has it and may be sending
    AGAIN = "again"  # nothing may have left; it is sent at a time
    REPLAYED = "replayed"  # unknown; the same key goes out again at a time
    ASKED = "asked"  # unknown; the provider is asked at a time
    UNKNOWN = "unknown"  # unknown; a person has to find out
    QUARANTINED = "quarantined"  # what a restored database cannot know; an admin releases it
    FOUND_NOT = "found-not"  # a person found that it did not happen; somebody orders what follows
    HAPPENED = "happened"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class StageLook:
    """How a stage is shown in a word or two: never by its colour alone, and never as more than is known."""

    label: str
    icon: str
    tone: str


STAGE_LOOKS: dict[Stage, StageLook] = {
    Stage.WAITING: StageLook("waiting to be sent", "clock", "info"),
    Stage.TAKEN: StageLook("about to be sent", "send", "info"),
    Stage.SENDING: StageLook("being sent", "send", "info"),
    Stage.AGAIN: StageLook("not sent yet, tried again", "clock", "info"),
    Stage.REPLAYED: StageLook("outcome unknown, repeating", "circle-question-mark", "severe"),
    Stage.ASKED: StageLook("outcome unknown, asking", "circle-question-mark", "severe"),
    Stage.UNKNOWN: StageLook("outcome unknown", "circle-question-mark", "severe"),
    Stage.QUARANTINED: StageLook("in quarantine since a restore", "octagon-pause", "severe"),
    Stage.FOUND_NOT: StageLook("found: it did not happen", "hand", "warn"),
    Stage.HAPPENED: StageLook("confirmed", "circle-check", "good"),
    Stage.FAILED: StageLook("failed, nothing happened", "circle-x", "bad"),
    Stage.CANCELLED: StageLook("cancelled, nothing happened", "ban", "quiet"),
}

_WAITING_FOR = {Step.SEND: Stage.AGAIN, Step.REPLAY: Stage.REPLAYED, Step.LOOK_UP: Stage.ASKED}
_ENDS = {
    EffectState.SUCCEEDED: Stage.HAPPENED,
    EffectState.FAILED: Stage.FAILED,
    EffectState.CANCELLED: Stage.CANCELLED,
}


@dataclass(frozen=True, slots=True)
class Standing:
    """The facts of the headline."""

    stage: Stage
    sent: tuple[Attempt, ...]  # the attempts that may have done something
    proof: Proof | None  # of what happened, or of what did not

    @property
    def look(self) -> StageLook:
        return STAGE_LOOKS[self.stage]

    @property
    def times(self) -> str:
        """How often it was sent."""
        return {1: "once", 2: "twice"}.get(len(self.sent), f"{len(self.sent)} times")

    @property
    def last_at(self) -> datetime | None:
        return self.sent[-1].send_started_at if self.sent else None

    @property
    def proof_kind(self) -> str:
        """attempt | lookup | verdict, or empty."""
        return type(self.proof).__name__.lower() if self.proof else ""

    @property
    def is_unknown(self) -> bool:
        """Whether nobody knows if it happened."""
        return self.stage in (Stage.REPLAYED, Stage.ASKED, Stage.UNKNOWN)


def standing_of(case: Case) -> Standing:
    """Where the effect of a case stands."""
    stage = _stage(case)
    return Standing(stage, tuple(_sent(case)), _proof(case, stage))


def _stage(case: Case) -> Stage:
    stage = stage_of(case.effect)
    if stage is Stage.SENDING and not case.attempts[-1].send_started_at:
        return Stage.TAKEN
    return stage


def stage_of(effect: Effect) -> Stage:
    """Where an effect stands as far as its row alone tells."""
    state = EffectState(effect.state)
    if state.is_end:
        return _ENDS[state]
    if effect.quarantined:
        return Stage.QUARANTINED
    if state is EffectState.PENDING:
        return Stage.WAITING
    if state is EffectState.NEEDS_RECONCILIATION:
        return Stage.UNKNOWN if effect.may_have_left else Stage.FOUND_NOT
    return Stage.SENDING if effect.lease_owner else _WAITING_FOR.get(Step(effect.next_step), Stage.UNKNOWN)


def _sent(case: Case) -> Sequence[Attempt]:
    """The attempts whose bytes may have reached the provider, since it was last ordered to be sent again."""
    since = case.tried_since
    return [item for item in case.attempts if _may_have_left(item) and since is not None and item.started_at >= since]


def _may_have_left(attempt: Attempt) -> bool:
    if attempt.send_started_at is None:
        return False
    return attempt.outcome is None or not Outcome(attempt.outcome).proves_nothing_happened


def _proof(case: Case, stage: Stage) -> Proof | None:
    """What settles it: the provider's own word before a person's, the newest first."""
    if stage is Stage.HAPPENED:
        accepted = [item for item in case.attempts if item.outcome == Outcome.ACCEPTED]
        found = [item for item in case.lookups if item.answer == Answer.FOUND]
        happened = [item for item in case.verdicts if item.verdict == Finding.HAPPENED]
        return _first([*accepted[::-1], *found[::-1], *happened[::-1]])
    if stage in (Stage.FAILED, Stage.CANCELLED, Stage.FOUND_NOT, Stage.AGAIN):
        found_not = [item for item in case.verdicts if item.verdict == Finding.DID_NOT_HAPPEN]
        refused = [item for item in case.attempts if item.outcome == Outcome.REFUSED]
        return _first([*found_not[::-1], *refused[::-1]])
    return None


def _first(proofs: Sequence[Proof]) -> Proof | None:
    return proofs[0] if proofs else None
