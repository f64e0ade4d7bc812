"""Look-ups: what an answer settles and what it does not, and asking once under one id."""

from datetime import timedelta
from typing import Any

import pytest

from outbox import lookups
from outbox.errors import EffectInFlight
from outbox.lookups import LookupRequest, Question, look_up_now, record_lookup
from outbox.models import Effect, Lookup, Remediation
from outbox.providers.base import Known
from outbox.quarantine import quarantine_all
from outbox.recording import record
from outbox.states import Answer
from runs.errors import AgentsCannotDecide, CommandIdReused, Forbidden, InvalidTransition
from runs.models import LedgerEntry
from tests import cast, review
from tests.outbox.providers.servers import Web, answer
from tests.outbox.settling import UNKNOWN, attempt, change, claimed, let_pass, succeed
from tests.outbox.test_leases import now
from tests.review import REFUND, cashier

pytestmark = pytest.mark.django_db

FOUND = Known(Answer.FOUND, "", "p-1", 200)
NOT_FOUND = Known(Answer.NOT_FOUND, "", None, 404)
CANNOT_TELL = Known(Answer.CANNOT_TELL, "answered 501", None, 501)


def asked_about(**terms: Any) -> Effect:
    """An effect whose outcome is unknown and whose provider can be asked."""
    review.destination("payments", lookup_url="https://provider.example.com/lookup", **terms)
    return attempt(review.refund_approved(), UNKNOWN)


def told(effect: Effect, known: Known) -> Lookup:
    """Record an answer about an effect as it stands."""
    effect.refresh_from_db()
    question = Question(effect.pk, REFUND, effect.fence, now())
    row = record_lookup(question, known, "system:reconciler")
    effect.refresh_from_db()
    return row


# ---- what an answer settles ------------------------------------------------------------------------------


def test_what_the_provider_knows_happened() -> None:
    effect = asked_about()

    row = told(effect, FOUND)

    assert (effect.state, cast.reading(REFUND).state.status) == ("succeeded", "sent")
    assert (row.answer, row.proves, row.provider_request_id) == ("found", True, "p-1")
    kinds = [entry.kind for entry in LedgerEntry.objects.order_by("seq")][-2:]
    assert kinds == ["lookup.recorded", "effect.settled"]


def test_what_it_does_not_know_yet_proves_nothing_and_is_asked_again_later() -> None:
    effect = asked_about()

    row = told(effect, NOT_FOUND)

    lease_ends = effect.attempts.get().started_at + timedelta(seconds=60)
    assert (effect.state, effect.next_step, row.proves) == ("dispatching", "look-up", False)
    assert effect.next_at == lease_ends + timedelta(minutes=10)


def test_what_it_does_not_know_late_enough_is_sent_again_where_that_is_safe() -> None:
    effect = let_pass(asked_about(), minutes=12)

    row = told(effect, NOT_FOUND)

    assert (effect.state, effect.next_step, effect.may_have_left, row.proves) == ("dispatching", "replay", True, True)


def test_without_safe_replay_a_negative_answer_is_evidence_for_a_person_and_never_a_reason_to_send() -> None:
    effect = let_pass(asked_about(recognises_repeats=False, key_retention_seconds=None), minutes=12)

    row = told(effect, NOT_FOUND)

    assert (effect.state, effect.next_step, effect.may_have_left, row.proves) == (
        "needs_reconciliation", "person", True, True,
    )  # fmt: skip


def test_who_cannot_tell_changes_nothing_of_what_is_known() -> None:
    effect = asked_about(recognises_repeats=False, key_retention_seconds=None)

    row = told(effect, CANNOT_TELL)

    assert (effect.state, effect.may_have_left, row.proves) == ("needs_reconciliation", True, False)


def test_what_is_found_although_it_was_revoked_is_a_task_for_people() -> None:
    effect = asked_about()
    review.revoke(cast.ben(), review.approval_of(effect))

    told(effect, FOUND)

    assert effect.state == "succeeded"
    assert "revoked meanwhile" in Remediation.objects.get().because


@pytest.mark.parametrize(
    ("known", "state"),
    [(FOUND, "succeeded"), (NOT_FOUND, "needs_reconciliation"), (CANNOT_TELL, "needs_reconciliation")],
)
def test_a_case_of_a_person_is_settled_by_proof_that_it_happened_and_by_nothing_else(known: Known, state: str) -> None:
    effect = let_pass(asked_about(recognises_repeats=False, key_retention_seconds=None), minutes=12)
    told(effect, NOT_FOUND)

    told(effect, known)

    assert effect.state == state


def test_what_an_answer_proves_is_judged_by_when_the_provider_was_asked_however_late_it_is_recorded() -> None:
    effect = let_pass(asked_about(recognises_repeats=False, key_retention_seconds=None), minutes=12)
    before_it_proves = effect.attempts.get().send_by + timedelta(minutes=10)

    row = record_lookup(Question(effect.pk, REFUND, effect.fence, before_it_proves), NOT_FOUND, "system:reconciler")

    effect.refresh_from_db()
    assert (row.proves, effect.state, effect.next_step) == (False, "dispatching", "look-up")


@pytest.mark.parametrize("known", [FOUND, NOT_FOUND])
def test_what_is_in_quarantine_stays_there_whatever_the_provider_says(known: Known) -> None:
    effect = let_pass(asked_about(), minutes=12)
    quarantine_all(cast.SETUP)

    row = told(effect, known)

    assert (effect.state, effect.quarantined, effect.next_at) == ("dispatching", True, None)
    assert row.answer == known.answer


def test_an_answer_that_comes_after_the_effect_moved_on_is_kept_and_not_applied() -> None:
    effect = asked_about()
    question = Question(effect.pk, REFUND, effect.fence, now())
    change(effect, fence=effect.fence + 1)

    record_lookup(question, FOUND, "system:reconciler")

    effect.refresh_from_db()
    assert (effect.state, effect.next_step) == ("dispatching", "look-up")
    assert Lookup.objects.get().answer == "found"


def test_every_answer_raises_the_version() -> None:
    effect = asked_about()
    versions = [effect.version]
    for known in (NOT_FOUND, NOT_FOUND, FOUND, FOUND):
        told(effect, known)
        versions.append(effect.version)

    assert versions == list(range(versions[0], versions[0] + 5))


def test_asking_about_what_has_ended_settles_nothing_and_moves_no_run_that_went_on() -> None:
    review.destination("payments", lookup_url="https://provider.example.com/lookup")
    effect = succeed(review.refund_approved())
    cast.command(cast.ada(), REFUND, "reopen")
    before = cast.reading(REFUND).version

    told(effect, NOT_FOUND)

    assert effect.state == "succeeded"
    assert (cast.reading(REFUND).version, cast.reading(REFUND).state.status) == (before, "working")


# ---- asking now, as an admin -----------------------------------------------------------------------------

KNOWN = answer(200, b'{"found": true, "provider_request_id": "p-9"}')


def test_an_admin_asks_the_provider_and_the_answer_is_recorded_under_their_name() -> None:
    web = Web(KNOWN)
    with web.on() as port:
        review.destination("payments", lookup_url=f"http://localhost:{port}/lookup")
        effect = attempt(review.refund_approved(), UNKNOWN)

        found = look_up_now(cast.dora(), effect.pk, LookupRequest("l-1"))

    assert web.requests[0][0] == "GET /lookup?key=R-7%3Apay%3Av4 HTTP/1.1"
    assert (found.row.actor, found.row.answer, found.row.provider_request_id) == ("user:dora", "found", "p-9")
    assert Effect.objects.get().state == "succeeded"


def test_the_same_request_again_asks_nobody() -> None:
    web = Web(answer(404, b'{"found": false}'))
    with web.on() as port:
        review.destination("payments", lookup_url=f"http://localhost:{port}/lookup")
        effect = attempt(review.refund_approved(), UNKNOWN)
        other = attempt(review.refund_approved("R-8"), UNKNOWN)
        first = look_up_now(cast.dora(), effect.pk, LookupRequest("l-1"))

        again = look_up_now(cast.dora(), effect.pk, LookupRequest("l-1"))
        look_up_now(cast.dora(), other.pk, LookupRequest("l-1"))

    assert (first.is_replay, again.is_replay, again.row.pk) == (False, True, first.row.pk)
    assert len(web.requests) == 2


def test_an_id_that_stands_for_something_else_asks_nobody() -> None:
    effect = asked_about()
    review.revoke(cast.dora(), review.approval_of(effect))
    taken = LedgerEntry.objects.filter(actor="user:dora").values_list("command_id", flat=True).get()

    with pytest.raises(CommandIdReused):
        look_up_now(cast.dora(), effect.pk, LookupRequest(taken or ""))
    assert not Lookup.objects.exists()


def test_what_cannot_be_asked_leaves_the_id_free() -> None:
    effect = attempt(review.refund_approved(), UNKNOWN)
    with pytest.raises(InvalidTransition, match="declares no look-up"):
        look_up_now(cast.dora(), effect.pk, LookupRequest("l-1"))
    with pytest.raises(InvalidTransition, match="declares no look-up"):
        look_up_now(cast.dora(), effect.pk, LookupRequest("l-1"))


def test_while_a_worker_holds_it_nobody_asks_and_afterwards_the_id_is_free() -> None:
    web = Web(KNOWN)
    with web.on() as port:
        review.destination("payments", lookup_url=f"http://localhost:{port}/lookup")
        effect = review.refund_approved()
        held = claimed(effect)
        with pytest.raises(EffectInFlight):
            look_up_now(cast.dora(), effect.pk, LookupRequest("l-1"))
        lookups_before = len(web.requests)
        record(held, UNKNOWN)

        assert look_up_now(cast.dora(), effect.pk, LookupRequest("l-1")).row.answer == "found"

    assert lookups_before == 0


def test_only_admins_ask() -> None:
    effect = asked_about()

    for who in (cast.ada(), cast.ben(), cast.eli()):
        with pytest.raises(Forbidden):
            look_up_now(who, effect.pk, LookupRequest("l-1"))
    with pytest.raises(AgentsCannotDecide):
        look_up_now(cashier(), effect.pk, LookupRequest("l-1"))


def test_a_look_up_is_short() -> None:
    assert timedelta(seconds=10) >= lookups.TIMEOUT
