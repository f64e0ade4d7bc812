"""What is done next: every answer, for every kind of destination, key clock and past, with hand-written expectations.

In the tables a column is a kind of destination and how its key clock stands; a row is what is true of the effect.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from outbox.retry import (
    FIRST_WAIT,
    KEY_MARGIN,
    LONGEST_WAIT,
    Capabilities,
    Next,
    Position,
    after_attempt,
    after_lookup,
    proves_from,
    replay_fits,
    replayable_until,
)
from outbox.states import Answer, EffectState, Outcome, Step

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
SETTLE = 10 * MINUTE

AT = Position(
    now=NOW,
    may_have_left=True,
    attempts_used=1,
    attempts_allowed=3,
    key_clock_started_at=NOW - HOUR,
    lease_expired_at=NOW - 5 * MINUTE,
    send_timeout=timedelta(seconds=20),
)


def capabilities(*, repeats: bool, lookup: bool, retention: timedelta | None = 24 * HOUR) -> Capabilities:
    return Capabilities(repeats, retention, lookup, SETTLE)


#: Column -> what the destination declares; `ends` is a provider whose memory of the key ends too soon.
COLUMNS = {
    "none": capabilities(repeats=False, lookup=False),
    "lookup": capabilities(repeats=False, lookup=True),
    "repeats": capabilities(repeats=True, lookup=False),
    "repeats-ends": capabilities(repeats=True, lookup=False, retention=HOUR),
    "repeats-for-ever": capabilities(repeats=True, lookup=False, retention=None),
    "both": capabilities(repeats=True, lookup=True),
    "both-ends": capabilities(repeats=True, lookup=True, retention=HOUR),
}

#: What a row may say of the effect.
FACTS = {
    "clear": {"may_have_left": False},
    "left": {"may_have_left": True},
    "used-up": {"attempts_used": 3},
    "revoked": {"is_revoked": True},
}

#: What an expectation stands for.
ENDS_AS = {
    "succeeded": (EffectState.SUCCEEDED, Step.NONE),
    "failed": (EffectState.FAILED, Step.NONE),
    "cancelled": (EffectState.CANCELLED, Step.NONE),
    "person": (EffectState.NEEDS_RECONCILIATION, Step.PERSON),
    "send": (EffectState.DISPATCHING, Step.SEND),
    "replay": (EffectState.DISPATCHING, Step.REPLAY),
    "ask": (EffectState.DISPATCHING, Step.LOOK_UP),
}

ATTEMPTS = {
    Outcome.ACCEPTED: """
                         none       lookup     repeats    repeats-ends  repeats-for-ever  both       both-ends
        clear            succeeded  succeeded  succeeded  succeeded     succeeded         succeeded  succeeded
        clear revoked    succeeded  succeeded  succeeded  succeeded     succeeded         succeeded  succeeded
        left             succeeded  succeeded  succeeded  succeeded     succeeded         succeeded  succeeded
        left used-up     succeeded  succeeded  succeeded  succeeded     succeeded         succeeded  succeeded
        left revoked     succeeded  succeeded  succeeded  succeeded     succeeded         succeeded  succeeded
    """,
    Outcome.REFUSED: """
                               none       lookup     repeats    repeats-ends  repeats-for-ever  both       both-ends
        clear                  failed     failed     failed     failed        failed            failed     failed
        clear used-up          failed     failed     failed     failed        failed            failed     failed
        clear revoked          cancelled  cancelled  cancelled  cancelled     cancelled         cancelled  cancelled
        clear used-up revoked  cancelled  cancelled  cancelled  cancelled     cancelled         cancelled  cancelled
        left                   person     person     person     person        person            person     person
        left used-up           person     person     person     person        person            person     person
        left revoked           person     person     person     person        person            person     person
        left used-up revoked   person     person     person     person        person            person     person
    """,
    Outcome.THROTTLED: """
                               none       lookup     repeats    repeats-ends  repeats-for-ever  both       both-ends
        clear                  send       send       send       send          send              send       send
        clear used-up          send       send       send       send          send              send       send
        clear revoked          cancelled  cancelled  cancelled  cancelled     cancelled         cancelled  cancelled
        clear used-up revoked  cancelled  cancelled  cancelled  cancelled     cancelled         cancelled  cancelled
        left                   person     person     replay     person        replay            replay     person
        left used-up           person     person     replay     person        replay            replay     person
        left revoked           person     person     person     person        person            person     person
        left used-up revoked   person     person     person     person        person            person     person
    """,
    Outcome.NEVER_LEFT: """
                               none       lookup     repeats    repeats-ends  repeats-for-ever  both       both-ends
        clear                  send       send       send       send          send              send       send
        clear used-up          failed     failed     failed     failed        failed            failed     failed
        clear revoked          cancelled  cancelled  cancelled  cancelled     cancelled         cancelled  cancelled
        clear used-up revoked  cancelled  cancelled  cancelled  cancelled     cancelled         cancelled  cancelled
        left                   person     person     replay     person        replay            replay     person
        left used-up           person     person     person     person        person            person     person
        left revoked           person     person     person     person        person            person     person
        left used-up revoked   person     person     person     person        person            person     person
    """,
    # What is unknown may have left.
    Outcome.UNKNOWN: """
                               none       lookup     repeats    repeats-ends  repeats-for-ever  both       both-ends
        left                   person     ask        replay     person        replay            ask        ask
        left used-up           person     ask        person     person        person            ask        ask
        left revoked           person     ask        person     person        person            ask        ask
        left used-up revoked   person     ask        person     person        person            ask        ask
    """,
}

#: Asked before the settling time is over (`early`) or after it (`late`).
LOOKUPS = {
    (Answer.FOUND, "early"): """
                               lookup     both       both-ends
        left                   succeeded  succeeded  succeeded
        left used-up           succeeded  succeeded  succeeded
        left revoked           succeeded  succeeded  succeeded
    """,
    (Answer.NOT_FOUND, "early"): """
                               lookup     both       both-ends
        left                   ask        ask        ask
        left used-up           ask        ask        ask
        left revoked           ask        ask        ask
    """,
    (Answer.NOT_FOUND, "late"): """
                               lookup     both       both-ends
        left                   person     replay     person
        left used-up           person     person     person
        left revoked           person     person     person
        left used-up revoked   person     person     person
    """,
    (Answer.CANNOT_TELL, "early"): """
                               lookup     both       both-ends
        left                   person     replay     person
        left used-up           person     person     person
        left revoked           person     person     person
    """,
    (Answer.CANNOT_TELL, "late"): """
                               lookup     both       both-ends
        left                   person     replay     person
        left used-up           person     person     person
        left revoked           person     person     person
    """,
}


def cells(table: str) -> Iterator[tuple[str, str, str]]:
    """Row, column and expectation of every cell."""
    head, *rows = [line.split() for line in table.strip().splitlines()]
    for words in rows:
        facts, expected = words[: -len(head)], words[-len(head) :]
        for column, expectation in zip(head, expected, strict=True):
            yield " ".join(facts), column, expectation


def position(row: str) -> Position:
    at = AT
    for fact in row.split():
        at = replace(at, **FACTS[fact])  # type: ignore[arg-type]  # each names a member of its own type
    return at


def what(found: Next) -> tuple[EffectState, Step]:
    return found.state, found.step


@pytest.mark.parametrize(
    ("outcome", "row", "column", "expected"),
    [(outcome, *cell) for outcome, table in ATTEMPTS.items() for cell in cells(table)],
)
def test_after_an_attempt(outcome: Outcome, row: str, column: str, expected: str) -> None:
    found = after_attempt(outcome, COLUMNS[column], position(row))

    assert what(found) == ENDS_AS[expected], found
    assert (found.at is None) is (expected in ("succeeded", "failed", "cancelled", "person"))


@pytest.mark.parametrize(
    ("answer", "when", "row", "column", "expected"),
    [(*key, *cell) for key, table in LOOKUPS.items() for cell in cells(table)],
)
def test_after_a_look_up(answer: Answer, when: str, row: str, column: str, expected: str) -> None:
    lease_ended = {"early": NOW - SETTLE + MINUTE, "late": NOW - SETTLE}[when]
    at = replace(position(row), lease_expired_at=lease_ended)

    found = after_lookup(answer, COLUMNS[column], at)

    assert what(found) == ENDS_AS[expected], found


def test_every_outcome_and_every_answer_is_in_the_tables() -> None:
    assert ATTEMPTS.keys() == set(Outcome)
    assert {answer for answer, _ in LOOKUPS} == set(Answer)


# ---- when ------------------------------------------------------------------------------------------------

REPEATS, BOTH = COLUMNS["repeats"], COLUMNS["both"]


@pytest.mark.parametrize(
    ("used", "wait"),
    [
        (1, FIRST_WAIT),
        (2, 2 * FIRST_WAIT),
        (3, 4 * FIRST_WAIT),
        (8, 128 * FIRST_WAIT),
        (9, LONGEST_WAIT),
        (60, LONGEST_WAIT),
    ],
)
def test_waits_between_attempts_double_and_stay_bounded(used: int, wait: timedelta) -> None:
    at = replace(AT, may_have_left=False, attempts_used=used, attempts_allowed=100)

    assert after_attempt(Outcome.NEVER_LEFT, REPEATS, at).at == NOW + wait


def test_an_unknown_outcome_is_asked_about_at_once() -> None:
    assert after_attempt(Outcome.UNKNOWN, BOTH, AT).at == NOW


def test_a_throttling_provider_is_waited_for_as_it_asked_or_as_long_as_ever() -> None:
    clear = replace(AT, may_have_left=False)

    assert after_attempt(Outcome.THROTTLED, REPEATS, clear, 7 * MINUTE).at == NOW + 7 * MINUTE
    assert after_attempt(Outcome.THROTTLED, REPEATS, clear).at == NOW + FIRST_WAIT


def test_a_replay_that_has_to_wait_past_the_memory_of_the_key_goes_to_a_person() -> None:
    assert after_attempt(Outcome.THROTTLED, REPEATS, AT, 22 * HOUR).step is Step.REPLAY
    assert after_attempt(Outcome.THROTTLED, REPEATS, AT, 23 * HOUR).step is Step.PERSON


def test_a_negative_look_up_is_repeated_when_it_can_prove_something() -> None:
    found = after_lookup(Answer.NOT_FOUND, BOTH, AT)

    assert (found.step, found.at) == (Step.LOOK_UP, NOW - 5 * MINUTE + SETTLE)


def test_a_negative_look_up_proves_something_from_the_end_of_the_lease_and_the_settling_time() -> None:
    assert proves_from(BOTH, AT) == NOW + 5 * MINUTE
    assert proves_from(BOTH, replace(AT, lease_expired_at=None)) is None


# ---- the key clock ---------------------------------------------------------------------------------------


def test_a_replay_fits_up_to_the_margin_and_not_a_moment_longer() -> None:
    last = NOW - HOUR + 24 * HOUR - AT.send_timeout - KEY_MARGIN

    assert replay_fits(REPEATS, AT, last)
    assert not replay_fits(REPEATS, AT, last + timedelta(microseconds=1))


@pytest.mark.parametrize(
    ("can", "started_at", "until"),
    [
        (REPEATS, NOW, NOW + 24 * HOUR),
        (REPEATS, None, None),
        (COLUMNS["repeats-for-ever"], NOW, None),
        (COLUMNS["none"], NOW, None),
    ],
)
def test_how_long_a_provider_knows_a_key(
    can: Capabilities, started_at: datetime | None, until: datetime | None
) -> None:
    assert replayable_until(can, started_at) == until


def test_nothing_fits_where_repeats_are_not_recognised() -> None:
    assert not replay_fits(COLUMNS["lookup"], AT, NOW)
