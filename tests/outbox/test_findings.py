"""Verdicts and repairs: when each is legal, what it makes, when a second admin is needed, and what voids the wait."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from outbox.errors import Quarantined, TooEarly
from outbox.findings import (
    WAITING_KINDS,
    Ordered,
    RepairRequest,
    VerdictRequest,
    give_verdict,
    order_repair,
)
from outbox.leases import Claimed, claim
from outbox.models import Effect, Remediation, Repair, Verdict
from outbox.providers.base import Known, Result
from outbox.quarantine import quarantine_all
from outbox.recording import record
from outbox.states import Answer, EffectState, Finding, RepairKind
from runs.administration import set_halt
from runs.confirmations import Settling, confirm, withdraw
from runs.errors import (
    AgentsCannotDecide,
    AlreadyDecided,
    CommandIdReused,
    Forbidden,
    InvalidTransition,
    NotFound,
    SeparationOfDuties,
    VersionConflict,
)
from runs.models import Installation, LedgerEntry, WaitingStep
from runs.states import Role
from runs.values import Principal
from tests import cast, review
from tests.outbox.settling import (
    ACCEPTED,
    NEVER_LEFT,
    REFUSED,
    THROTTLED,
    UNKNOWN,
    attempt,
    change,
    claimed,
    let_pass,
    succeed,
)
from tests.outbox.test_lookups import FOUND, NOT_FOUND
from tests.outbox.test_lookups import told as answered
from tests.outbox.test_recording import lost
from tests.review import REFUND, cashier, number

pytestmark = pytest.mark.django_db

HAPPENED, DID_NOT, CANNOT = Finding.HAPPENED, Finding.DID_NOT_HAPPEN, Finding.CANNOT_TELL


def dan() -> Principal:
    """The other admin."""
    return cast.person("dan", Role.ADMIN)


def unknown(*, repeats: bool = False, hours: float = 1, lookup: bool = False) -> Effect:
    """An effect that needs a person: unknown for so long. With repeats, its approval was revoked or its key is old."""
    retention = 1800 if repeats else None
    review.destination(
        "payments", recognises_repeats=repeats, key_retention_seconds=retention,
        lookup_url="https://provider.example.com/lookup" if lookup else "",
    )  # fmt: skip
    effect = let_pass(attempt(review.refund_approved(), UNKNOWN), hours=hours)
    if effect.state == EffectState.DISPATCHING:
        assert claim("worker-2") == []
        effect.refresh_from_db()
    assert effect.state == EffectState.NEEDS_RECONCILIATION or lookup
    return effect


def judge(effect: Effect, verdict: Finding, who: Principal | None = None, **other: Any) -> Ordered:
    """Give a verdict on the effect as it stands."""
    effect.refresh_from_db()
    given = {"id": number("v"), "verdict": verdict, "evidence": "their statement", "reason": "I asked them.",
             "effect_version": effect.version}  # fmt: skip
    ordered = give_verdict(who or cast.dora(), effect.pk, VerdictRequest(**given | other))  # type: ignore[arg-type]
    effect.refresh_from_db()
    return ordered


def order(effect: Effect, repair: RepairKind, who: Principal | None = None, **other: Any) -> Ordered:
    """Order a repair of the effect as it stands."""
    effect.refresh_from_db()
    given = {"id": number("o"), "repair": repair, "reason": "It has to be.", "effect_version": effect.version}
    ordered = order_repair(who or cast.dora(), effect.pk, RepairRequest(**given | other))  # type: ignore[arg-type]
    effect.refresh_from_db()
    return ordered


def confirmed(effect: Effect, ordered: Ordered, who: Principal | None = None) -> None:
    """A second admin confirms what waits."""
    assert ordered.waiting is not None
    confirm(WAITING_KINDS, who or dan(), ordered.waiting, Settling(number("k"), "I asked them as well."))
    effect.refresh_from_db()


def revoke(effect: Effect) -> None:
    review.revoke(cast.ben(), review.approval_of(effect))
    effect.refresh_from_db()


# ---- verdicts --------------------------------------------------------------------------------------------


def test_that_it_happened_with_the_number_of_the_provider_settles_it_alone() -> None:
    effect = unknown()

    ordered = judge(effect, HAPPENED, provider_request_id="p-7")

    assert (ordered.waiting, effect.state, cast.reading(REFUND).state.status) == (None, "succeeded", "sent")
    row = Verdict.objects.get()
    assert (row.verdict, row.by, row.confirmed_by, row.evidence) == ("happened", "user:dora", None, "their statement")
    kinds = [entry.kind for entry in LedgerEntry.objects.order_by("seq")][-2:]
    assert kinds == ["verdict.recorded", "effect.settled"]


def test_that_it_happened_without_a_number_needs_a_second_admin() -> None:
    effect = unknown()

    ordered = judge(effect, HAPPENED)
    waiting = effect.state
    confirmed(effect, ordered)

    assert (ordered.because, waiting, effect.state) == ("there is no provider id", "needs_reconciliation", "succeeded")
    assert (Verdict.objects.get().by, Verdict.objects.get().confirmed_by) == ("user:dora", "user:dan")


def test_that_it_happened_although_it_was_revoked_opens_a_task() -> None:
    effect = unknown()
    revoke(effect)

    judge(effect, HAPPENED, provider_request_id="p-7")

    assert (effect.state, cast.reading(REFUND).state.status) == ("succeeded", "sent")
    assert "revoked" in Remediation.objects.get().because


def test_that_it_did_not_happen_leaves_it_to_be_sent_again_or_given_up() -> None:
    effect = unknown()

    ordered = judge(effect, DID_NOT)

    assert (ordered.waiting, effect.state, effect.next_step) == (None, "needs_reconciliation", "person")
    assert (effect.may_have_left, effect.key_clock_started_at) == (False, None)
    assert cast.reading(REFUND).state.status == "needs_reconciliation"


@pytest.mark.parametrize(("repeats", "hours", "alone"), [(False, 1, False), (True, 1, False), (True, 0.3, True)])
def test_that_what_was_revoked_did_not_happen_ends_it(repeats: bool, hours: float, alone: bool) -> None:
    """A second admin confirms it where a replay was not safe: not recognised, or the memory of the key has ended."""
    review.destination("payments", recognises_repeats=repeats, key_retention_seconds=1800 if repeats else None)
    effect = attempt(review.refund_approved(), UNKNOWN)
    revoke(effect)
    if repeats:
        let_pass(effect, minutes=1)
        assert claim("worker-2") == []
    let_pass(effect, hours=hours)

    ordered = judge(effect, DID_NOT)
    if not alone:
        confirmed(effect, ordered)

    assert (ordered.waiting is None) is alone
    assert (effect.state, effect.may_have_left, cast.reading(REFUND).state.status) == ("cancelled", False, "revoked")


def test_that_nobody_can_tell_keeps_the_evidence_and_waits_for_another() -> None:
    effect = unknown()

    judge(effect, CANNOT)
    judge(effect, CANNOT, dan())
    judge(effect, HAPPENED, provider_request_id="p-7")

    assert effect.state == "succeeded"
    assert list(Verdict.objects.order_by("at").values_list("verdict", "by")) == [
        ("cannot_tell", "user:dora"), ("cannot_tell", "user:dan"), ("happened", "user:dora"),
    ]  # fmt: skip


def test_after_a_doubt_nothing_is_proven_any_more() -> None:
    effect = unknown()
    judge(effect, DID_NOT)

    judge(effect, CANNOT)

    assert effect.may_have_left
    with pytest.raises(InvalidTransition):
        order(effect, RepairKind.MARK_FAILED)
    assert review.revoke(cast.ben(), review.approval_of(effect)).answer["result"] == "in-flight"


@pytest.mark.parametrize("seconds", [60 + 600 - 5, 60 + 600 + 5])
def test_that_it_did_not_happen_is_said_only_once_the_provider_has_settled(seconds: int) -> None:
    review.destination("payments", recognises_repeats=False, key_retention_seconds=None)
    effect = let_pass(attempt(review.refund_approved(), UNKNOWN), seconds=seconds)

    if seconds < 660:
        with pytest.raises(TooEarly) as refusal:
            judge(effect, DID_NOT)
        assert 0 < refusal.value.members["retry_after"] <= 6
        assert not Verdict.objects.exists()
        judge(effect, CANNOT)
    else:
        judge(effect, DID_NOT)
        assert not effect.may_have_left


# ---- what contradicts ------------------------------------------------------------------------------------


def contradicted_by_an_earlier_verdict() -> tuple[Effect, Finding]:
    effect = unknown()
    judge(effect, DID_NOT)
    return effect, HAPPENED


def contradicted_by_a_late_acceptance() -> tuple[Effect, Finding]:
    review.destination("payments", recognises_repeats=False, key_retention_seconds=None)
    effect = review.refund_approved()
    held = lost(effect)
    record(held, ACCEPTED)
    return let_pass(effect, hours=1), DID_NOT


def contradicted_by_a_look_up_that_proves_it() -> tuple[Effect, Finding]:
    effect = unknown(lookup=True)
    answered(effect, Known(Answer.NOT_FOUND, "", None, 404))
    assert effect.state == "needs_reconciliation"
    return effect, HAPPENED


@pytest.mark.parametrize(
    "scene",
    [
        contradicted_by_an_earlier_verdict,
        contradicted_by_a_late_acceptance,
        contradicted_by_a_look_up_that_proves_it,
    ],
)
def test_what_contradicts_what_is_known_needs_a_second_admin(scene: Callable[[], tuple[Effect, Finding]]) -> None:
    effect, finding = scene()

    ordered = judge(effect, finding, provider_request_id="p-7" if finding is HAPPENED else None)

    assert ordered.waiting is not None and "contradicts" in (ordered.because or "")
    confirmed(effect, ordered)
    assert Verdict.objects.order_by("-at")[0].confirmed_by == "user:dan"


def test_a_doubt_contradicts_nothing() -> None:
    effect = unknown()
    judge(effect, DID_NOT)

    assert judge(effect, CANNOT).waiting is None


# ---- repairs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("repeats", "alone"), [(False, False), (True, True)])
def test_a_resend_starts_anew_under_the_same_key(repeats: bool, alone: bool) -> None:
    effect = unknown(repeats=repeats)
    judge(effect, DID_NOT)

    ordered = order(effect, RepairKind.RESEND)
    if not alone:
        confirmed(effect, ordered)

    assert (ordered.waiting is None) is alone
    assert (effect.state, effect.next_step, effect.attempts_used) == ("dispatching", "send", 0)
    held = claimed(effect)
    assert (held.sending.idempotency_key, held.number, held.fence) == ("R-7:pay:v4", 2, 2)
    record(held, ACCEPTED)
    effect.refresh_from_db()
    assert (effect.state, cast.reading(REFUND).state.status) == ("succeeded", "sent")


@pytest.mark.parametrize(
    ("repeats", "hours", "alone"),
    [
        (False, 1, False),
        (True, 1, False),  # the provider has forgotten the key since
        (True, 0.3, True),
    ],
)
def test_giving_up_ends_as_failed(repeats: bool, hours: float, alone: bool) -> None:
    review.destination("payments", recognises_repeats=repeats, key_retention_seconds=1800 if repeats else None)
    effect = review.refund_approved()
    while effect.state != EffectState.NEEDS_RECONCILIATION:
        attempt(change(effect, next_at=effect.authorized_at), UNKNOWN)
    let_pass(effect, hours=hours)
    judge(effect, DID_NOT)

    ordered = order(effect, RepairKind.MARK_FAILED)
    if not alone:
        confirmed(effect, ordered)

    assert (ordered.waiting is None) is alone
    assert (effect.state, cast.reading(REFUND).state.status) == ("failed", "failed")
    assert Repair.objects.get().repair == "mark_failed"


@pytest.mark.parametrize("repair", [RepairKind.RESEND, RepairKind.MARK_FAILED])
def test_nothing_is_repaired_before_somebody_found_out_that_it_did_not_happen(repair: RepairKind) -> None:
    effect = unknown()

    with pytest.raises(InvalidTransition, match="find out"):
        order(effect, repair)
    judge(effect, CANNOT)
    with pytest.raises(InvalidTransition, match="find out"):
        order(effect, repair)


def test_what_was_revoked_is_never_sent_again() -> None:
    effect = unknown()
    waiting = judge(effect, DID_NOT)
    assert waiting.waiting is None
    revoke(effect)

    assert effect.state == "cancelled"
    with pytest.raises(InvalidTransition):
        order(effect, RepairKind.RESEND)


@pytest.mark.parametrize("finding", Finding)
def test_only_what_needs_a_person_takes_a_verdict(finding: Finding) -> None:
    pending = review.refund_approved("R-1")
    ended = succeed(review.refund_approved("R-2"))

    for effect in (pending, ended):
        with pytest.raises(InvalidTransition):
            judge(effect, finding, provider_request_id="p-7")
        for repair in RepairKind:
            with pytest.raises(InvalidTransition):
                order(effect, repair)


# ---- quarantine ------------------------------------------------------------------------------------------


def restored(effect: Effect) -> Effect:
    """As after a restore: a later epoch, and everything that is not at an end in quarantine."""
    Installation.objects.update(ledger_epoch=2)
    quarantine_all(cast.SETUP)
    effect.refresh_from_db()
    return effect


def test_in_quarantine_nothing_is_judged_or_repaired_before_it_is_released() -> None:
    effect = restored(unknown())

    for finding in Finding:
        with pytest.raises(Quarantined):
            judge(effect, finding, provider_request_id="p-7")
    for repair in (RepairKind.RESEND, RepairKind.MARK_FAILED):
        with pytest.raises(Quarantined):
            order(effect, repair)


@pytest.mark.parametrize("scene", [review.refund_approved, unknown])
def test_whatever_is_released_may_have_left_and_waits_for_a_person(scene: Callable[[], Effect]) -> None:
    effect = restored(scene())

    order(effect, RepairKind.RELEASE)

    assert (effect.state, effect.quarantined, effect.may_have_left) == ("needs_reconciliation", False, True)
    assert cast.reading(REFUND).state.status == "needs_reconciliation"
    with pytest.raises(InvalidTransition, match="not in quarantine"):
        order(effect, RepairKind.RELEASE)


def test_revoking_in_quarantine_cancels_nothing_because_it_may_long_have_been_sent() -> None:
    effect = restored(review.refund_approved())

    answer = review.revoke(cast.ben(), review.approval_of(effect)).answer

    effect.refresh_from_db()
    assert (answer["boundary"], answer["result"], effect.state) == ("in-flight", "in-flight", "pending")


def test_an_effect_older_than_a_restore_is_sent_again_only_by_order() -> None:
    effect = restored(review.refund_approved())
    order(effect, RepairKind.RELEASE)
    judge(effect, DID_NOT)
    before = claim("worker-1")

    order(effect, RepairKind.RESEND)
    set_halt(False, cast.SETUP)

    assert before == []
    assert claimed(effect).sending.idempotency_key == "R-7:pay:v4"


# ---- on the version that was seen, once ------------------------------------------------------------------


def test_a_verdict_and_a_repair_are_given_on_the_version_that_was_seen() -> None:
    effect = unknown()
    with pytest.raises(VersionConflict) as refusal:
        judge(effect, CANNOT, effect_version=effect.version - 1)
    assert refusal.value.members["current_version"] == effect.version
    judge(effect, DID_NOT)

    with pytest.raises(VersionConflict):
        order(effect, RepairKind.RESEND, effect_version=effect.version - 1)


def test_the_same_request_again_is_answered_as_it_was() -> None:
    effect = unknown()
    version = effect.version
    first = judge(effect, HAPPENED, id="v-1")
    again = judge(effect, HAPPENED, id="v-1", effect_version=version + 9)

    assert (again.is_replay, again.waiting) == (True, first.waiting)
    assert WaitingStep.objects.count() == 1
    with pytest.raises(CommandIdReused):
        judge(effect, CANNOT, id="v-1")


def test_only_admins_judge_and_repair() -> None:
    effect = unknown()

    for who, error in ((cast.ada(), Forbidden), (cast.ben(), Forbidden), (cast.eli(), Forbidden),
                       (cast.cy(), NotFound), (cashier(), AgentsCannotDecide)):  # fmt: skip
        with pytest.raises(error):
            judge(effect, CANNOT, who)
        with pytest.raises(error):
            order(effect, RepairKind.RESEND, who)


def test_a_halt_keeps_nobody_from_finding_out() -> None:
    effect = unknown()
    set_halt(True, cast.SETUP)

    judge(effect, DID_NOT)
    confirmed(effect, order(effect, RepairKind.RESEND))

    assert effect.state == "dispatching"
    assert claim("worker-1") == []


# ---- the second person -----------------------------------------------------------------------------------


def moved_by_a_verdict(effect: Effect) -> None:
    judge(effect, CANNOT)


def moved_by_a_look_up(effect: Effect) -> None:
    answered(effect, Known(Answer.CANNOT_TELL))


MOVES = [moved_by_a_verdict, moved_by_a_look_up]


@pytest.mark.parametrize("move", MOVES)
def test_what_waits_is_void_as_soon_as_the_effect_moves(move: Callable[[Effect], None]) -> None:
    effect = unknown()
    waiting = judge(effect, HAPPENED)
    move(effect)

    with pytest.raises(AlreadyDecided, match="Void"):
        confirmed(effect, waiting)

    assert effect.state == "needs_reconciliation"
    assert WaitingStep.objects.get().state == "void"


def test_nobody_confirms_their_own_step() -> None:
    effect = unknown()
    waiting = judge(effect, HAPPENED)

    with pytest.raises(SeparationOfDuties):
        confirmed(effect, waiting, cast.dora())
    with pytest.raises(Forbidden):
        confirmed(effect, waiting, cast.ada())
    assert effect.state == "needs_reconciliation"


def test_a_step_is_confirmed_once_and_a_withdrawn_one_never() -> None:
    effect = unknown()
    first, second = judge(effect, HAPPENED), judge(effect, HAPPENED)
    assert second.waiting is not None
    withdraw(cast.dora(), second.waiting, Settling("w-1", "Asked twice."))

    confirmed(effect, first)

    for waiting in (first, second):
        with pytest.raises(AlreadyDecided):
            confirmed(effect, waiting)
    assert Verdict.objects.count() == 1


def test_a_finding_that_came_too_early_when_it_was_asked_for_is_not_let_wait() -> None:
    effect = unknown(hours=0)
    assert let_pass(effect, seconds=timedelta(minutes=5).total_seconds()).state == "needs_reconciliation"

    with pytest.raises(TooEarly):
        judge(effect, DID_NOT)
    assert not WaitingStep.objects.exists()


# ---- what is learned after a resend was ordered ----------------------------------------------------------


def resend_ordered() -> tuple[Claimed, Effect]:
    """A lease whose outcome was found not to have happened, and the effect that is to be sent again for it."""
    review.destination(
        "payments",
        recognises_repeats=False,
        key_retention_seconds=None,
        lookup_url="https://provider.example.com/lookup",
    )
    effect = review.refund_approved()
    held = lost(effect)
    answered(let_pass(effect, minutes=12), NOT_FOUND)
    judge(effect, DID_NOT)
    confirmed(effect, order(effect, RepairKind.RESEND))
    assert (effect.state, effect.next_step, effect.may_have_left) == ("dispatching", "send", False)
    return held, effect


def test_what_the_provider_knows_is_not_sent_again_although_that_was_ordered() -> None:
    _, effect = resend_ordered()

    answered(effect, FOUND)

    assert (effect.state, cast.reading(REFUND).state.status, claim("worker-2")) == ("succeeded", "sent", [])


def test_what_was_accepted_late_is_not_sent_again_as_was_ordered_before_a_person_has_looked() -> None:
    held, effect = resend_ordered()

    record(held, ACCEPTED)

    effect.refresh_from_db()
    assert (effect.state, effect.next_step, effect.may_have_left) == ("needs_reconciliation", "person", True)
    assert (cast.reading(REFUND).state.status, claim("worker-2")) == ("needs_reconciliation", [])
    assert judge(effect, DID_NOT).because == "it contradicts what the provider said"


@pytest.mark.parametrize("second", [REFUSED, THROTTLED, NEVER_LEFT])
def test_what_was_accepted_late_while_it_was_sent_again_is_never_called_not_to_have_happened(second: Result) -> None:
    held, effect = resend_ordered()
    again = claimed(effect, "worker-2")
    record(held, ACCEPTED)

    record(again, second)

    effect.refresh_from_db()
    assert (effect.state, effect.may_have_left) == ("needs_reconciliation", True)
