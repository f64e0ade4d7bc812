"""Batches: each effect of one is its own claim and its own record; none stops, fails or speaks for another."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.models import Snapshot
from console import sandbox
from outbox import dispatch, tasks
from outbox.dispatch import dispatch_all, dispatch_due
from outbox.leases import Claimed, claim
from outbox.models import Attempt, Effect, Remediation
from outbox.providers import ADAPTERS
from outbox.providers.base import Result, Sending, Target
from outbox.reconcile import reconcile
from outbox.recording import record_all
from outbox.states import Outcome
from runs.administration import set_halt, set_workflow_suspended
from tests import cast, review
from tests.outbox.settling import ACCEPTED, NEVER_LEFT, REFUSED, THROTTLED, UNKNOWN, change, let_pass
from tests.outbox.test_leases import ids, now
from tests.sandbox import require_approved
from tests.unguarded import take_guards_away
from tests.verifying import broken

pytestmark = pytest.mark.django_db

KEYS = [f"R-{number}" for number in range(1, 11)]
OPERATIONS = [f"{key}:pay:v4" for key in KEYS]


class Provider:
    """A provider with a memory, which does what it is told for a key."""

    name = "http"

    def __init__(self) -> None:
        self.memory = sandbox.Provider()
        self.asked: list[str] = []
        self.takes: Callable[[], None] = lambda: None
        self.answers: dict[str, Result] = {}

    def send(self, target: Target, sending: Sending) -> Result:
        self.memory.receive(sending.idempotency_key, sending.payload)
        self.asked.append(sending.operation_id)
        self.takes()
        return self.answers.get(sending.operation_id, ACCEPTED)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    provider = Provider()
    monkeypatch.setitem(ADAPTERS, "http", provider)
    yield provider
    require_approved(provider.memory.deliveries)


@pytest.fixture(autouse=True)
def ten() -> None:
    """Ten refunds, approved one after the other, to a provider that may have ten in flight."""
    review.destination("payments", max_in_flight=10)
    for key in KEYS:
        review.refund_approved(key)


def states() -> list[str]:
    rows = {effect.pk: effect.state for effect in Effect.objects.all()}
    return [rows[number] for number in OPERATIONS]


# ---- claiming --------------------------------------------------------------------------------------------


def test_a_batch_is_claimed_in_the_order_in_which_it_is_due() -> None:
    held = claim("worker-1", limit=8)

    assert ids(held) == OPERATIONS[:8]
    assert [(item.fence, item.number) for item in held] == [(1, 1)] * 8
    assert all(tried.send_started_at == tried.started_at for tried in Attempt.objects.all())
    assert {cast.reading(key).state.status for key in KEYS[:8]} == {"dispatching"}


def test_a_batch_of_eight_loads_with_as_many_queries_as_a_batch_of_two() -> None:
    claim("worker-1", only="nothing")  # what authority says is cached from here on
    counts = []
    for limit in (2, 8):
        with CaptureQueriesContext(connection) as orm:
            held = claim("worker-1", limit=limit)
            record_all([(item, ACCEPTED) for item in held])
        counts.append(len(orm))

    assert counts[0] == counts[1]


def test_one_that_is_refused_in_the_middle_is_cancelled_and_the_others_are_claimed() -> None:
    take_guards_away()
    Snapshot.objects.filter(run__key="R-5").update(payload=b"{}")

    held = claim("worker-1", limit=10)

    assert ids(held) == [number for number in OPERATIONS if number != "R-5:pay:v4"]
    assert states() == ["dispatching"] * 4 + ["cancelled"] + ["dispatching"] * 5
    assert cast.reading("R-5").state.status == "revoked"


def test_one_that_was_revoked_or_put_under_quarantine_is_not_in_the_batch_and_stops_nobody() -> None:
    review.revoke(cast.ben(), review.approval_of(review.effect_of("R-2")))
    change(review.effect_of("R-3"), quarantined=True)

    held = claim("worker-1", limit=10)

    assert ids(held) == [OPERATIONS[0], *OPERATIONS[3:]]


def test_of_a_mixed_batch_what_may_not_be_repeated_is_left_for_a_claim_of_its_own() -> None:
    review.destination("customer-reports", recognises_repeats=False, key_retention_seconds=None)
    report = change(review.report_approved(), next_at=now() - timedelta(hours=1))

    change(review.effect_of("R-1"), next_at=now() - timedelta(hours=2))

    assert report.pk not in ids(claim("worker-1", limit=5))
    (first, *_) = claim("worker-2", limit=5)
    assert (first.operation_id, first.records_intent) == (report.pk, True)


# ---- sending and recording -------------------------------------------------------------------------------


def test_each_of_a_batch_comes_to_its_own_end(provider: Provider) -> None:
    provider.answers = {"R-2:pay:v4": REFUSED, "R-4:pay:v4": UNKNOWN, "R-6:pay:v4": NEVER_LEFT}

    count = dispatch_due("worker-1", 10)

    assert (count, provider.asked) == (10, OPERATIONS)
    assert states() == [
        "succeeded", "failed", "succeeded", "dispatching", "succeeded",
        "dispatching", "succeeded", "succeeded", "succeeded", "succeeded",
    ]  # fmt: skip
    assert (review.effect_of("R-4").next_step, review.effect_of("R-6").next_step) == ("replay", "send")
    assert broken() == {}


def test_where_one_fence_moved_its_result_is_late_evidence_and_the_nine_others_count() -> None:
    held = claim("worker-1", limit=10)
    moved = review.effect_of("R-7")
    change(moved, fence=moved.fence + 1, lease_owner="worker-2")

    record_all([(item, ACCEPTED) for item in held])

    assert states() == ["succeeded"] * 6 + ["dispatching"] + ["succeeded"] * 3
    late = Attempt.objects.get(effect_id=moved.pk)
    assert (late.outcome, late.late is None) == (None, False)


def test_what_was_revoked_after_the_claim_and_happened_all_the_same_is_a_task_for_people(provider: Provider) -> None:
    held = claim("worker-1", limit=10)
    review.revoke(cast.ben(), review.approval_of(review.effect_of("R-3")))

    record_all([(item, ACCEPTED) for item in held])

    assert states() == ["succeeded"] * 10
    assert Remediation.objects.get().effect_id == "R-3:pay:v4"


def test_a_worker_lost_within_a_batch_leaves_no_work_for_people_where_repeats_are_recognised(
    provider: Provider,
) -> None:
    held = claim("worker-1", limit=10)
    record_all([(item, ACCEPTED) for item in held[:3]])  # and there it died
    for key in KEYS[3:]:
        let_pass(review.effect_of(key), minutes=2)

    reconcile()
    replays = {review.effect_of(key).next_step for key in KEYS[3:]}
    for key in KEYS[3:]:
        change(review.effect_of(key), next_at=now())
    dispatch_all("worker-2")

    assert replays == {"replay"}
    assert (states(), provider.asked) == (["succeeded"] * 10, OPERATIONS[3:])


def test_what_a_batch_has_no_time_for_is_handed_back_and_costs_no_attempt(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "SENDING_SECONDS", -1)

    count = dispatch_due("worker-1", 10)

    assert (count, provider.asked) == (10, OPERATIONS[:1])
    waiting = Effect.objects.exclude(pk="R-1:pay:v4")
    assert set(waiting.values_list("state", "next_step", "attempts_used", "may_have_left", "lease_owner")) == {
        ("dispatching", "send", 0, False, None)
    }


def test_once_a_destination_asks_to_wait_the_rest_of_the_batch_is_handed_back(provider: Provider) -> None:
    provider.answers = {"R-3:pay:v4": THROTTLED}

    count = dispatch_due("worker-1", 10)

    assert (count, provider.asked) == (10, OPERATIONS[:3])
    assert states() == ["succeeded"] * 2 + ["dispatching"] * 8
    waiting = Effect.objects.filter(state="dispatching")
    assert set(waiting.values_list("next_step", "attempts_used", "may_have_left")) == {("send", 0, False)}
    assert claim("worker-2", limit=10) == []  # nobody asks before the time it named
    assert broken() == {}


def test_a_turn_begins_no_send_after_its_time_however_long_each_took(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [time.monotonic()]
    monkeypatch.setattr(dispatch, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    provider.takes = lambda: clock.__setitem__(0, clock[0] + 0.6 * dispatch.SENDING_SECONDS)

    tasks.dispatch("R-6:pay:v4")

    assert provider.asked == ["R-6:pay:v4", "R-1:pay:v4"]
    assert states().count("succeeded") == 2


def test_what_was_answered_before_an_adapter_broke_is_recorded(provider: Provider) -> None:
    class Broken(Provider):
        def send(self, target: Target, sending: Sending) -> Result:
            if len(self.asked) == 2:
                raise ZeroDivisionError
            return super().send(target, sending)

    ADAPTERS["http"] = Broken()  # type: ignore[assignment]  # the fixture puts the real one back

    with pytest.raises(ZeroDivisionError):
        dispatch_due("worker-1", 10)

    assert states() == ["succeeded"] * 2 + ["dispatching"] * 8


def test_a_turn_goes_on_until_nothing_is_due(provider: Provider) -> None:
    review.destination("payments", max_in_flight=3)
    review.refund_approved("R-11")  # the only one under the newer revision

    assert dispatch_all("worker-1") == 11
    assert len(provider.asked) == 11


def test_a_bell_is_for_one_effect_first_and_then_for_whatever_else_is_due(provider: Provider) -> None:
    tasks.dispatch("R-6:pay:v4")

    assert provider.asked == ["R-6:pay:v4", *(number for number in OPERATIONS if number != "R-6:pay:v4")]


def test_a_result_that_was_recorded_is_off_the_list(provider: Provider) -> None:
    held: list[Claimed] = claim("worker-1", limit=3)
    sent = [(item, ACCEPTED) for item in held]
    foreign = replace(held[2], operation_id="R-99:pay:v4", run_id=0, run_key="R-99")

    with pytest.raises(Exception, match="R-99"):
        record_all(rest := [*sent[:2], (foreign, Result(Outcome.UNKNOWN, ""))])

    assert [item.operation_id for item, _ in rest] == ["R-99:pay:v4"]


# ---- withdrawn meanwhile -----------------------------------------------------------------------------------


@pytest.fixture
def watchful(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that records, and looks what was withdrawn, after every send."""
    monkeypatch.setattr(dispatch, "TOGETHER_SECONDS", -1)


@pytest.mark.usefixtures("watchful")
def test_what_is_revoked_while_others_of_its_batch_are_sent_is_cancelled_unsent(provider: Provider) -> None:
    def revoke() -> None:
        if provider.asked == OPERATIONS[:2]:
            review.revoke(cast.ben(), review.approval_of(review.effect_of("R-5")))

    provider.takes = revoke

    dispatch_due("worker-1", 10)

    assert provider.asked == [number for number in OPERATIONS if number != "R-5:pay:v4"]
    assert states() == ["succeeded"] * 4 + ["cancelled"] + ["succeeded"] * 5
    assert (cast.reading("R-5").state.status, Remediation.objects.count()) == ("revoked", 0)
    assert broken() == {}


def halt(on: bool) -> None:
    set_halt(on, cast.SETUP)


def suspend(on: bool) -> None:
    set_workflow_suspended("refund", on, cast.SETUP)


@pytest.mark.usefixtures("watchful")
@pytest.mark.parametrize("stop", [halt, suspend])
def test_a_halt_or_a_suspension_stops_the_rest_of_a_batch_which_goes_on_afterwards(
    provider: Provider, stop: Callable[[bool], None]
) -> None:
    provider.takes = lambda: stop(True) if provider.asked == OPERATIONS[:2] else None

    dispatch_due("worker-1", 10)

    assert provider.asked == OPERATIONS[:2]
    left = Effect.objects.filter(state="dispatching")
    assert set(left.values_list("next_step", "attempts_used", "may_have_left")) == {("send", 0, False)}
    assert left.count() == 8

    stop(False)
    for effect in left:
        let_pass(effect, minutes=10)
    dispatch_due("worker-1", 10)

    assert states() == ["succeeded"] * 10
    assert broken() == {}
