"""Bulk repairs: a plan row by row on the versions that were seen, and applying it row by row."""

import pytest

from outbox import plans
from outbox.findings import VerdictRequest, give_verdict
from outbox.models import Effect, Repair, RepairPlan
from outbox.plans import ApplicationRequest, PlanRequest, RowState, apply_plan, get_plan, make_plan
from outbox.quarantine import quarantine_all
from outbox.states import Finding, RepairKind
from runs.errors import AgentsCannotDecide, CommandIdReused, Forbidden, InvalidParams, NotFound
from runs.models import WaitingStep
from runs.values import Principal
from tests import cast, review
from tests.outbox import settling

pytestmark = pytest.mark.django_db

SAFE = {"recognises_repeats": True, "key_retention_seconds": 100}
HARD = {"recognises_repeats": False, "key_retention_seconds": None}


def unknown(key: str, **terms: object) -> Effect:
    """An effect that was sent once, long ago; nobody knows whether it happened."""
    review.destination("payments", **(terms or SAFE))
    return settling.let_pass(settling.attempt(review.refund_approved(key), settling.UNKNOWN), hours=1)


def found_not(key: str, **terms: object) -> Effect:
    """The same, of which an admin found that it did not happen."""
    effect = unknown(key, **terms)
    request = VerdictRequest(review.number("v"), Finding.DID_NOT_HAPPEN, "Nothing there.", "So.", effect.version)
    give_verdict(cast.dora(), effect.pk, request)
    effect.refresh_from_db()
    return effect


def request(*effects: Effect, repair: RepairKind = RepairKind.RESEND, id_: str = "p-1") -> PlanRequest:
    return PlanRequest(id_, tuple(effect.pk for effect in effects), repair, "All of last night's.")


def plan(*effects: Effect, repair: RepairKind = RepairKind.RESEND) -> plans.Plan:
    return make_plan(cast.dora(), request(*effects, repair=repair))


# ---- planning ----------------------------------------------------------------------------------------------


def test_a_plan_says_for_each_effect_what_applying_would_come_to_and_changes_none() -> None:
    safe, hard, open_one, done = (
        found_not("R-1"), found_not("R-2", **HARD), unknown("R-3"), settling.succeed(review.refund_approved("R-4")),
    )  # fmt: skip
    before = list(Effect.objects.order_by("pk").values())

    made = plan(safe, hard, open_one, done)

    assert [(row.effect, row.state.value, row.because) for row in made.rows] == [
        ("R-1:pay:v4", "settled", ""),
        ("R-2:pay:v4", "still-unknown", "a second admin has to confirm: the provider does not recognise repeats"),
        ("R-3:pay:v4", "still-unknown", "First somebody has to find out that it did not happen."),
        ("R-4:pay:v4", "refused", "Only an effect that needs reconciliation is repaired."),
    ]
    assert [row.version for row in made.rows] == [safe.version, hard.version, open_one.version, done.version]
    assert list(Effect.objects.order_by("pk").values()) == before
    assert not WaitingStep.objects.exists()


def test_the_same_request_is_the_same_plan_and_another_under_its_id_is_refused() -> None:
    effect = found_not("R-1")

    first = make_plan(cast.dora(), request(effect))
    again = make_plan(cast.dora(), request(effect))

    assert (again.ref, again.is_replay, RepairPlan.objects.count()) == (first.ref, True, 1)
    with pytest.raises(CommandIdReused):
        make_plan(cast.dora(), request(effect, repair=RepairKind.MARK_FAILED))


def test_an_effect_named_twice_is_planned_once() -> None:
    effect = found_not("R-1")

    assert len(plan(effect, effect).rows) == 1


@pytest.mark.parametrize("count", [0, plans.MOST_ROWS + 1])
def test_a_plan_is_neither_empty_nor_endless(count: int) -> None:
    cast.workflow()
    names = tuple(f"R-{number}:pay:v4" for number in range(count))

    with pytest.raises(InvalidParams):
        make_plan(cast.dora(), PlanRequest("p-1", names, RepairKind.RESEND, "So."))


def test_an_effect_that_does_not_exist_is_named_and_nothing_is_planned() -> None:
    known = found_not("R-1").pk

    with pytest.raises(InvalidParams) as refusal:
        make_plan(cast.dora(), PlanRequest("p-1", (known, "R-2:pay:v4"), RepairKind.RESEND, "So."))
    assert [fault.pointer for fault in refusal.value.errors] == ["/effects/1"]
    assert not RepairPlan.objects.exists()


def test_only_admins_plan() -> None:
    effect = found_not("R-1")

    with pytest.raises(Forbidden):
        make_plan(cast.ben(), request(effect))
    with pytest.raises(AgentsCannotDecide):
        make_plan(review.cashier(), request(effect))


def test_admins_and_auditors_read_a_plan_and_nobody_else() -> None:
    made = plan(found_not("R-1"))

    assert get_plan(cast.eli(), made.ref).rows == made.rows
    with pytest.raises(Forbidden):
        get_plan(cast.ben(), made.ref)


@pytest.mark.parametrize("ref", ["rp-1", "x", "rp-" + "0" * 32, "rp-" + "A" * 32])
def test_a_plan_that_never_was_is_not_found(ref: str) -> None:
    with pytest.raises(NotFound):
        get_plan(cast.dora(), ref)


# ---- applying ----------------------------------------------------------------------------------------------


def applied(who: Principal, ref: str, id_: str = "a-1") -> list[tuple[str, str, str]]:
    rows = apply_plan(who, ref, ApplicationRequest(id_)).rows
    return [(row.effect, row.state.value, row.because) for row in rows]


def test_every_row_is_ordered_by_itself_and_told_by_itself() -> None:
    safe, hard, open_one = found_not("R-1"), found_not("R-2", **HARD), unknown("R-3")
    made = plan(safe, hard, open_one)

    told = applied(cast.dora(), made.ref)

    assert told == [
        ("R-1:pay:v4", "settled", ""),
        ("R-2:pay:v4", "still-unknown", "it waits for a second admin: the provider does not recognise repeats"),
        ("R-3:pay:v4", "still-unknown", "First somebody has to find out that it did not happen."),
    ]
    states = dict(Effect.objects.values_list("pk", "state"))
    assert states["R-1:pay:v4"] == "dispatching"
    assert states["R-2:pay:v4"] == states["R-3:pay:v4"] == "needs_reconciliation"
    assert WaitingStep.objects.get().subject == "R-2:pay:v4"


def test_what_moved_since_the_plan_is_refused_and_the_rest_goes_on() -> None:
    moved, other = found_not("R-1"), found_not("R-2")
    made = plan(moved, other)
    settling.change(moved)

    told = applied(cast.dora(), made.ref)

    assert [row[1] for row in told] == ["refused", "settled"]
    assert told[0][2] == "The effect moved since you looked; its state now: needs reconciliation."
    assert Repair.objects.get().effect_id == other.pk


def test_applying_twice_orders_nothing_twice() -> None:
    made = plan(found_not("R-1"))

    first = applied(cast.dora(), made.ref)
    same_id = apply_plan(cast.dora(), made.ref, ApplicationRequest("a-1"))
    other_id = applied(cast.dora(), made.ref, "a-2")

    assert same_id.is_replay
    assert other_id == first
    assert Repair.objects.count() == 1


def test_another_admin_finds_what_is_done_already_refused() -> None:
    made = plan(found_not("R-1"))
    applied(cast.dora(), made.ref)

    told = applied(cast.person("otto", *cast.dora().roles), made.ref)

    assert told == [("R-1:pay:v4", "refused", "The effect moved since you looked; its state now: dispatching.")]
    assert Repair.objects.count() == 1


def test_an_id_that_stands_for_another_plan_is_refused() -> None:
    one, other = plan(found_not("R-1")), make_plan(cast.dora(), request(found_not("R-2"), id_="p-2"))
    applied(cast.dora(), one.ref)

    with pytest.raises(CommandIdReused):
        apply_plan(cast.dora(), other.ref, ApplicationRequest("a-1"))


def test_only_admins_apply() -> None:
    made = plan(found_not("R-1"))

    with pytest.raises(Forbidden):
        apply_plan(cast.eli(), made.ref, ApplicationRequest("a-1"))
    assert not Repair.objects.exists()


def test_quarantine_is_released_in_bulk_to_unknown() -> None:
    waiting = [review.refund_approved(key) for key in ("R-1", "R-2")]
    quarantine_all(cast.SETUP)

    told = applied(cast.dora(), plan(*waiting, repair=RepairKind.RELEASE).ref)

    assert [row[1] for row in told] == ["settled", "settled"]
    assert set(Effect.objects.values_list("state", "quarantined")) == {("needs_reconciliation", False)}


def test_states_of_rows_are_those_of_the_api() -> None:
    assert [state.value for state in RowState] == ["settled", "refused", "still-unknown"]
