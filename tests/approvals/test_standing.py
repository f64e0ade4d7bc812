"""Standing approvals: given in advance within limits, spent as one of the needed approvals, and never given back."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from approvals.models import Decision, StandingApproval
from approvals.standing import (
    Standing,
    StandingRequest,
    give_standing_approval,
    revoke_standing_approval,
    standing_number,
    standing_ref,
)
from outbox import authorization
from outbox.leases import claim
from outbox.models import Effect
from runs.administration import set_halt, set_person, set_workflow_suspended
from runs.errors import (
    AgentsCannotDecide,
    AlreadyDecided,
    CommandIdReused,
    Forbidden,
    Halted,
    InvalidParams,
    NotFound,
    WorkflowSuspended,
)
from runs.models import Installation, LedgerEntry
from runs.states import Role
from runs.values import Principal
from tests import cast, review
from tests.outbox.settling import succeed
from tests.review import REFUND, approve, bea, cashier
from tests.unguarded import take_guards_away

pytestmark = pytest.mark.django_db

TERMS = StandingRequest(
    id="s-1",
    workflow="refund",
    action="pay",
    currency="EUR",
    limit=Decimal("30.00"),
    total=Decimal("60.00"),
    uses=3,
    expires_at=datetime.now(UTC) + timedelta(days=30),
    reason="Small refunds of the season.",
)

UNUSED = (0, Decimal(0))


def give(who: Principal | None = None, **other: Any) -> Standing:
    """A standing approval of Bea's, but for what is given."""
    cast.workflow("refund")
    return give_standing_approval(who or bea(), replace(TERMS, **{"id": review.number("s")} | other))


def freeze(key: str = REFUND, amount: str = "25.00", who: Principal | None = None) -> str | None:
    """Freeze the payment of a refund; gives the effect where that authorized it."""
    review.refund_working(key, amount)
    effect: str | None = review.freeze(who or cashier(), key, "pay").answer["effect"]
    return effect


def left() -> tuple[int, Decimal]:
    """How often it was used, and how much was spent."""
    row = StandingApproval.objects.get()
    return row.used, row.spent


# ---- giving ----------------------------------------------------------------------------------------------


def test_a_reviewer_gives_it_once_under_one_id() -> None:
    first = give(id="s-1")
    again = give(id="s-1")

    assert (first.is_replay, again.is_replay, again.row.pk) == (False, True, first.row.pk)
    assert (first.row.giver_id, first.row.used, first.row.spent) == (bea().id, 0, Decimal(0))
    with pytest.raises(CommandIdReused):
        give(id="s-1", uses=4)


@pytest.mark.parametrize(
    ("other", "pointers"),
    [
        ({"action": "fly"}, ["/action"]),
        ({"action": "recall"}, ["/action"]),
        ({"limit": Decimal(0)}, ["/limit"]),
        ({"limit": Decimal("60.01")}, ["/limit"]),
        ({"limit": Decimal(0), "total": Decimal(0)}, ["/limit", "/total"]),
        ({"limit": Decimal("30.001")}, ["/limit"]),
        ({"limit": Decimal("-1.00")}, ["/limit"]),
        ({"total": Decimal("60.001")}, ["/total"]),
        ({"total": Decimal("1000000000000.00")}, ["/total"]),
        ({"uses": 0}, ["/uses"]),
        ({"uses": 2**31}, ["/uses"]),
        ({"expires_at": datetime(2020, 1, 1, tzinfo=UTC)}, ["/expires_at"]),
    ],
)
def test_impossible_terms_are_refused_with_their_places(other: dict[str, Any], pointers: list[str]) -> None:
    with pytest.raises(InvalidParams) as refusal:
        give(**other)

    assert [fault.pointer for fault in refusal.value.errors] == pointers


def test_only_reviewers_of_the_workflow_give_one() -> None:
    for who in (cast.ada(), cast.dora(), cast.eli()):
        with pytest.raises(Forbidden):
            give(who)
    with pytest.raises(NotFound):
        give(cast.cy())
    with pytest.raises(NotFound):
        give(workflow="nothing")
    with pytest.raises(AgentsCannotDecide):
        give(cashier())


def test_nothing_is_approved_in_advance_while_all_or_this_stands_still() -> None:
    give()
    set_halt(True, cast.SETUP)
    with pytest.raises(Halted):
        give()
    set_halt(False, cast.SETUP)
    set_workflow_suspended("refund", True, cast.SETUP)

    with pytest.raises(WorkflowSuspended):
        give()


# ---- spending --------------------------------------------------------------------------------------------


def test_a_freeze_that_it_completes_is_authorized_in_the_same_commit() -> None:
    row = give().row

    effect = freeze()

    run, decision = cast.reading(REFUND), Decision.objects.get()
    assert (effect, run.version, run.state.status, run.effect) == ("R-7:pay:v4", 4, "approved", "R-7:pay:v4")
    assert (decision.person_id, decision.standing_approval_id, decision.spent_by) == (bea().id, row.pk, effect)
    assert left() == (1, Decimal("25.00"))
    told = [(entry.kind, entry.actor) for entry in LedgerEntry.objects.order_by("seq")][-3:]
    assert told == [
        ("snapshot.frozen", "agent:cashier"),
        ("decision.approved", "user:bea"),
        ("effect.authorized", "agent:cashier"),
    ]


def test_with_a_larger_quorum_it_completes_what_the_last_person_began() -> None:
    give()
    cast.policy("refund", quorum=2)
    give_standing_approval(bea(), replace(TERMS, id="s-2"))

    frozen = freeze()
    approved = approve(cast.ben(), "R-7:review:v3:c1").answer

    assert (frozen, approved["effect"]) == (None, "R-7:pay:v4")
    assert {row.person.username for row in Decision.objects.all()} == {"ben", "bea"}


def test_it_counts_once_beside_its_giver() -> None:
    cast.workflow("refund")
    cast.policy("refund", quorum=2)
    give()
    freeze()

    answer = approve(bea(), "R-7:review:v3:c1").answer

    assert (answer["approvals_active"], answer["effect"], left()) == (1, None, UNUSED)


def test_two_of_one_giver_are_not_two_approvals() -> None:
    cast.workflow("refund")
    cast.policy("refund", quorum=2)
    give()
    give()

    assert freeze() is None


def beyond_the_limit() -> None:
    give(limit=Decimal("24.99"))


def in_another_currency() -> None:
    give(currency="USD")


def used_up() -> None:
    give(uses=1)
    freeze("R-1")


def spent_up() -> None:
    give(total=Decimal("40.00"))
    freeze("R-1")


def expired() -> None:
    give()
    take_guards_away()
    StandingApproval.objects.update(expires_at=datetime(2020, 1, 1, tzinfo=UTC))


def revoked() -> None:
    revoke_standing_approval(cast.ben(), standing_ref(give().row.pk), "rv-1", "The season is over.")


def given_under_an_older_authority() -> None:
    give()
    cast.policy("refund", reviewers=frozenset({"refund-reviewers", "others"}))


def given_before_a_restore() -> None:
    give()
    Installation.objects.update(ledger_epoch=2)


def of_somebody_who_reviews_no_more() -> None:
    give()
    set_person("bea", cast.SETUP, groups=["others"])


def of_somebody_suspended() -> None:
    give()
    set_person("bea", cast.SETUP, roles=[])


def of_the_owner_of_the_agent_that_spends() -> None:
    review.refund_working("R-1")
    ada = cast.person("ada")
    set_person("ada", cast.SETUP, roles=[Role.OPERATOR, Role.REVIEWER], groups=["refund-operators", "refund-reviewers"])
    give(Principal("person", "ada", ada.id))


@pytest.mark.parametrize("amount", ["25.001", "0.00"])
def test_what_no_column_holds_exactly_is_left_to_people(amount: str) -> None:
    review.workflow("refund", ('"^(?!0{1,9}\\\\.00$)[0-9]{1,9}\\\\.[0-9]{2}$"', '"^[0-9]{1,9}\\\\.[0-9]{2,3}$"'))
    give()

    assert freeze(amount=amount) is None
    assert left() == UNUSED


@pytest.mark.parametrize(
    "scene",
    [
        beyond_the_limit, in_another_currency, used_up, spent_up, expired, revoked, given_under_an_older_authority,
        given_before_a_restore, of_somebody_who_reviews_no_more, of_somebody_suspended,
        of_the_owner_of_the_agent_that_spends,
    ],
)  # fmt: skip
def test_what_does_not_fit_is_not_spent_and_a_person_is_asked(scene: Callable[[], None]) -> None:
    scene()
    before = left()

    assert freeze() is None
    assert left() == before
    assert cast.reading(REFUND).state.status == "ready_for_review"


def test_under_relaxed_separation_the_owner_of_the_spender_still_may_not_be_its_giver() -> None:
    cast.workflow("refund")
    cast.policy("refund", separation="relaxed")
    of_the_owner_of_the_agent_that_spends()

    assert freeze() is None


def test_separation_binds_the_giver() -> None:
    set_person(bea().name, cast.SETUP, roles=[Role.REVIEWER, Role.OPERATOR],
               groups=["refund-reviewers", "refund-operators"])  # fmt: skip
    give()
    review.refund_working()
    cast.command(bea(), REFUND, "set-recipient", recipient="Ana Silva")

    assert review.freeze(cashier(), REFUND, "pay").answer["effect"] is None


def test_the_next_one_is_taken_where_the_first_does_not_fit() -> None:
    give(limit=Decimal("10.00"), expires_at=TERMS.expires_at - timedelta(days=1))
    give(review.reviewer("cleo"))

    assert freeze() == "R-7:pay:v4"
    assert Decision.objects.get().person.username == "cleo"


def test_the_one_that_ends_first_is_spent_first() -> None:
    give(review.reviewer("cleo"))
    give(expires_at=TERMS.expires_at - timedelta(days=1))

    freeze()

    assert Decision.objects.get().person.username == "bea"


def test_a_use_is_never_given_back() -> None:
    give()
    freeze()

    authorization.revoke(cast.ben(), review.approval_of(review.effect_of()), "rv-1", "wrong customer")

    assert review.effect_of().state == "cancelled"
    assert left() == (1, Decimal("25.00"))


def test_no_use_is_lost_where_the_authorization_fails_for_another_reason() -> None:
    cast.workflow("refund")
    cast.policy("refund", quorum=2)
    give()
    freeze()
    review.destination("payments", url="https://elsewhere.example.com/")

    answer = approve(cast.ben(), "R-7:review:v3:c1").answer

    assert (answer["effect"], left()) == (None, UNUSED)
    assert not Effect.objects.exists()


# ---- revoking --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", [bea, cast.ben, cast.dora])
def test_reviewers_and_admins_revoke_one_with_one_row(who: Callable[[], Principal]) -> None:
    ref = standing_ref(give().row.pk)

    done = revoke_standing_approval(who(), ref, "rv-1", "The season is over.")
    again = revoke_standing_approval(who(), ref, "rv-1", "The season is over.")

    assert (done.row.revoked_by, done.is_replay, again.is_replay) == (who().actor, False, True)
    with pytest.raises(AlreadyDecided):
        revoke_standing_approval(who(), ref, "rv-2", "Again.")
    with pytest.raises(CommandIdReused):
        revoke_standing_approval(who(), ref, "rv-1", "Another reason.")


def test_others_do_not_revoke_it() -> None:
    ref = standing_ref(give().row.pk)

    for who, error in ((cast.ada(), Forbidden), (cast.eli(), Forbidden), (cast.cy(), NotFound),
                       (cashier(), AgentsCannotDecide)):  # fmt: skip
        with pytest.raises(error):
            revoke_standing_approval(who, ref, "rv-1", "The season is over.")


def test_a_halt_does_not_keep_anybody_from_revoking() -> None:
    ref = standing_ref(give().row.pk)
    set_halt(True, cast.SETUP)

    assert revoke_standing_approval(cast.ben(), ref, "rv-1", "Stop.").row.revoked_at


def test_a_use_whose_source_was_revoked_is_not_sent_any_more() -> None:
    ref = standing_ref(give().row.pk)
    freeze()
    revoke_standing_approval(cast.ben(), ref, "rv-1", "The season is over.")

    assert claim("worker-1") == []
    effect = review.effect_of()
    assert (effect.state, cast.reading(REFUND).state.status) == ("cancelled", "revoked")
    assert "revoked" in effect.because


def test_what_was_sent_before_stays_sent() -> None:
    ref = standing_ref(give().row.pk)
    freeze()
    effect = succeed(review.effect_of())

    revoke_standing_approval(cast.ben(), ref, "rv-1", "The season is over.")

    effect.refresh_from_db()
    assert effect.state == "succeeded"


@pytest.mark.parametrize("ref", ["", "sa-", "sa-1", "d-" + "0" * 32, "sa-" + "0" * 32])
def test_what_is_no_standing_approval_is_not_found(ref: str) -> None:
    with pytest.raises(NotFound):
        revoke_standing_approval(cast.ben(), ref, "rv-1", "Stop.")


def test_a_standing_approval_has_one_public_id() -> None:
    ref = "sa-" + "0" * 31 + "a"

    assert standing_ref(standing_number(ref)) == ref
    with pytest.raises(NotFound):
        standing_number(ref.upper())
