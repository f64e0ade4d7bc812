"""The reconciler: expired leases are closed by what was recorded, unknown outcomes asked about, nothing stops it."""

from datetime import timedelta
from typing import Any

import pytest

from outbox import reconcile
from outbox.leases import claim, start_sending
from outbox.models import Attempt, Effect, Lookup
from outbox.reconcile import Pass, close_expired, close_expired_leases, due_lookups, look_up_due
from outbox.states import Outcome
from runs.administration import set_halt
from runs.errors import Unavailable
from runs.locks import hold_run
from runs.models import LedgerEntry
from tests import cast, review
from tests.outbox.providers.servers import Web, answer, closed_port
from tests.outbox.settling import NEVER_LEFT, UNKNOWN, attempt, change, claimed, succeed
from tests.outbox.test_leases import now
from tests.review import REFUND

pytestmark = pytest.mark.django_db

NO = {"recognises_repeats": False, "key_retention_seconds": None}


def expired(effect: Effect) -> Effect:
    """An effect as it is once the lease of its worker is over."""
    effect.refresh_from_db()
    return change(effect, lease_expires_at=now() - timedelta(seconds=1))


# ---- expired leases --------------------------------------------------------------------------------------

#: (repeats recognised, look-up declared, started to send) -> outcome of the attempt, state, next step.
CLOSED = {
    (False, False, False): (Outcome.NEVER_LEFT, "dispatching", "send"),
    (False, False, True): (Outcome.UNKNOWN, "needs_reconciliation", "person"),
    (False, True, False): (Outcome.NEVER_LEFT, "dispatching", "send"),
    (False, True, True): (Outcome.UNKNOWN, "dispatching", "look-up"),
    (True, False, True): (Outcome.UNKNOWN, "dispatching", "replay"),
    (True, True, True): (Outcome.UNKNOWN, "dispatching", "look-up"),
}


@pytest.mark.parametrize(("facts", "expected"), CLOSED.items())
def test_an_expired_lease_is_closed_by_what_was_recorded_of_it(
    facts: tuple[bool, bool, bool], expected: tuple[Outcome, str, str]
) -> None:
    repeats, lookup, started = facts
    review.destination(
        "payments", recognises_repeats=repeats, lookup_url="https://provider.example.com/l" if lookup else ""
    )
    effect = review.refund_approved()
    (held,) = claim("worker-1")
    assert not started or start_sending(held)
    expired(effect)

    assert close_expired_leases() == 1

    effect.refresh_from_db()
    outcome, state, step = expected
    assert (Attempt.objects.get().outcome, effect.state, effect.next_step) == (outcome, state, step)
    assert (effect.lease_owner, effect.fence, effect.may_have_left) == (None, 2, outcome is Outcome.UNKNOWN)
    assert LedgerEntry.objects.filter(kind="attempt.recorded", actor="system:worker-1").count() == 1


def test_a_lease_that_still_runs_is_left_alone() -> None:
    effect = review.refund_approved()
    claimed(effect)

    assert (close_expired_leases(), close_expired(effect.pk)) == (0, False)


def test_closing_twice_closes_once() -> None:
    effect = review.refund_approved()
    claimed(effect)
    expired(effect)

    assert [close_expired(effect.pk), close_expired(effect.pk)] == [True, False]
    assert Attempt.objects.count() == 1


def test_a_halt_does_not_keep_leases_from_being_closed() -> None:
    effect = review.refund_approved()
    claimed(effect)
    expired(effect)
    set_halt(True, cast.SETUP)

    assert close_expired_leases() == 1


def test_what_cannot_be_closed_now_does_not_keep_the_rest_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = review.refund_approved("R-1"), review.refund_approved("R-2")
    for effect in (first, second):
        claimed(effect)
        expired(effect)

    def hold(key: str) -> None:
        if key == "R-1":
            raise Unavailable  # as when its lock is not had in time
        hold_run(key)

    monkeypatch.setattr(reconcile, "hold_run", hold)

    assert close_expired_leases() == 1
    assert list(Effect.objects.filter(lease_owner=None).values_list("pk", flat=True)) == [second.pk]


# ---- unknown outcomes ------------------------------------------------------------------------------------


def asked_about(port: int, **terms: Any) -> Effect:
    """An effect whose outcome is unknown, and whose provider listens there."""
    review.destination("payments", lookup_url=f"http://localhost:{port}/lookup", **terms)
    return attempt(review.refund_approved(), UNKNOWN)


def test_what_is_due_is_asked_about_and_settled() -> None:
    with Web(answer(200, b'{"found": true, "provider_request_id": "p-1"}')).on() as port:
        effect = asked_about(port)
        due = due_lookups()

        assert reconcile.reconcile() == Pass(closed=0, asked=1)

    effect.refresh_from_db()
    assert (due, effect.state, Lookup.objects.get().actor) == ([effect.pk], "succeeded", "system:reconciler")
    assert due_lookups() == []


def test_what_is_not_due_is_not_asked_about() -> None:
    effect = asked_about(closed_port())
    change(effect, next_at=now() + timedelta(minutes=1))
    succeed(review.refund_approved("R-8"))
    attempt(review.refund_approved("R-9"), NEVER_LEFT)

    assert due_lookups() == []


def test_a_provider_out_of_reach_cannot_tell() -> None:
    effect = asked_about(closed_port(), **NO)

    assert look_up_due(effect.pk)

    effect.refresh_from_db()
    assert (Lookup.objects.get().answer, effect.state) == ("cannot-tell", "needs_reconciliation")


def test_what_has_moved_on_meanwhile_is_left_alone() -> None:
    effect = asked_about(closed_port())
    change(effect, next_step="replay", next_at=now())
    claimed(effect)

    assert not look_up_due(effect.pk)
    assert not Lookup.objects.exists()


def test_a_lock_that_is_not_had_in_time_hands_nothing_to_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    effect = asked_about(closed_port())

    def busy(*_: object) -> None:
        raise Unavailable

    monkeypatch.setattr(reconcile, "record_lookup", busy)

    assert not look_up_due(effect.pk)
    effect.refresh_from_db()
    assert (effect.state, effect.next_step) == ("dispatching", "look-up")


def test_what_nobody_can_be_asked_about_any_more_goes_to_a_person() -> None:
    effect = attempt(review.refund_approved(), UNKNOWN)
    change(effect, next_step="look-up", next_at=now())

    assert look_up_due(effect.pk)

    effect.refresh_from_db()
    assert (effect.state, effect.because) == ("needs_reconciliation", "payments declares no look-up.")
    assert cast.reading(REFUND).state.status == "needs_reconciliation"
