"""Dispatch against the real sandbox provider: every fault it can have, and both ledgers agree on what came of it."""

from datetime import timedelta
from typing import Any

import pytest
import stamina

from console import sandbox
from outbox import dispatch
from outbox.dispatch import dispatch_due
from outbox.leases import Claimed, claim, start_sending
from outbox.models import Attempt, DestinationPause, Effect
from outbox.reconcile import reconcile
from outbox.recording import Sent, record_all
from runs.errors import Unavailable
from runs.models import LedgerEntry
from tests import cast, review
from tests.outbox.settling import change, late, let_pass
from tests.outbox.test_leases import now
from tests.review import REFUND
from tests.sandbox import Sandbox

pytestmark = pytest.mark.django_db


def quick() -> None:
    """A refund is given up on after a second."""
    review.workflow("refund", ('timeout = "20s", lease = "60s"', 'timeout = "1s", lease = "60s"'))


def settle(effect: Effect) -> Effect:
    """Let workers and reconciler go on, and time pass, until nothing is due any more."""
    for _ in range(12):
        effect.refresh_from_db()
        if effect.next_at is None:
            return effect
        if effect.next_step == "look-up" and effect.next_at > now():
            let_pass(effect, minutes=12)
        elif effect.next_step != "look-up":
            DestinationPause.objects.all().delete()
            change(effect, next_at=now())
        dispatch_due("worker-1")
        reconcile()
    raise AssertionError(f"{effect.pk} does not come to rest: {effect.state}, {effect.next_step}")


# ---- every fault, for every kind of provider -------------------------------------------------------------

#: Provider -> fault -> state, attempts, requests that reached it, how many it applied.
Fate = tuple[str, int, int, int]
SENT_ONCE: Fate = ("succeeded", 1, 1, 1)
FATES: dict[tuple[str, str], dict[str, Fate]] = {
    ("repeats", "look-up"): {
        "ok": SENT_ONCE,
        "apply-then-drop": SENT_ONCE,
        "drop-before-apply": ("succeeded", 2, 2, 1),
        "hang": ("succeeded", 2, 2, 1),
        "refuse": ("failed", 1, 1, 0),
        "throttle": ("succeeded", 2, 2, 1),
        "error-5xx": ("succeeded", 2, 2, 1),
        "half-response": SENT_ONCE,
    },
    ("repeats", "no look-up"): {
        "ok": SENT_ONCE,
        "apply-then-drop": ("succeeded", 2, 2, 1),
        "drop-before-apply": ("succeeded", 2, 2, 1),
        "hang": ("succeeded", 2, 2, 1),
        "refuse": ("failed", 1, 1, 0),
        "throttle": ("succeeded", 2, 2, 1),
        "error-5xx": ("succeeded", 2, 2, 1),
        "half-response": ("succeeded", 2, 2, 1),
    },
    ("no repeats", "look-up"): {
        "ok": SENT_ONCE,
        "apply-then-drop": SENT_ONCE,
        "drop-before-apply": ("needs_reconciliation", 1, 1, 0),
        "hang": ("needs_reconciliation", 1, 1, 0),
        "refuse": ("failed", 1, 1, 0),
        "throttle": ("succeeded", 2, 2, 1),
        "error-5xx": ("needs_reconciliation", 1, 1, 0),
        "half-response": SENT_ONCE,
    },
    ("no repeats", "no look-up"): {
        "ok": SENT_ONCE,
        "apply-then-drop": ("needs_reconciliation", 1, 1, 1),
        "drop-before-apply": ("needs_reconciliation", 1, 1, 0),
        "hang": ("needs_reconciliation", 1, 1, 0),
        "refuse": ("failed", 1, 1, 0),
        "throttle": ("succeeded", 2, 2, 1),
        "error-5xx": ("needs_reconciliation", 1, 1, 0),
        "half-response": ("needs_reconciliation", 1, 1, 1),
    },
}
STATUS = {"succeeded": "sent", "failed": "failed", "needs_reconciliation": "needs_reconciliation"}


def test_every_fault_of_the_sandbox_is_in_the_table() -> None:
    assert all(set(table) == set(sandbox.MODES) for table in FATES.values())


@pytest.mark.parametrize(
    ("kind", "mode", "fate"), [(kind, mode, fate) for kind, table in FATES.items() for mode, fate in table.items()]
)
def test_what_a_fault_comes_to_and_that_both_ledgers_agree(
    provider: Sandbox, kind: tuple[str, str], mode: str, fate: Fate
) -> None:
    quick()
    dedupe, lookup = kind[0] == "repeats", kind[1] == "look-up"
    provider.register(dedupe=dedupe, lookup=lookup)
    effect = review.refund_approved()
    provider.fails_once(mode)

    settle(effect)

    state, attempts, requests, applied = fate
    assert (effect.state, Attempt.objects.count()) == (state, attempts)
    assert (len(provider.deliveries), provider.applied) == (requests, applied)
    assert cast.reading(REFUND).state.status == STATUS[state]
    bodies = {f"sha256:{item.body_sha256}" for item in provider.deliveries}
    assert bodies == {effect.payload_sha256} == {effect.snapshot.payload_sha256}
    assert {item.key for item in provider.deliveries} == {"R-7:pay:v4" if dedupe or lookup else ""}
    if state == "succeeded":
        assert applied == 1
    if not dedupe:
        assert len(provider.deliveries) == 1 or mode == "throttle"  # which proves that nothing happened


def test_a_provider_that_declares_a_look_up_and_cannot_be_asked_is_no_reason_to_guess(provider: Sandbox) -> None:
    provider.register(dedupe=False, lookup=True)
    provider.control.lookup = False
    effect = review.refund_approved()
    provider.fails_once("apply-then-drop")

    settle(effect)

    assert (effect.state, len(provider.deliveries)) == ("needs_reconciliation", 1)
    assert effect.because == "the provider cannot tell; the provider does not recognise repeats"


def test_a_provider_that_forgot_the_key_is_not_asked_to_recognise_it(provider: Sandbox) -> None:
    provider.register(lookup=False, key_retention_seconds=3600)
    effect = review.refund_approved()
    provider.fails_once("apply-then-drop")
    dispatch_due("worker-1")
    let_pass(effect, hours=2)

    settle(effect)

    assert (effect.state, len(provider.deliveries)) == ("needs_reconciliation", 1)


def test_a_provider_that_has_other_bytes_under_the_key_stops_everything(provider: Sandbox) -> None:
    provider.register(lookup=False)
    effect = review.refund_approved()
    provider.applies_for_others(effect.idempotency_key, b"{}")

    settle(effect)

    assert (effect.state, len(provider.deliveries)) == ("needs_reconciliation", 2)
    assert "drifted" in effect.because


# ---- the loop --------------------------------------------------------------------------------------------


def test_an_accepted_effect_is_sent_once_and_told_in_the_ledger(provider: Sandbox) -> None:
    provider.register()
    review.refund_approved()

    sent, again = dispatch_due("worker-1"), dispatch_due("worker-1")

    assert (sent, again, Attempt.objects.get().provider_request_id) == (1, 0, "sandbox-1")
    told = list(LedgerEntry.objects.order_by("seq").values_list("kind", "version"))[-3:]
    assert told == [("effect.claimed", 5), ("attempt.recorded", 5), ("effect.settled", 6)]


def test_all_that_is_due_is_sent_one_after_the_other(provider: Sandbox) -> None:
    provider.register(dedupe=False, lookup=False)
    for key in ("R-1", "R-2", "R-3"):
        review.refund_approved(key)

    counts = [dispatch_due("worker-1") for _ in range(4)]

    assert (counts, len(provider.deliveries)) == ([1, 1, 1, 0], 3)


def test_nothing_is_sent_once_the_time_to_start_is_over(provider: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    provider.register()
    effect = review.refund_approved()

    def stopped(*args: Any) -> list[Claimed]:
        return [late(item) for item in claim(*args)]  # as after a long stop of this process

    monkeypatch.setattr(dispatch, "claim", stopped)

    dispatch_due("worker-1")

    effect.refresh_from_db()
    assert provider.deliveries == []
    assert (effect.state, effect.next_step, effect.may_have_left) == ("dispatching", "send", False)
    assert Attempt.objects.get().outcome == "never-left"


@pytest.mark.parametrize("is_committed", [False, True])
def test_nothing_is_sent_where_nobody_knows_whether_the_intent_was_committed(
    provider: Sandbox, monkeypatch: pytest.MonkeyPatch, is_committed: bool
) -> None:
    provider.register(dedupe=False, lookup=False)
    effect = review.refund_approved()

    def unanswered(claimed: Claimed) -> bool:
        if is_committed:
            assert start_sending(claimed)
        raise Unavailable

    monkeypatch.setattr(dispatch, "start_sending", unanswered)
    dispatch_due("worker-1")

    effect.refresh_from_db()
    assert (effect.state, effect.next_step, effect.may_have_left) == ("dispatching", "send", False)
    assert (effect.lease_owner, effect.attempts_used, provider.deliveries) == (None, 0, [])


def test_nothing_is_sent_once_the_lease_is_lost(provider: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    provider.register(dedupe=False, lookup=False)
    effect = review.refund_approved()

    def outlasted(*args: Any) -> list[Claimed]:
        found = claim(*args)
        effect.refresh_from_db()
        change(effect, lease_expires_at=now() - timedelta(seconds=1))
        reconcile()
        return found

    monkeypatch.setattr(dispatch, "claim", outlasted)

    dispatch_due("worker-1")

    effect.refresh_from_db()
    assert provider.deliveries == []
    assert (effect.state, effect.next_step, effect.may_have_left) == ("dispatching", "send", False)


def test_a_result_is_recorded_again_when_the_database_was_away(
    provider: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.register(dedupe=False, lookup=False)
    effect = review.refund_approved()
    away = [Unavailable(), Unavailable()]

    def record_later(sent: list[Sent]) -> None:
        if away:
            raise away.pop()
        record_all(sent)

    monkeypatch.setattr(dispatch, "record_all", record_later)

    with stamina.set_testing(True, attempts=5):
        dispatch_due("worker-1")

    effect.refresh_from_db()
    assert (effect.state, len(provider.deliveries)) == ("succeeded", 1)
