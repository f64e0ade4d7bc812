"""Claiming: which effects are due, what a claim writes, and that a reason not to send is written and never skipped."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection

from approvals.models import Decision, Snapshot
from outbox import leases
from outbox.following import move_all
from outbox.leases import Claimed, claim, due_operations, start_sending
from outbox.models import Attempt, DestinationPause, Effect
from outbox.reconcile import due_lookups
from outbox.recording import record
from outbox.states import EffectState
from runs.administration import set_halt, set_workflow_suspended
from runs.models import Installation, LedgerEntry, Run
from tests import cast, review
from tests.outbox.settling import NEVER_LEFT, UNKNOWN, attempt, change, claimed, let_pass
from tests.review import REFUND
from tests.sync import run_apart
from tests.unguarded import take_guards_away

pytestmark = pytest.mark.django_db


def now() -> Any:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        ((at,),) = cursor.fetchall()
    return at


def ids(found: list[Claimed]) -> list[str]:
    return [item.operation_id for item in found]


# ---- what a claim writes ---------------------------------------------------------------------------------


def test_a_claim_is_lease_fence_attempt_and_the_step_of_the_run_in_one_commit() -> None:
    effect = review.refund_approved()

    (held,) = claim("worker-1")

    effect.refresh_from_db()
    tried = Attempt.objects.get()
    assert (effect.state, effect.fence, effect.lease_owner, effect.attempts_used) == ("dispatching", 1, "worker-1", 1)
    assert effect.may_have_left and effect.key_clock_started_at == tried.started_at
    assert effect.lease_expires_at == tried.started_at + timedelta(seconds=60)
    assert tried.send_by == tried.started_at + timedelta(seconds=40)
    assert (tried.number, tried.fence, tried.left_before, tried.outcome) == (1, 1, False, None)
    run, entry = cast.reading(REFUND), LedgerEntry.objects.order_by("-seq")[0]
    assert (run.version, run.state.status, entry.kind, entry.actor) == (
        5, "dispatching", "effect.claimed", "system:dispatch",
    )  # fmt: skip
    assert bytes(held.sending.payload) == bytes(effect.snapshot.payload or b"")
    assert (held.sending.payload_sha256, held.sending.idempotency_key) == (effect.payload_sha256, "R-7:pay:v4")
    assert (held.target.url, held.target.revision) == ("https://provider.example.com/deliver", 1)


def test_however_long_claiming_takes_the_worker_begins_nothing_that_could_outlast_its_lease(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [1000.0]
    monkeypatch.setattr(leases, "time", SimpleNamespace(monotonic=lambda: clock[0]))

    def slowly(*args: Any) -> None:
        move_all(*args)
        clock[0] += 14

    monkeypatch.setattr(leases, "move_all", slowly)
    effect = review.refund_approved()

    held = claimed(effect)

    assert held.sending.start_before == 1000 + effect.lease_seconds - effect.timeout_seconds


def test_a_claim_addresses_the_frozen_revision_whatever_was_registered_since() -> None:
    review.refund_approved()
    review.destination("payments", url="https://elsewhere.example.com/deliver")

    (held,) = claim("worker-1")

    assert (held.target.url, held.target.revision) == ("https://provider.example.com/deliver", 1)


@pytest.mark.parametrize("repeats", [True, False])
def test_only_where_repeats_are_not_recognised_the_start_is_committed_by_itself(repeats: bool) -> None:
    review.destination("payments", recognises_repeats=repeats, key_retention_seconds=None)
    review.refund_approved()

    (held,) = claim("worker-1")
    before = Attempt.objects.get().send_started_at
    assert start_sending(held)

    assert held.records_intent is not repeats
    assert (before is None) is not repeats
    assert Attempt.objects.get().send_started_at is not None


def test_every_attempt_has_the_same_key_and_a_higher_fence() -> None:
    effect = review.refund_approved()
    keys = []
    for _ in range(3):
        held = claimed(change(effect, next_at=now()))
        keys.append((held.sending.idempotency_key, held.fence))
        record(held, NEVER_LEFT)
        effect.refresh_from_db()

    assert keys == [("R-7:pay:v4", 1), ("R-7:pay:v4", 2), ("R-7:pay:v4", 3)]


def test_a_key_of_a_later_ledger_epoch_carries_it() -> None:
    snapshot = review.refund_ready_for_review()
    Installation.objects.update(ledger_epoch=2)
    review.approve(cast.ben(), snapshot)

    (held,) = claim("worker-1")

    assert held.sending.idempotency_key == "R-7:pay:v4:e2"


# ---- what is due -----------------------------------------------------------------------------------------


def halted(effect: Effect) -> None:
    set_halt(True, cast.SETUP)


def suspended(effect: Effect) -> None:
    set_workflow_suspended("refund", True, cast.SETUP)


def paused(effect: Effect) -> None:
    DestinationPause.objects.create(destination="payments", until=now() + timedelta(minutes=1))


def not_yet_due(effect: Effect) -> None:
    change(effect, next_at=now() + timedelta(minutes=1))


def quarantined(effect: Effect) -> None:
    change(effect, quarantined=True)


def older_than_a_restore(effect: Effect) -> None:
    Installation.objects.update(ledger_epoch=2)


def leased(effect: Effect) -> None:
    claimed(effect)


def leased_and_expired(effect: Effect) -> None:
    claimed(effect)
    effect.refresh_from_db()
    change(effect, lease_expires_at=now() - timedelta(minutes=1))


def asked_about(effect: Effect) -> None:
    review.destination("payments", lookup_url="https://provider.example.com/lookup")
    attempt(effect, UNKNOWN)


def waiting_for_a_person(effect: Effect) -> None:
    take_guards_away()
    Effect.objects.update(state="needs_reconciliation", next_step="person", next_at=None)


def at_an_end(effect: Effect) -> None:
    review.revoke(cast.ben(), review.approval_of(effect))


def as_many_in_flight_as_allowed(effect: Effect) -> None:
    for key in ("R-1", "R-2", "R-3", "R-4"):
        claimed(review.refund_approved(key))


#: Whether the sweep may still ring for it: to leave it alone is the claim's part, but it must not fill the queue.
NOT_DUE = [
    halted, suspended, paused, not_yet_due, quarantined, older_than_a_restore, leased, leased_and_expired, asked_about,
    waiting_for_a_person, at_an_end, as_many_in_flight_as_allowed,
]  # fmt: skip


@pytest.mark.parametrize("scene", NOT_DUE)
def test_what_is_not_due_is_not_claimed_nor_rung_for(scene: Callable[[Effect], None]) -> None:
    effect = review.refund_approved()
    scene(effect)
    effect.refresh_from_db()
    before = effect.version

    assert claim("worker-2", only=effect.pk) == []
    assert effect.pk not in due_operations(100)
    effect.refresh_from_db()
    assert effect.version == before


def test_after_a_pause_a_halt_and_a_suspension_it_is_due_again() -> None:
    effect = review.refund_approved()
    DestinationPause.objects.create(destination="payments", until=now() - timedelta(seconds=1))
    for on in (True, False):
        set_halt(on, cast.SETUP)
        set_workflow_suspended("refund", on, cast.SETUP)

    assert due_operations(100) == [effect.pk]
    assert ids(claim("worker-1")) == [effect.pk]


def test_what_is_due_longest_is_claimed_first() -> None:
    effects = [review.refund_approved(key) for key in ("R-1", "R-2", "R-3")]
    for effect, minutes in zip(effects, (2, 3, 1), strict=True):
        change(effect, next_at=now() - timedelta(minutes=minutes))

    assert due_operations(100) == ["R-2:pay:v4", "R-1:pay:v4", "R-3:pay:v4"]
    assert [ids(claim("worker-1")) for _ in range(4)] == [
        ["R-2:pay:v4"], ["R-1:pay:v4"], ["R-3:pay:v4"], [],
    ]  # fmt: skip


def test_what_cannot_go_out_now_does_not_keep_the_rest_from_being_rung_for() -> None:
    blocked = review.refund_approved("R-1")
    change(blocked, next_at=now() - timedelta(hours=1))
    DestinationPause.objects.create(destination="payments", until=now() + timedelta(hours=1))
    other = review.report_approved()

    assert due_operations(1) == [other.pk]


def test_several_at_once_only_where_a_replay_would_be_safe_and_within_what_is_allowed() -> None:
    for key in ("R-1", "R-2", "R-3", "R-4", "R-5", "R-6"):
        review.refund_approved(key)

    assert len(claim("worker-1", limit=10)) == 4  # `max_in_flight` of the destination
    assert claim("worker-1", limit=10) == []


def test_one_at_a_time_where_repeats_are_not_recognised() -> None:
    review.destination("payments", recognises_repeats=False, key_retention_seconds=None)
    for key in ("R-1", "R-2", "R-3"):
        review.refund_approved(key)

    assert [len(claim("worker-1", limit=10)) for _ in range(4)] == [1, 1, 1, 0]


# ---- reasons not to send ---------------------------------------------------------------------------------


def approval_revoked(effect: Effect) -> None:
    take_guards_away()
    Decision.objects.update(revoked_at=now(), revoked_by="user:bea", revoked_seq=1)


def bytes_altered(effect: Effect) -> None:
    take_guards_away()
    Snapshot.objects.update(payload=b"{}")


def manifest_altered(effect: Effect) -> None:
    take_guards_away()
    Snapshot.objects.update(manifest=b"{}")


def payload_erased(effect: Effect) -> None:
    take_guards_away()
    Snapshot.objects.update(payload=None)


def fact_moved(effect: Effect) -> None:
    """The case is closed behind the rules: the run's own commands refuse it now."""
    take_guards_away()
    Run.objects.update(fields=Run.objects.get().fields.replace('"case_state":"open"', '"case_state":"closed"'))


REASONS = {
    approval_revoked: "an approval was revoked",
    bytes_altered: "no longer has the approved hash",
    manifest_altered: "the stored manifest no longer has the approved hash",
    payload_erased: "the payload was erased",
    fact_moved: "case_state is closed",
}


@pytest.mark.parametrize(("scene", "words"), REASONS.items())
def test_a_reason_before_anything_left_cancels_with_the_fact_that_differs(
    scene: Callable[[Effect], None], words: str
) -> None:
    effect = review.refund_approved()
    scene(effect)

    assert claim("worker-1") == []

    effect.refresh_from_db()
    assert (effect.state, effect.next_step, effect.attempts_used) == ("cancelled", "none", 0)
    assert words in effect.because
    assert cast.reading(REFUND).state.status == "revoked"
    assert LedgerEntry.objects.order_by("-seq")[0].kind == "effect.cancelled"


@pytest.mark.parametrize(("scene", "words"), REASONS.items())
def test_a_reason_after_something_may_have_left_goes_to_a_person(scene: Callable[[Effect], None], words: str) -> None:
    effect = review.refund_approved()
    attempt(effect, UNKNOWN)
    change(effect, next_at=now())
    scene(effect)

    assert claim("worker-1") == []

    effect.refresh_from_db()
    assert (effect.state, effect.next_step, effect.may_have_left) == ("needs_reconciliation", "person", True)
    assert words in effect.because
    assert cast.reading(REFUND).state.status == "needs_reconciliation"


def test_a_replay_that_no_longer_fits_into_the_memory_of_the_key_goes_to_a_person() -> None:
    effect = attempt(review.refund_approved(), UNKNOWN)
    let_pass(effect, hours=24)

    assert claim("worker-1") == []

    effect.refresh_from_db()
    assert (effect.state, effect.because) == (
        "needs_reconciliation", "the provider's memory of the key ends too soon for a replay",
    )  # fmt: skip


def test_what_was_tried_since_it_was_picked_and_is_to_be_asked_about_is_not_sent_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    no = {"recognises_repeats": False, "key_retention_seconds": None}
    review.destination("payments", lookup_url="https://provider.example.com/lookup", **no)
    effect = attempt(review.refund_approved(), UNKNOWN)
    picked = iter([[effect.pk], []])  # the first from a snapshot before that attempt
    monkeypatch.setattr(leases, "_pick", lambda *_: next(picked))

    claimed_again = claim("worker-2")

    assert (claimed_again, effect.next_step, Attempt.objects.count()) == ([], "look-up", 1)
    assert due_lookups() == [effect.pk]


@pytest.mark.django_db(transaction=True)
def test_refusals_are_committed_before_more_is_picked(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (review.refund_approved(key) for key in ("R-1", "R-2"))
    for effect in (first, second):
        Decision.objects.filter(pk__in=effect.approvals).update(revoked_at=now(), revoked_by="user:bea", revoked_seq=4)
    seen: list[str] = []
    pick = leases._pick

    def picking(*args: Any) -> list[str]:
        seen.extend(run_apart(lambda: list(Effect.objects.order_by("pk").values_list("state", flat=True))))
        return pick(*args)

    monkeypatch.setattr(leases, "_pick", picking)

    assert claim("worker-1") == []
    assert seen == ["pending", "pending", "cancelled", "pending", "cancelled", "cancelled"]


def test_what_is_refused_at_the_head_does_not_keep_the_next_one_waiting() -> None:
    first, second = review.refund_approved("R-1"), review.refund_approved("R-2")
    change(first, next_at=now() - timedelta(hours=1))
    take_guards_away()
    Snapshot.objects.filter(run__key="R-1").update(payload=b"{}")

    assert ids(claim("worker-1")) == [second.pk]
    first.refresh_from_db()
    assert first.state == EffectState.CANCELLED


# ---- starting to send ------------------------------------------------------------------------------------


@pytest.fixture
def held() -> Claimed:
    """A claim to a provider that does not recognise repeats."""
    review.destination("payments", recognises_repeats=False, key_retention_seconds=None)
    review.refund_approved()
    (found,) = claim("worker-1")
    return found


def test_past_its_time_to_start_nothing_is_started(held: Claimed) -> None:
    late = replace(held, sending=replace(held.sending, send_by=now()))

    assert not start_sending(late)
    assert Attempt.objects.get().send_started_at is None


def test_a_start_whose_commit_was_not_answered_is_made_once(held: Claimed) -> None:
    assert start_sending(held)
    before = Attempt.objects.get().send_started_at

    assert start_sending(held)
    assert Attempt.objects.get().send_started_at == before


def test_under_an_outdated_fence_nothing_is_started(held: Claimed) -> None:
    effect = review.effect_of()
    change(effect, fence=effect.fence + 1)

    assert not start_sending(held)
    assert Attempt.objects.get().send_started_at is None


def test_once_the_lease_is_gone_nothing_is_started(held: Claimed) -> None:
    effect = review.effect_of()
    change(effect, lease_owner=None, lease_expires_at=None)

    assert not start_sending(held)
