"""An operator settles a case of a run whose effect a worker claims between the operator's look and the write.

A claim steps the run from `approved` to `dispatching`. Whoever settles on what they saw before is shown that, and
nothing is applied; what is settled first is kept, and the claim comes after it.
"""

from typing import Any

import pytest

from outbox import leases
from outbox.authorization import resolve
from outbox.leases import claim, due_operations
from outbox.models import Effect
from outbox.recording import record
from runs import escalations
from runs.errors import Unavailable, VersionConflict
from runs.escalations import Resolution, ResolutionRequest
from runs.models import Escalation
from runs.refusals import escalation_ref
from runs.values import Principal
from runs.verbs import Verb
from tests import cast, review
from tests.outbox.settling import ACCEPTED
from tests.outbox.test_leases import ids
from tests.races.pairs import STEP, begun, race, story, without_any_guard, without_lock
from tests.review import REFUND
from tests.sync import PATIENCE_SECONDS, rivals_before

JSON = Any

#: Where a claim stops that is ahead: its leases are written and not committed.
LEASED = (leases, "_claim")
OPERATION = "R-7:pay:v4"

#: A case may be assigned to somebody until its refund has gone out.
ASSIGNABLE = (
    'set = { assigned_owner = "{assigned_owner}" }',
    'set = { assigned_owner = "{assigned_owner}" }\n'
    'allowed_in = ["received", "working", "ready_for_review", "approved", "dispatching"]',
)


@pytest.fixture(autouse=True)
def effect() -> Effect:
    """A refund that is authorized and not claimed; an agent's owner for it waits for an operator, at version 5."""
    review.workflow("refund", ASSIGNABLE)
    mara()
    effect = review.refund_approved()
    cast.command(cast.ada(), REFUND, "assign", assigned_owner="ada")
    cast.command(review.cashier(), REFUND, "assign", on=4, assigned_owner="lena")
    return effect


def mara() -> Principal:
    return cast.person_operating("mara")


def settle(verb: Verb = Verb.APPLY, on: int = 5) -> Resolution:
    """Settle the case as Mara saw it at a version."""
    ref = escalation_ref(Escalation.objects.get().pk)
    params = {"assigned_owner": "jo"} if verb is Verb.AMEND else None
    request = ResolutionRequest(review.number("r"), verb, "She knows the customer.", on, 1, params)
    return resolve(mara(), ref, request)


def work() -> list[str]:
    """What a worker gets."""
    return ids(claim("worker-1"))


def record_state() -> tuple[int, str, JSON]:
    """Version, status and owner of the run."""
    run = cast.reading(REFUND)
    return run.version, run.state.status.value, run.state.fields["assigned_owner"]


def last(count: int) -> list[tuple[int, str, str]]:
    return story(REFUND)[-count:]


CLAIMED = (6, "effect.claimed", "system:dispatch")


def assert_shown_and_nothing_applied(refusal: BaseException) -> None:
    assert isinstance(refusal, VersionConflict)
    moved = [(item["field"], item["base"], item["current"]) for item in refusal.members["changed_fields"]]
    assert moved == [("status", "approved", "dispatching")]
    assert record_state() == (6, "dispatching", "ada")
    assert Escalation.objects.get().state == "open"
    assert last(1) == [CLAIMED]


# ---- claimed first ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", Verb)
def test_a_claim_that_comes_first_is_shown_to_the_operator_and_nothing_is_applied(
    monkeypatch: pytest.MonkeyPatch, verb: Verb
) -> None:
    worked, settled = race(monkeypatch, work, lambda: settle(verb), LEASED)

    assert worked.result() == [OPERATION]
    assert_shown_and_nothing_applied(settled.error())


@pytest.mark.parametrize("verb", Verb)
def test_a_claim_between_the_look_and_the_lock_is_shown_as_well(monkeypatch: pytest.MonkeyPatch, verb: Verb) -> None:
    rivals_before(monkeypatch, (escalations, "hold_run"), work)

    with pytest.raises(VersionConflict) as refused:
        settle(verb)

    assert_shown_and_nothing_applied(refused.value)


def test_whoever_looks_again_settles_it_and_the_worker_records_what_came_of_its_attempt(effect: Effect) -> None:
    (held,) = claim("worker-1")

    settled = settle(on=6)
    record(held, ACCEPTED)

    assert settled.answer["verb"] == "apply"
    assert record_state() == (8, "sent", "lena")
    assert last(4) == [
        CLAIMED,
        (7, "escalation.resolved", "user:mara"),
        (7, "attempt.recorded", "system:worker-1"),
        (8, "effect.settled", "system:worker-1"),
    ]


# ---- settled first ---------------------------------------------------------------------------------------


def test_a_claim_passes_by_a_run_whose_case_is_being_settled_and_gets_it_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with begun(monkeypatch, settle, work, STEP) as (settled, worked, _):
        assert worked.ended.wait(PATIENCE_SECONDS)  # while the resolution is not committed
        assert due_operations(1) == [OPERATION]

    assert (settled.result().answer["verb"], worked.result()) == ("apply", [])
    assert work() == [OPERATION]
    assert record_state() == (7, "dispatching", "lena")
    assert last(2) == [(6, "escalation.resolved", "user:mara"), (7, "effect.claimed", "system:dispatch")]


def test_what_was_picked_before_and_locked_after_the_resolution_is_claimed_on_top_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(leases, "_PICK", leases._PICK.replace("SKIP LOCKED", ""))

    settled, worked = race(monkeypatch, settle, work)

    assert (settled.result().answer["verb"], worked.result()) == ("apply", [OPERATION])
    assert record_state() == (7, "dispatching", "lena")


# ---- without guards --------------------------------------------------------------------------------------


def test_without_the_lock_the_operator_is_not_shown_the_claim_and_still_applies_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with without_lock(monkeypatch, escalations):
        _, settled = race(monkeypatch, work, settle, LEASED)

    assert isinstance(settled.error(), Unavailable)  # the step itself found the version moved
    assert record_state() == (6, "dispatching", "ada")


def test_without_any_guard_a_run_that_is_being_sent_would_be_called_authorized_and_untouched(
    effect: Effect, monkeypatch: pytest.MonkeyPatch, owner_dsn: str
) -> None:
    with without_any_guard(monkeypatch, owner_dsn, escalations):
        _, settled = race(monkeypatch, work, settle, LEASED)

    settled.result()
    effect.refresh_from_db()
    assert effect.lease_owner == "worker-1"
    assert record_state() == (6, "approved", "lena")
