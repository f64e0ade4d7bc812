"""Recording: what an outcome makes of attempt, effect, run and ledger; what comes too late is kept, never applied."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from outbox.leases import claim
from outbox.models import Attempt, DestinationPause, Effect, Remediation
from outbox.providers.base import RESPONSE_BYTES, Result
from outbox.reconcile import close_expired
from outbox.recording import record
from outbox.states import Outcome
from runs.models import LedgerEntry
from tests import cast, review
from tests.outbox.settling import (
    ACCEPTED,
    NEVER_LEFT,
    REFUSED,
    RESULTS,
    THROTTLED,
    UNKNOWN,
    attempt,
    change,
    claimed,
)
from tests.outbox.test_leases import now
from tests.review import REFUND

pytestmark = pytest.mark.django_db


def unrecognised() -> Effect:
    """A claimed-for effect whose provider recognises no repeats."""
    review.destination("payments", recognises_repeats=False, key_retention_seconds=None)
    return review.refund_approved()


def story(count: int) -> list[tuple[int, str, str]]:
    """The last entries of the ledger."""
    rows = LedgerEntry.objects.order_by("-seq").values_list("version", "kind", "actor")[:count]
    return list(rows)[::-1]


def revoke(effect: Effect) -> str:
    result: str = review.revoke(cast.ben(), review.approval_of(effect)).answer["result"]
    effect.refresh_from_db()
    return result


# ---- what an outcome makes -------------------------------------------------------------------------------

#: Outcome of a first attempt -> state, step, may have left, attempts used, status of the run.
FIRST = {
    Outcome.ACCEPTED: ("succeeded", "none", True, 1, "sent"),
    Outcome.REFUSED: ("failed", "none", False, 1, "failed"),
    Outcome.THROTTLED: ("dispatching", "send", False, 0, "dispatching"),
    Outcome.NEVER_LEFT: ("dispatching", "send", False, 1, "dispatching"),
    Outcome.UNKNOWN: ("dispatching", "replay", True, 1, "dispatching"),
}


@pytest.mark.parametrize(("outcome", "expected"), FIRST.items())
def test_what_a_first_outcome_makes_of_effect_and_run(outcome: Outcome, expected: tuple[Any, ...]) -> None:
    effect = attempt(review.refund_approved(), RESULTS[outcome])

    status = cast.reading(REFUND).state.status
    assert (effect.state, effect.next_step, effect.may_have_left, effect.attempts_used, status) == expected
    assert (effect.lease_owner, effect.lease_expires_at, effect.fence) == (None, None, 1)
    assert (effect.ended_at is not None) is (effect.state in ("succeeded", "failed"))
    assert (effect.key_clock_started_at is not None) is effect.may_have_left


@pytest.mark.parametrize("outcome", Outcome)
def test_the_attempt_keeps_what_came_back(outcome: Outcome) -> None:
    result = replace(RESULTS[outcome], response=b"x" * 2 * RESPONSE_BYTES)

    attempt(review.refund_approved(), result)

    row = Attempt.objects.get()
    assert (row.outcome, row.detail, row.http_status) == (outcome, result.detail, result.http_status)
    assert (row.provider_request_id, row.late) == (result.provider_request_id, None)
    assert row.finished_at and len(bytes(row.response or b"")) == RESPONSE_BYTES


def test_the_ledger_tells_attempt_and_end_in_the_commit_that_moves_the_run() -> None:
    attempt(review.refund_approved(), ACCEPTED)

    assert story(3) == [
        (5, "effect.claimed", "system:dispatch"),
        (5, "attempt.recorded", "system:worker-1"),
        (6, "effect.settled", "system:worker-1"),
    ]


def test_an_answer_settles_its_attempt_and_never_an_earlier_unknown_one() -> None:
    effect = attempt(review.refund_approved(), UNKNOWN)
    change(effect, next_at=now())

    attempt(effect, REFUSED)

    assert (effect.state, effect.may_have_left) == ("needs_reconciliation", True)


def test_what_an_earlier_attempt_left_is_not_cleared_by_a_later_one() -> None:
    effect = attempt(review.refund_approved(), UNKNOWN)
    for result in (NEVER_LEFT, THROTTLED):
        DestinationPause.objects.all().delete()
        attempt(change(effect, next_at=now()), result)

        assert (effect.state, effect.next_step, effect.may_have_left) == ("dispatching", "replay", True)


def test_waiting_as_told_is_not_counted_and_pauses_the_whole_destination() -> None:
    first, second = review.refund_approved("R-1"), review.refund_approved("R-2")
    attempt(first, THROTTLED)

    pause = DestinationPause.objects.get()
    assert first.attempts_used == 0
    assert pause.until == first.next_at
    assert claim("worker-2", only=second.pk) == []


def test_a_shorter_wait_does_not_end_a_longer_pause() -> None:
    first, second = review.refund_approved("R-1"), review.refund_approved("R-2")
    held = [claimed(first, "worker-1"), claimed(second, "worker-2")]

    record(held[0], THROTTLED)
    until = DestinationPause.objects.get().until
    record(held[1], replace(THROTTLED, retry_after=timedelta(seconds=1)))

    assert DestinationPause.objects.get().until == until


def test_bytes_that_the_provider_calls_drifted_go_to_a_person_at_once() -> None:
    drifted = Result(Outcome.UNKNOWN, "the provider knows this key with other bytes", None, 422, is_alarm=True)

    effect = attempt(review.refund_approved(), drifted)

    assert (effect.state, effect.next_step) == ("needs_reconciliation", "person")
    assert "drifted" in effect.because


def test_attempts_that_never_left_end_as_failed_once_they_are_used_up() -> None:
    effect = review.refund_approved()
    states = [attempt(change(effect, next_at=now()), NEVER_LEFT).state for _ in range(5)]

    assert states == ["dispatching"] * 4 + ["failed"]
    assert cast.reading(REFUND).state.status == "failed"
    assert "nothing was sent" in effect.because


# ---- revoked while it was in flight ----------------------------------------------------------------------

#: Outcome of the attempt under way -> state, status, whether a task for people is opened.
IN_FLIGHT = {
    Outcome.ACCEPTED: ("succeeded", "sent", True),
    Outcome.REFUSED: ("cancelled", "revoked", False),
    Outcome.THROTTLED: ("cancelled", "revoked", False),
    Outcome.NEVER_LEFT: ("cancelled", "revoked", False),
    Outcome.UNKNOWN: ("needs_reconciliation", "needs_reconciliation", False),
}


@pytest.mark.parametrize(("outcome", "expected"), IN_FLIGHT.items())
def test_what_was_revoked_in_flight_ends_as_what_is_found(outcome: Outcome, expected: tuple[str, str, bool]) -> None:
    effect = review.refund_approved()
    held = claimed(effect)
    told = revoke(effect)

    record(held, RESULTS[outcome])

    effect.refresh_from_db()
    assert told == "in-flight"
    assert (effect.state, cast.reading(REFUND).state.status, Remediation.objects.exists()) == expected
    assert claim("worker-2") == []


# ---- late ------------------------------------------------------------------------------------------------


def lost(effect: Effect) -> Any:
    """A claim whose lease ran out and was closed."""
    held = claimed(effect)
    effect.refresh_from_db()
    change(effect, lease_expires_at=now() - timedelta(seconds=1))
    assert close_expired(effect.pk)
    effect.refresh_from_db()
    return held


@pytest.mark.parametrize("outcome", Outcome)
def test_what_comes_after_the_fence_has_moved_is_kept_as_evidence_and_never_applied(outcome: Outcome) -> None:
    effect = review.refund_approved()
    held = lost(effect)
    before = (effect.state, effect.next_step, effect.next_at, effect.may_have_left, effect.attempts_used)

    record(held, RESULTS[outcome])

    effect.refresh_from_db()
    row = Attempt.objects.get()
    told = json.loads(row.late or "")
    assert (effect.state, effect.next_step, effect.next_at, effect.may_have_left, effect.attempts_used) == before
    assert (row.outcome, told["outcome"], told["detail"]) == ("unknown", outcome, RESULTS[outcome].detail)
    assert story(1) == [(5, "attempt.late", "system:worker-1")]


def test_late_evidence_raises_the_version_so_that_what_waits_for_a_second_person_is_void() -> None:
    effect = review.refund_approved()
    held = lost(effect)

    record(held, ACCEPTED)

    assert Effect.objects.get().version == effect.version + 1


def test_late_evidence_is_kept_once() -> None:
    effect = review.refund_approved()
    held = lost(effect)
    record(held, ACCEPTED)
    record(held, REFUSED)

    assert json.loads(Attempt.objects.get().late or "")["outcome"] == "accepted"


def test_recording_the_same_result_twice_changes_nothing() -> None:
    effect = review.refund_approved()
    held = claimed(effect)
    record(held, ACCEPTED)
    before = Effect.objects.values().get()

    record(held, ACCEPTED)

    assert Effect.objects.values().get() == before


def test_what_was_accepted_after_all_though_it_had_ended_otherwise_is_a_task_for_people() -> None:
    effect = unrecognised()
    (held,) = claim("worker-1")
    change(review.effect_of(), lease_expires_at=now() - timedelta(seconds=1))
    assert close_expired(effect.pk)  # no start was committed: it is sent again
    effect.refresh_from_db()
    attempt(change(effect, next_at=now()), REFUSED)

    record(held, ACCEPTED)

    assert review.effect_of().state == "failed"
    assert "settled otherwise" in Remediation.objects.get().because
    assert cast.reading(REFUND).state.status == "failed"


def test_what_was_accepted_twice_is_a_task_for_people() -> None:
    effect = unrecognised()
    (held,) = claim("worker-1")
    change(review.effect_of(), lease_expires_at=now() - timedelta(seconds=1))
    close_expired(effect.pk)
    effect.refresh_from_db()
    attempt(change(effect, next_at=now()), ACCEPTED)

    record(held, replace(ACCEPTED, provider_request_id="p-2"))

    assert review.effect_of().state == "succeeded"
    assert "twice" in Remediation.objects.get().because


def test_the_same_acceptance_told_twice_is_none() -> None:
    effect = review.refund_approved()
    held = lost(effect)
    attempt(change(effect, next_at=now()), ACCEPTED)

    record(held, ACCEPTED)

    assert not Remediation.objects.exists()


@pytest.mark.parametrize("told_again", [UNKNOWN, NEVER_LEFT])
def test_a_result_told_again_because_the_answer_to_the_first_was_lost_is_no_late_evidence(told_again: Result) -> None:
    held = claimed(review.refund_approved())
    record(held, told_again)
    before = Effect.objects.values().get()

    record(held, told_again)

    assert (Effect.objects.values().get(), Attempt.objects.get().late) == (before, None)


def test_late_evidence_does_not_move_a_run_that_has_begun_a_new_cycle() -> None:
    effect = unrecognised()
    (held,) = claim("worker-1")
    change(review.effect_of(), lease_expires_at=now() - timedelta(seconds=1))
    close_expired(effect.pk)
    effect.refresh_from_db()
    attempt(change(effect, next_at=now()), REFUSED)
    cast.command(cast.ada(), REFUND, "reopen")
    before = cast.reading(REFUND)

    record(held, ACCEPTED)

    after = cast.reading(REFUND)
    assert (after.version, after.state.status) == (before.version, "working")
    assert Remediation.objects.get().effect_id == effect.pk
