"""A spent approval is revoked while a worker claims its effect: one of the two comes first, and the other is told so.

Revoked first, nothing is ever sent: a claim waits for nobody, passes the run by, and finds nothing to do later. Claimed
first, the revocation waits for the claim and learns that something may have left; the one attempt ends as what is
found, and no other begins.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from approvals.models import Decision
from outbox import dispatch, following, leases, recording
from outbox.dispatch import dispatch_due
from outbox.findings import RepairRequest, order_repair
from outbox.leases import Claimed, claim, due_operations, start_sending
from outbox.models import Attempt, Effect, Remediation
from outbox.providers import ADAPTERS
from outbox.reconcile import Pass, reconcile
from outbox.recording import record
from outbox.states import RepairKind
from runs.errors import InvalidTransition, Unavailable
from runs.transactions import constraint_of
from tests import cast, review
from tests.outbox.settling import ACCEPTED, change, late
from tests.outbox.test_leases import now
from tests.races.pairs import STEP, begun, race, story, without_any_guard, without_lock
from tests.review import REFUND, number
from tests.sandbox import Sandbox
from tests.sync import PATIENCE_SECONDS
from tests.unguarded import guards_off
from tests.verifying import broken

#: Where a claim stops that is ahead: its leases are written and not committed.
LEASED = (leases, "_claim")
#: Where a worker stops that is ahead with what came of its attempt.
RECORDED = (recording, "_record_held")

#: Before the race the last entry of the ledger is this: authorized by the approval of Ben.
AUTHORIZED = 5


@pytest.fixture
def dedupe() -> bool:
    """Whether the provider recognises repeats, unless a test says otherwise."""
    return False


@pytest.fixture
def lookup() -> bool:
    """Whether the provider can be asked, unless a test says otherwise."""
    return False


@pytest.fixture(autouse=True)
def effect(provider: Sandbox, dedupe: bool, lookup: bool) -> Effect:
    """A refund at version 4, authorized by Ben's approval, and due."""
    review.bea()
    provider.register(dedupe=dedupe, lookup=lookup)
    return review.refund_approved()


def revoke() -> dict[str, object]:
    answer = review.revoke(review.bea(), f"d-{Decision.objects.get().pk.hex}").answer
    return {name: answer[name] for name in ("boundary", "result")}


CANCELLED = {"boundary": "revocable", "result": "effect-cancelled"}
IN_FLIGHT = {"boundary": "in-flight", "result": "in-flight"}


def work() -> int:
    """One turn of a worker: claim, send, record."""
    return dispatch_due("worker-1")


def go_on(held: list[Claimed], monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker that holds the lease sends and records."""
    with monkeypatch.context() as seams:
        seams.setattr(dispatch, "claim", lambda *_: held)
        dispatch_due("worker-1")


def standing(effect: Effect) -> tuple[str, str]:
    """The state of the effect, and of its run."""
    effect.refresh_from_db()
    return effect.state, cast.reading(REFUND).state.status


def assert_at_rest(effect: Effect, attempts: int) -> None:
    """No worker, bell or reconciler finds anything to do any more, and every invariant holds."""
    assert due_operations(100) == []
    assert [dispatch_due("worker-2"), dispatch_due("worker-2", only=effect.pk)] == [0, 0]
    assert reconcile() == Pass(closed=0, asked=0)
    assert Attempt.objects.count() == attempts
    with transaction.atomic():
        assert broken() == {}


# ---- revoked first ---------------------------------------------------------------------------------------


def assert_never_sent(effect: Effect, provider: Sandbox) -> None:
    assert standing(effect) == ("cancelled", "revoked")
    assert_at_rest(effect, attempts=0)
    assert provider.deliveries == []
    assert story(REFUND, AUTHORIZED) == [(4, "approval.revoked", "user:bea"), (5, "effect.cancelled", "user:bea")]


def test_a_claim_passes_by_a_run_whose_approval_is_being_revoked_and_nothing_is_ever_sent(
    effect: Effect, provider: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with begun(monkeypatch, revoke, work, STEP) as (revoked, worked, _):
        assert worked.ended.wait(PATIENCE_SECONDS)  # while the revocation is not committed
        assert (due_operations(1), standing(effect)) == ([effect.pk], ("pending", "approved"))

    assert (worked.result(), revoked.result()) == (0, CANCELLED)
    assert_never_sent(effect, provider)


@contextmanager
def picking_what_it_saw_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A claim looks for what is due before the revocation is committed, and has the lock of the run after it."""
    with monkeypatch.context() as seams:
        seams.setattr(leases, "_PICK", leases._PICK.replace("SKIP LOCKED", ""))
        yield


def test_what_was_picked_before_and_locked_after_the_revocation_is_left_alone(
    effect: Effect, provider: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with picking_what_it_saw_before(monkeypatch):
        revoked, worked = race(monkeypatch, revoke, work)

    assert (worked.result(), revoked.result()) == (0, CANCELLED)
    assert_never_sent(effect, provider)


@contextmanager
def without_looking_again(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What was picked is leased, whatever became of it before its run was locked."""
    with monkeypatch.context() as seams, picking_what_it_saw_before(monkeypatch):
        seams.setattr(leases, "_is_due", lambda *_: True)
        seams.setattr(leases, "_reason_not_to_claim", lambda *_: None)
        yield


def test_without_looking_again_the_database_refuses_the_claim(
    effect: Effect, provider: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with without_looking_again(monkeypatch):
        _, worked = race(monkeypatch, revoke, work)

    refusal = worked.error()
    assert isinstance(refusal, IntegrityError)
    assert constraint_of(refusal) == "runs_status_legal"
    assert standing(effect) == ("cancelled", "revoked")
    assert provider.deliveries == []


def test_without_any_guard_what_was_revoked_would_be_sent(
    provider: Sandbox, monkeypatch: pytest.MonkeyPatch, owner_dsn: str
) -> None:
    with without_looking_again(monkeypatch), guards_off(owner_dsn):
        revoked, worked = race(monkeypatch, revoke, work)

    assert (revoked.result(), worked.result(), len(provider.deliveries)) == (CANCELLED, 1, 1)


# ---- claimed first ---------------------------------------------------------------------------------------


def claimed_and_then_revoked(monkeypatch: pytest.MonkeyPatch) -> list[Claimed]:
    """The claim is written and not committed when the revocation comes, which waits for it; gives what was claimed."""
    claiming, revoked = race(monkeypatch, lambda: claim("worker-1"), revoke, LEASED)

    held: list[Claimed] = claiming.result()
    assert [item.operation_id for item in held] == ["R-7:pay:v4"]
    assert revoked.result() == IN_FLIGHT
    assert story(REFUND, AUTHORIZED) == [(5, "effect.claimed", "system:dispatch"), (5, "approval.revoked", "user:bea")]
    return held


#: What the provider does with the one attempt -> state of the effect, status of the run, and open tasks.
FOUND = {
    "ok": ("succeeded", "sent", 1),
    "half-response": ("needs_reconciliation", "needs_reconciliation", 0),
    "apply-then-drop": ("needs_reconciliation", "needs_reconciliation", 0),
    "drop-before-apply": ("needs_reconciliation", "needs_reconciliation", 0),
    "error-5xx": ("needs_reconciliation", "needs_reconciliation", 0),
    "refuse": ("cancelled", "revoked", 0),
    "throttle": ("cancelled", "revoked", 0),
}
ENDS = {
    "succeeded": [(6, "effect.settled", "system:worker-1"), (6, "remediation.opened", "system:dispatch")],
    "needs_reconciliation": [(6, "effect.settled", "system:worker-1")],
    "cancelled": [(6, "effect.cancelled", "system:worker-1")],
}


@pytest.mark.parametrize("dedupe", [False, True])
@pytest.mark.parametrize("mode", FOUND)
def test_an_effect_that_was_claimed_first_ends_as_what_is_found_and_no_other_attempt_begins(
    effect: Effect, provider: Sandbox, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    held = claimed_and_then_revoked(monkeypatch)
    provider.fails_once(mode)

    go_on(held, monkeypatch)

    state, status, tasks = FOUND[mode]
    assert standing(effect) == (state, status)
    assert Remediation.objects.filter(state="open").count() == tasks
    assert_at_rest(effect, attempts=1)
    assert len(provider.deliveries) == 1
    assert story(REFUND, AUTHORIZED + 2) == [(5, "attempt.recorded", "system:worker-1"), *ENDS[state]]


@pytest.mark.parametrize(("dedupe", "lookup"), [(False, True), (True, True)])
def test_an_unknown_outcome_is_asked_about_and_not_sent_again_although_it_was_revoked(
    effect: Effect, provider: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = claimed_and_then_revoked(monkeypatch)
    provider.fails_once("apply-then-drop")
    go_on(held, monkeypatch)

    assert reconcile().asked == 1

    assert standing(effect) == ("succeeded", "sent")
    assert "revoked meanwhile" in Remediation.objects.get(state="open").because
    assert_at_rest(effect, attempts=1)
    assert len(provider.deliveries) == 1


def test_once_it_is_unknown_nobody_may_order_that_what_was_revoked_be_sent_again(
    effect: Effect, provider: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = claimed_and_then_revoked(monkeypatch)
    provider.fails_once("drop-before-apply")
    go_on(held, monkeypatch)
    effect.refresh_from_db()

    with pytest.raises(InvalidTransition):
        order_repair(
            cast.dora(), effect.pk, RepairRequest(number(), RepairKind.RESEND, "They still wait.", effect.version)
        )

    assert standing(effect) == ("needs_reconciliation", "needs_reconciliation")
    assert_at_rest(effect, attempts=1)
    assert len(provider.deliveries) == 1


def test_what_its_worker_hands_back_unsent_is_cancelled(
    effect: Effect, provider: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = claimed_and_then_revoked(monkeypatch)

    go_on([late(held[0])], monkeypatch)  # as after a long stop of its process

    assert standing(effect) == ("cancelled", "revoked")
    assert_at_rest(effect, attempts=1)
    assert provider.deliveries == []


@pytest.mark.parametrize(
    ("is_started", "found"),
    [(False, ("cancelled", "revoked")), (True, ("needs_reconciliation", "needs_reconciliation"))],
)
def test_what_its_worker_was_lost_with_ends_as_what_was_recorded_of_it(
    effect: Effect, provider: Sandbox, monkeypatch: pytest.MonkeyPatch, is_started: bool, found: tuple[str, str]
) -> None:
    (held,) = claimed_and_then_revoked(monkeypatch)
    assert not is_started or start_sending(held)
    effect.refresh_from_db()
    change(effect, lease_expires_at=now() - timedelta(seconds=1))

    assert reconcile().closed == 1

    assert standing(effect) == found
    assert_at_rest(effect, attempts=1)
    assert provider.deliveries == []


def test_without_the_lock_the_revoker_is_not_told_that_something_may_have_left(
    effect: Effect, monkeypatch: pytest.MonkeyPatch
) -> None:
    with without_lock(monkeypatch):
        claiming, revoked = race(monkeypatch, lambda: claim("worker-1"), revoke, LEASED)

    assert isinstance(revoked.error(), Unavailable)  # the step itself found the head of the ledger moved
    assert len(claiming.result()) == 1
    assert standing(effect) == ("dispatching", "dispatching")
    assert Decision.objects.get().revoked_at is None


def test_without_any_guard_what_is_sent_would_be_called_cancelled(
    effect: Effect, provider: Sandbox, monkeypatch: pytest.MonkeyPatch, owner_dsn: str
) -> None:
    careless, _, _ = following._WRITE.partition("  AND e.state = g.read_state")
    assert careless != following._WRITE
    with without_any_guard(monkeypatch, owner_dsn):
        monkeypatch.setattr(following, "_WRITE", careless)
        claiming, revoked = race(monkeypatch, lambda: claim("worker-1"), revoke, LEASED)

    (held,) = claiming.result()
    ADAPTERS[held.adapter].send(held.target, held.sending)
    assert (revoked.result(), standing(effect)) == (CANCELLED, ("cancelled", "revoked"))
    assert provider.applied == 1


# ---- while what came of it is recorded -------------------------------------------------------------------


def test_a_revocation_waits_for_what_is_being_recorded_and_opens_a_task(
    effect: Effect, monkeypatch: pytest.MonkeyPatch
) -> None:
    (held,) = claim("worker-1")

    recorded, revoked = race(monkeypatch, lambda: record(held, ACCEPTED), revoke, RECORDED)

    recorded.result()
    assert revoked.result() == {"boundary": "sent", "result": "remediation-opened"}
    assert standing(effect) == ("succeeded", "sent")
    assert "after it had happened" in Remediation.objects.get().because
    assert_at_rest(effect, attempts=1)


def test_what_is_recorded_waits_for_a_revocation_and_opens_a_task(
    effect: Effect, monkeypatch: pytest.MonkeyPatch
) -> None:
    (held,) = claim("worker-1")

    revoked, recorded = race(monkeypatch, revoke, lambda: record(held, ACCEPTED))

    recorded.result()
    assert revoked.result() == IN_FLIGHT
    assert standing(effect) == ("succeeded", "sent")
    assert "revoked meanwhile" in Remediation.objects.get().because
    assert_at_rest(effect, attempts=1)
