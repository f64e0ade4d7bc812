"""What is done next with an effect: after this answer, with these capabilities, on this key clock.

Pure. An answer settles its attempt, never an earlier unknown one. Without safe replay an unknown outcome is
never sent again by itself, and a negative look-up is evidence for a person, never the reason to send.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from outbox.states import Answer, EffectState, Outcome, Step

#: A replay is claimed only when it fits before the end of the provider's memory with this margin.
KEY_MARGIN = timedelta(minutes=2)
#: Waits between attempts: doubled from the first, never longer than the last.
FIRST_WAIT = timedelta(seconds=2)
LONGEST_WAIT = timedelta(minutes=5)
_MOST_DOUBLINGS = 16  # past the longest wait, and far from where times overflow


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a destination declares that its provider can do."""

    recognises_repeats: bool
    key_retention: timedelta | None  # None: for ever
    has_lookup: bool
    settle_after: timedelta


@dataclass(frozen=True, slots=True)
class Position:
    """Where an effect stands when its next step is decided."""

    now: datetime
    may_have_left: bool  # after the answer at hand was taken into account
    attempts_used: int
    attempts_allowed: int
    key_clock_started_at: datetime | None
    lease_expired_at: datetime | None  # of the last attempt that may have left
    send_timeout: timedelta
    is_revoked: bool = False


@dataclass(frozen=True, slots=True)
class Next:
    """The state an effect takes, its next step, when that is due, and why, in words."""

    state: EffectState
    step: Step
    at: datetime | None
    because: str


def after_attempt(outcome: Outcome, can: Capabilities, at: Position, retry_after: timedelta | None = None) -> Next:
    """The next step after an attempt came to `outcome`. `retry_after` is what a throttling provider asked for."""
    match outcome:
        case Outcome.ACCEPTED:
            return _end(EffectState.SUCCEEDED, "the provider accepted it")
        case Outcome.UNKNOWN:
            return _after_unknown(can, at)
        case Outcome.REFUSED if not at.may_have_left:
            return _revoked(at) or _end(EffectState.FAILED, "the provider refused it for good; nothing happened")
        case Outcome.REFUSED:
            return _person("the provider refused this attempt, which does not settle an earlier unknown one")
        case Outcome.THROTTLED:
            return _again(can, at, retry_after or _wait(at), "the provider asked to wait")
        case Outcome.NEVER_LEFT:
            return _after_never_left(can, at)


def _after_unknown(can: Capabilities, at: Position) -> Next:
    if can.has_lookup:
        return Next(EffectState.DISPATCHING, Step.LOOK_UP, at.now, "the outcome is unknown: the provider is asked")
    return _replay_or_person(can, at, _wait(at), "the outcome is unknown and the provider cannot be asked")


def _after_never_left(can: Capabilities, at: Position) -> Next:
    if at.may_have_left:
        return _replay_or_person(can, at, _wait(at), "this attempt never left, an earlier one may have")
    if revoked := _revoked(at):
        return revoked
    if at.attempts_used >= at.attempts_allowed:
        return _end(EffectState.FAILED, "nothing was sent, and the attempts are used up")
    return Next(EffectState.DISPATCHING, Step.SEND, at.now + _wait(at), "it never left: it is sent again")


def _again(can: Capabilities, at: Position, wait: timedelta, because: str) -> Next:
    """After throttling: the same key later. It is not counted as an attempt."""
    if at.may_have_left:
        return _replay_or_person(can, at, wait, because, counts=False)
    return _revoked(at) or Next(EffectState.DISPATCHING, Step.SEND, at.now + wait, because)


def after_lookup(answer: Answer, can: Capabilities, at: Position) -> Next:
    """The next step after a look-up. `not-found` is asked again once it can prove something."""
    if answer is Answer.FOUND:
        return _end(EffectState.SUCCEEDED, "the provider knows it: it happened")
    if answer is Answer.CANNOT_TELL:
        return _replay_or_person(can, at, _wait(at), "the provider cannot tell")
    if (proven_at := proves_from(can, at)) and at.now < proven_at:
        words = "the provider does not know it yet; that proves nothing before its settling time"
        return Next(EffectState.DISPATCHING, Step.LOOK_UP, proven_at, words)
    return _replay_or_person(can, at, timedelta(0), "the provider does not know it, late enough to mean something")


def proves_from(can: Capabilities, at: Position) -> datetime | None:
    """From when on `not found` means something: the lease's end and then the settling time."""
    return None if at.lease_expired_at is None else at.lease_expired_at + can.settle_after


def _replay_or_person(can: Capabilities, at: Position, wait: timedelta, because: str, *, counts: bool = True) -> Next:
    if at.is_revoked:
        return _person(f"{because}; its approval was revoked, so nothing is sent again")
    if not can.recognises_repeats:
        return _person(f"{because}; the provider does not recognise repeats")
    if counts and at.attempts_used >= at.attempts_allowed:
        return _person(f"{because}; the attempts are used up")
    when = at.now + wait
    if not replay_fits(can, at, when):
        return _person(f"{because}; the provider's memory of the key ends too soon")
    return Next(EffectState.DISPATCHING, Step.REPLAY, when, f"{because}; the same key is sent again")


def replay_fits(can: Capabilities, at: Position, when: datetime) -> bool:
    """Whether a replay that starts at `when` ends before the provider forgets the key, with the margin."""
    until = replayable_until(can, at.key_clock_started_at)
    return can.recognises_repeats and (until is None or when + at.send_timeout + KEY_MARGIN <= until)


def replayable_until(can: Capabilities, started_at: datetime | None) -> datetime | None:
    """When the provider forgets the key; None while it has not seen it or where it never forgets."""
    if not can.recognises_repeats or can.key_retention is None or started_at is None:
        return None
    return started_at + can.key_retention


def _wait(at: Position) -> timedelta:
    doublings = min(max(0, at.attempts_used - 1), _MOST_DOUBLINGS)
    wait: timedelta = FIRST_WAIT * 2**doublings
    return min(wait, LONGEST_WAIT)


def _revoked(at: Position) -> Next | None:
    """What was revoked and certainly did not happen is cancelled."""
    if not at.is_revoked:
        return None
    return _end(EffectState.CANCELLED, "its approval was revoked before anything happened")


def _end(state: EffectState, because: str) -> Next:
    return Next(state, Step.NONE, None, because)


def _person(because: str) -> Next:
    return Next(EffectState.NEEDS_RECONCILIATION, Step.PERSON, None, because)
