"""The case of an effect: what was sent, what is known, finding out what happened, and ordering what follows."""

import re

import pytest

from outbox.leases import claim
from outbox.models import Attempt, Effect, Lookup, Repair, Verdict
from outbox.providers.base import Result
from outbox.quarantine import quarantine_all
from outbox.reconcile import reconcile
from outbox.recording import record
from outbox.states import Outcome
from runs.models import LedgerEntry, WaitingStep
from runs.states import Role
from tests import cast, review
from tests.console.web.visitor import Answer, Visitor, stranger, visit
from tests.outbox import settling
from tests.sandbox import Sandbox

pytestmark = pytest.mark.django_db

EVIDENCE = {"evidence": "The portal of the provider shows nothing under this key.", "reason": "So it is."}


@pytest.fixture
def dora() -> Visitor:
    return visit(cast.dora())


@pytest.fixture
def otto() -> Visitor:
    """The second admin."""
    return visit(cast.person("otto", Role.ADMIN))


@pytest.fixture
def unknown() -> str:
    """The address of a refund that was sent once, long ago, to a provider that recognises no repeats."""
    return unknown_effect()


def unknown_effect(key: str = review.REFUND, **terms: object) -> str:
    review.destination("payments", **{"recognises_repeats": False, "key_retention_seconds": None, **terms})
    effect = settling.attempt(review.refund_approved(key), settling.UNKNOWN)
    settling.let_pass(effect, hours=1)
    return address(effect)


def address(effect: Effect) -> str:
    return f"/effects/{effect.pk}/"


def effect(key: str = review.REFUND) -> Effect:
    return review.effect_of(key)


def find(visitor: Visitor, case: str, verdict: str, **typed: str) -> Answer:
    form = visitor.get(case).form(f"{case}verdicts/")
    return visitor.send(f"{case}verdicts/", form | EVIDENCE | {"verdict": verdict} | typed)


def order(visitor: Visitor, case: str, repair: str, **typed: str) -> Answer:
    form = visitor.get(case).form(f"{case}repairs/")
    return visitor.send(f"{case}repairs/", form | {"repair": repair, "reason": "It has to go out."} | typed)


def confirm(visitor: Visitor, case: str, **typed: str) -> Answer:
    step = WaitingStep.objects.get(state="open")
    path = f"{case}confirmations/w-{step.pk.hex}/"
    return visitor.send(path, visitor.get(case).form(path) | {"reason": "I looked as well."} | typed)


def headline(answer: Answer) -> str:
    found = re.search(r"<h1>(.*?)</h1>", answer.html, re.DOTALL)
    assert found is not None
    text = re.sub(r"<svg.*?</svg>|<[^>]+>", " ", found[1], flags=re.DOTALL)
    return re.sub(r"\d\d:\d\d:\d\d", "<time>", " ".join(text.split())).replace(" .", ".")


# ---- what the headline says in every state -----------------------------------------------------------------


def test_an_authorized_effect_is_told_as_asked_and_not_as_sent(dora: Visitor) -> None:
    answer = dora.get(address(review.refund_approved()))

    assert headline(answer) == "Authorized, and not sent yet."
    assert "What would be sent, exactly" in answer.text
    assert "Revoking now: the effect is cancelled in the same moment." in answer.text


def test_an_effect_that_is_being_sent_claims_nothing(dora: Visitor) -> None:
    sent = review.refund_approved()
    settling.claimed(sent)

    assert headline(dora.get(address(sent))) == "A worker is sending this now; nobody knows yet what comes of it."


def test_a_worker_that_has_not_begun_has_sent_nothing(dora: Visitor) -> None:
    review.destination("payments", recognises_repeats=False, key_retention_seconds=None)
    taken = review.refund_approved()

    claim("worker-1", only=taken.pk)

    assert headline(dora.get(address(taken))) == "A worker has taken it and has not begun to send."


def test_what_never_left_is_said_to_be_tried_again(dora: Visitor) -> None:
    tried = settling.attempt(review.refund_approved(), settling.NEVER_LEFT)

    assert headline(dora.get(address(tried))) == "Nothing has left yet. It is tried again at <time>."


def test_an_unknown_outcome_that_is_repeated_by_its_key_stays_unknown(dora: Visitor) -> None:
    sent = settling.attempt(review.refund_approved(), settling.UNKNOWN)

    answer = dora.get(address(sent))

    told = "We sent this once at <time> and do not know whether it happened. The same key goes out again at <time>."
    assert headline(answer) == told
    assert "outcome unknown, repeating" in answer.text
    assert "being sent" not in answer.text


def test_an_unknown_outcome_says_how_often_and_when(dora: Visitor, unknown: str) -> None:
    answer = dora.get(unknown)

    assert headline(answer) == "We sent this once at <time> and do not know whether it happened."
    assert "Nothing more is sent until somebody has found out." in answer.text
    assert "This provider takes every repeat for a new order." in answer.text


def test_two_attempts_under_one_key_are_counted(dora: Visitor) -> None:
    review.workflow("refund", ("attempts = 5", "attempts = 2"))
    sent = settling.attempt(review.refund_approved(), settling.UNKNOWN)
    settling.let_pass(sent, minutes=1)
    settling.attempt(sent, settling.UNKNOWN)

    told = "We sent this twice under one key, last at <time> and do not know whether it happened."
    assert headline(dora.get(address(sent))) == told


def test_what_a_person_found_not_to_have_happened_is_no_longer_unknown(dora: Visitor, unknown: str) -> None:
    find(dora, unknown, "did_not_happen")

    answer = dora.get(unknown)

    assert headline(answer) == "person dora found that it did not happen. Nothing is sent until somebody orders it."
    assert "found: it did not happen" in answer.text


def test_a_finding_that_is_taken_back_leaves_what_was_sent_unknown_again(dora: Visitor, unknown: str) -> None:
    find(dora, unknown, "did_not_happen")
    find(dora, unknown, "cannot_tell")

    assert headline(dora.get(unknown)) == "We sent this once at <time> and do not know whether it happened."


def test_what_is_sent_again_counts_anew(dora: Visitor, otto: Visitor, unknown: str) -> None:
    find(dora, unknown, "did_not_happen")
    order(dora, unknown, "resend")
    confirm(otto, unknown)
    settling.attempt(effect(), settling.UNKNOWN)

    assert headline(dora.get(unknown)) == "We sent this once at <time> and do not know whether it happened."


def test_success_is_only_what_is_proven_and_says_by_what(dora: Visitor, unknown: str) -> None:
    accepted = settling.succeed(review.refund_approved("R-8"))
    find(dora, unknown, "happened", provider_request_id="pay_8812")

    assert headline(dora.get(address(accepted))) == "Confirmed: it happened. The provider took it."
    assert headline(dora.get(unknown)) == "Confirmed: it happened. person dora found it out."


def test_a_providers_accepted_is_evidence_and_never_shown_as_success(dora: Visitor) -> None:
    review.destination("payments", recognises_repeats=False, key_retention_seconds=None)
    sent = review.refund_approved()
    held = settling.claimed(sent)
    settling.let_pass(sent, hours=1)
    reconcile()
    record(held, Result(Outcome.ACCEPTED, "after all", "pay_8812", 202, response=b"accepted"))

    answer = dora.get(address(sent))

    assert "A late result of attempt 1 came after its fence had moved: accepted, id pay_8812" in answer.text
    assert "Kept as evidence, not applied." in answer.text
    assert "tone-good" not in answer.html.split("What was tried")[1].split("What the provider")[0]
    assert headline(answer) == "We sent this once at <time> and do not know whether it happened."
    assert answer.form(f"{address(sent)}verdicts/")["provider_request_id"] == "pay_8812"


def test_a_failed_effect_says_why_and_a_cancelled_one_that_nothing_can_be_sent(dora: Visitor) -> None:
    refused = settling.attempt(review.refund_approved(), settling.REFUSED)
    withdrawn = review.refund_approved("R-8")
    review.revoke(cast.ben(), review.approval_of(withdrawn))

    failed = headline(dora.get(address(refused)))
    cancelled = headline(dora.get(address(withdrawn)))

    assert failed == "It did not happen: the provider refused it for good; nothing happened."
    assert cancelled == "Cancelled: nothing happened, and nothing can be sent."


def test_what_is_older_than_a_restore_is_not_claimed_to_be_unsent(dora: Visitor) -> None:
    waiting = review.refund_approved()
    quarantine_all(cast.SETUP)

    answer = dora.get(address(waiting))

    assert headline(answer) == "This is older than a restore: whether it was sent since is not known."
    assert "In quarantine: nothing of it is sent or asked." in answer.text


# ---- what it shows -----------------------------------------------------------------------------------------


def test_what_was_sent_is_held_against_what_was_approved(dora: Visitor, unknown: str) -> None:
    text = dora.get(unknown).text

    assert "What was sent, exactly equals what ben approved" in text
    assert '{"amount":"25.00","case":"R-7","currency":"EUR","recipient":"Ana Lima"}' in text


def test_what_came_back_is_shown_and_inert(dora: Visitor) -> None:
    hostile = b'<script>go()</script> \xe2\x80\xae paid \xff <b hx-get="/x">ok</b>'
    result = Result(Outcome.REFUSED, "answered 400", None, 400, response=hostile)
    sent = settling.attempt(review.refund_approved(), result)

    answer = dora.get(address(sent))

    assert "<script>go" not in answer.html
    assert '<b hx-get="/x">' not in answer.html
    assert "⟨U+202E⟩" in answer.text
    assert "untrusted, shown as it came" in answer.text


def test_the_key_clock_says_how_long_a_repeat_is_safe(dora: Visitor) -> None:
    sent = settling.attempt(review.refund_approved(), settling.UNKNOWN)
    before = dora.get(address(sent)).text
    settling.let_pass(sent, days=2)
    after = dora.get(address(sent)).text

    assert "the key is remembered until" in before
    assert "a replay is no longer safe" in after


def test_the_ledger_of_the_run_and_the_review_are_a_link_away(dora: Visitor, unknown: str) -> None:
    html = dora.get(unknown).html

    assert 'href="/runs/R-7/ledger/"' in html
    assert 'href="/snapshots/R-7:review:v3:c1/"' in html


def test_a_poll_that_would_show_the_same_is_answered_with_nothing(dora: Visitor, unknown: str) -> None:
    shown = dora.poll(unknown)

    assert dora.poll(unknown, shown.header("HX-PTag")).status == 304


def test_a_page_that_is_open_hears_that_the_effect_moved(dora: Visitor, otto: Visitor, unknown: str) -> None:
    offers = re.search(r'name="offers" value="([^"]*)"', dora.get(unknown).html)
    assert offers is not None
    version = str(effect().version)
    find(otto, unknown, "cannot_tell")

    answer = dora.poll(unknown, offers=offers[1], drawn_version=version)

    assert "The effect moved to version 4 while you read." in answer.text
    assert "data-blocks-deciding" in answer.html


def test_a_settled_effect_is_not_polled_any_more(dora: Visitor) -> None:
    settled = settling.succeed(review.refund_approved())

    assert "every 4s" not in dora.get(address(settled)).html


def test_it_costs_the_same_with_one_attempt_and_with_many(dora: Visitor) -> None:
    sent = settling.attempt(review.refund_approved(), settling.NEVER_LEFT)
    dora.get(address(sent))
    one = dora.cost(address(sent))
    for _ in range(3):
        settling.let_pass(sent, hours=1)
        settling.attempt(sent, settling.NEVER_LEFT)
    dora.get(address(sent))

    assert dora.cost(address(sent)) == one


# ---- who sees it -------------------------------------------------------------------------------------------


def test_people_of_the_workflow_and_auditors_look_on(unknown: str) -> None:
    for who in (cast.ada(), cast.ben(), cast.eli()):
        answer = visit(who).get(unknown)

        assert answer.status == 200
        assert "To look at only. Admins find out what happened" in answer.text
        assert not answer.has_form(f"{unknown}verdicts/")


def test_for_an_outsider_it_does_not_exist(unknown: str) -> None:
    outsider = visit(cast.cy())

    assert outsider.get(unknown).status == 404
    for part in ("verdicts/", "repairs/", "lookups/", "confirmations/w-1/"):
        assert outsider.send(unknown + part, {}).status == 404, part


@pytest.mark.parametrize("part", ["verdicts/", "repairs/", "lookups/", "confirmations/w-1/"])
def test_reading_never_decides_and_a_stranger_is_sent_to_sign_in(dora: Visitor, unknown: str, part: str) -> None:
    assert dora.get(unknown + part).status == 405
    assert stranger().send(unknown + part, {}).status == 401


def test_a_reviewer_cannot_give_a_verdict_whatever_is_sent(dora: Visitor, unknown: str) -> None:
    form = dora.get(unknown).form(f"{unknown}verdicts/") | EVIDENCE | {"verdict": "cannot_tell"}

    answer = visit(cast.ben()).send(f"{unknown}verdicts/", form)

    assert answer.status == 403
    assert not Verdict.objects.exists()


# ---- verdicts ----------------------------------------------------------------------------------------------


def test_what_happened_with_the_providers_id_is_confirmed_at_once(dora: Visitor, unknown: str) -> None:
    answer = find(dora, unknown, "happened", provider_request_id="pay_8812")

    assert answer.status == 200
    assert "Recorded, with your name and evidence." in answer.text
    assert effect().state == "succeeded"
    assert answer.header("HX-Trigger") == "effect-moved"


def test_without_script_the_answer_is_a_page_that_tells_it(dora: Visitor, unknown: str) -> None:
    form = dora.get(unknown).form(f"{unknown}verdicts/") | EVIDENCE | {"verdict": "cannot_tell"}

    answer = dora.post(f"{unknown}verdicts/", form)

    assert answer.status == 303
    page = dora.get(answer.header("Location"))
    assert "Recorded, with your name and evidence." in page.text
    assert EVIDENCE["evidence"] in page.text


def test_a_verdict_without_evidence_or_choice_is_refused_and_what_was_typed_stays(dora: Visitor, unknown: str) -> None:
    answer = find(dora, unknown, "cannot_tell", evidence=" \u200b", reason="Nobody answered.")
    unchosen = dora.send(f"{unknown}verdicts/", dora.get(unknown).form(f"{unknown}verdicts/") | EVIDENCE)

    assert answer.status == 422
    assert "This must not be blank." in answer.text
    assert "Nobody answered." in answer.text
    assert unchosen.status == 422
    assert "Choose what you found." in unchosen.text
    assert not Verdict.objects.exists()


def test_too_early_is_said_with_the_time_and_refused(dora: Visitor) -> None:
    review.destination("payments", recognises_repeats=False, key_retention_seconds=None)
    sent = settling.attempt(review.refund_approved(), settling.UNKNOWN)
    case = address(sent)

    shown = dora.get(case)
    answer = find(dora, case, "did_not_happen")

    assert re.search(r"It did not happen Not before \d\d:\d\d:\d\d", shown.text)
    assert answer.status == 409
    assert "too-early" in answer.text
    assert EVIDENCE["evidence"] in answer.text
    assert not Verdict.objects.exists()


def test_a_verdict_on_a_version_that_moved_is_refused_with_both_versions(
    dora: Visitor, otto: Visitor, unknown: str
) -> None:
    form = dora.get(unknown).form(f"{unknown}verdicts/") | EVIDENCE | {"verdict": "did_not_happen"}
    find(otto, unknown, "cannot_tell")

    answer = dora.send(f"{unknown}verdicts/", form)

    assert answer.status == 412
    assert "You saw version 3; it is at 4. What you typed is kept." in answer.text
    assert EVIDENCE["evidence"] in answer.text
    assert "data-blocks-deciding" in answer.html
    assert Verdict.objects.count() == 1


def test_a_verdict_sent_twice_counts_once(dora: Visitor, unknown: str) -> None:
    form = dora.get(unknown).form(f"{unknown}verdicts/") | EVIDENCE | {"verdict": "cannot_tell"}

    dora.send(f"{unknown}verdicts/", form)
    again = dora.send(f"{unknown}verdicts/", form)

    assert "You recorded this already; it counted once." in again.text
    assert Verdict.objects.count() == 1


def test_repairs_come_only_after_a_finding_and_say_so_before(dora: Visitor, unknown: str) -> None:
    before = dora.get(unknown)
    find(dora, unknown, "did_not_happen")
    after = dora.get(unknown)

    assert not before.has_form(f"{unknown}repairs/")
    assert "Send it again First somebody has to find out that it did not happen." in before.text
    assert after.has_form(f"{unknown}repairs/")


def test_a_form_for_a_settled_effect_is_gone(dora: Visitor) -> None:
    settled = settling.succeed(review.refund_approved())

    assert not dora.get(address(settled)).has_form(f"{address(settled)}verdicts/")


# ---- a second admin ----------------------------------------------------------------------------------------


def test_what_nothing_else_proves_waits_for_a_second_admin(dora: Visitor, otto: Visitor, unknown: str) -> None:
    asked = find(dora, unknown, "happened")
    own = dora.get(unknown)
    other = otto.get(unknown)

    assert "It waits for a second admin. Because there is no provider id." in asked.text
    assert effect().state == "needs_reconciliation"
    assert "You asked for it yourself." in own.text
    assert "person dora asks for: it happened" in other.text
    assert EVIDENCE["evidence"] in other.text


def test_the_second_admin_confirms_beside_the_evidence(dora: Visitor, otto: Visitor, unknown: str) -> None:
    find(dora, unknown, "happened")

    answer = confirm(otto, unknown)

    assert answer.status == 200
    assert "Confirmed: it is in force." in answer.text
    assert effect().state == "succeeded"
    assert Verdict.objects.get().confirmed_by == "user:otto"


def test_one_admin_is_not_two(dora: Visitor, otto: Visitor, unknown: str) -> None:
    find(dora, unknown, "happened")
    step = WaitingStep.objects.get()
    path = f"{unknown}confirmations/w-{step.pk.hex}/"

    answer = dora.send(path, {"id": "c-1", "reason": "I am sure."})

    assert answer.status == 403
    assert effect().state == "needs_reconciliation"


def test_a_confirmation_needs_a_reason(dora: Visitor, otto: Visitor, unknown: str) -> None:
    find(dora, unknown, "happened")

    answer = confirm(otto, unknown, reason="")

    assert answer.status == 422
    assert WaitingStep.objects.get().state == "open"


def test_what_waits_is_void_as_soon_as_the_effect_moves(dora: Visitor, otto: Visitor, unknown: str) -> None:
    find(dora, unknown, "happened")
    step = WaitingStep.objects.get()
    path = f"{unknown}confirmations/w-{step.pk.hex}/"
    form = otto.get(unknown).form(path) | {"reason": "I looked as well."}
    find(otto, unknown, "cannot_tell")

    shown = otto.get(unknown)
    answer = otto.send(path, form)

    assert "Void: R-7:pay:v4 has changed since this was asked for." in shown.text
    assert not shown.has_form(path)
    assert answer.status == 409
    assert effect().state == "needs_reconciliation"


def test_a_step_of_another_effect_is_not_found_here(dora: Visitor, otto: Visitor, unknown: str) -> None:
    other = unknown_effect("R-8")
    find(dora, unknown, "happened")
    step = WaitingStep.objects.get()

    answer = otto.send(f"{other}confirmations/w-{step.pk.hex}/", {"id": "c-1", "reason": "So."})

    assert answer.status == 404


# ---- repairs -----------------------------------------------------------------------------------------------


def test_sending_again_what_no_provider_recognises_waits_for_a_second_admin(
    dora: Visitor, otto: Visitor, unknown: str
) -> None:
    find(dora, unknown, "did_not_happen")

    asked = order(dora, unknown, "resend")
    confirmed = confirm(otto, unknown)

    assert "the provider does not recognise repeats" in asked.text
    assert confirmed.status == 200
    assert (effect().state, effect().next_step) == ("dispatching", "send")
    assert Repair.objects.get().confirmed_by == "user:otto"


def test_where_a_repeat_is_safe_a_resend_is_in_force_at_once(dora: Visitor) -> None:
    case = unknown_effect(recognises_repeats=True, key_retention_seconds=100)
    find(dora, case, "did_not_happen")

    answer = order(dora, case, "resend")

    assert "Ordered." in answer.text
    assert effect().state == "dispatching"
    told = "person dora found that it did not happen. It is sent again at <time>."
    assert headline(dora.get(case)) == told


def test_a_repair_sent_twice_counts_once(dora: Visitor) -> None:
    case = unknown_effect(recognises_repeats=True, key_retention_seconds=100)
    find(dora, case, "did_not_happen")
    form = dora.get(case).form(f"{case}repairs/") | {"repair": "resend", "reason": "It has to go out."}

    dora.send(f"{case}repairs/", form)
    again = dora.send(f"{case}repairs/", form)
    page = dora.post(f"{case}repairs/", form)

    assert "You ordered this already; it counted once." in again.text
    assert page.status == 303
    assert Repair.objects.count() == 1


def test_a_repair_that_is_not_legal_is_refused_with_its_reason(dora: Visitor, unknown: str) -> None:
    form = {"id": "r-1", "effect_version": str(effect().version), "repair": "resend", "reason": "Now."}

    answer = dora.send(f"{unknown}repairs/", form)

    assert answer.status == 409
    assert "First somebody has to find out that it did not happen." in answer.text
    assert not Repair.objects.exists()


@pytest.mark.parametrize("missing", ["repair", "reason", "effect_version", "id"])
def test_a_repair_that_lacks_something_is_refused(dora: Visitor, unknown: str, missing: str) -> None:
    find(dora, unknown, "did_not_happen")
    form = dora.get(unknown).form(f"{unknown}repairs/") | {"repair": "mark_failed", "reason": "So."}

    answer = dora.send(f"{unknown}repairs/", form | {missing: ""})

    assert answer.status == 422
    assert not Repair.objects.exists()


def test_what_was_revoked_is_never_sent_again_and_the_page_says_so(dora: Visitor, unknown: str) -> None:
    review.revoke(cast.ben(), review.approval_of(effect()))

    assert "Its approval was revoked: it is cancelled, and the run revoked." in dora.get(unknown).text


def test_quarantine_is_released_to_unknown_and_not_to_the_queue(dora: Visitor) -> None:
    waiting = review.refund_approved()
    quarantine_all(cast.SETUP)
    case = address(waiting)

    answer = order(dora, case, "release")

    assert "Ordered." in answer.text
    assert effect().state == "needs_reconciliation"
    assert headline(dora.get(case)) == "We do not know whether this happened."


# ---- looking up --------------------------------------------------------------------------------------------


def look_up(visitor: Visitor, case: str, **typed: str) -> Answer:
    return visitor.send(f"{case}lookups/", visitor.get(case).form(f"{case}lookups/") | typed)


def asked_for_nothing(provider: Sandbox) -> str:
    """The address of an effect, lost on its way, whose provider answered that it does not know it, late enough."""
    provider.register(dedupe=False)
    sent = settling.attempt(review.refund_approved(), settling.UNKNOWN)
    settling.let_pass(sent, hours=1)
    reconcile()
    return address(sent)


def test_asking_now_records_the_answer_and_keeps_what_was_typed(dora: Visitor, provider: Sandbox) -> None:
    case = asked_for_nothing(provider)

    answer = look_up(dora, case, **EVIDENCE, verdict="cannot_tell")

    assert "The provider was asked." in answer.text
    assert EVIDENCE["evidence"] in answer.text
    assert Lookup.objects.filter(actor="user:dora", answer="not-found").count() == 1
    assert "it does not know it · asked late enough to mean something" in dora.get(case).text
    assert effect().state == "needs_reconciliation"


def test_an_answer_that_it_happened_settles_it(dora: Visitor, provider: Sandbox) -> None:
    case = asked_for_nothing(provider)
    provider.applies_for_others(effect().idempotency_key, b"{}")

    look_up(dora, case)

    assert effect().state == "succeeded"
    assert headline(dora.get(case)) == "Confirmed: it happened. The provider knows it."


def test_a_look_up_sent_twice_asks_once(dora: Visitor, provider: Sandbox) -> None:
    case = asked_for_nothing(provider)
    form = dora.get(case).form(f"{case}lookups/")

    first = dora.post(f"{case}lookups/", form)
    dora.post(f"{case}lookups/", form)

    assert first.status == 303
    assert Lookup.objects.filter(actor="user:dora").count() == 1


def test_only_admins_ask_and_only_where_the_provider_can_be_asked(dora: Visitor, unknown: str) -> None:
    assert not dora.get(unknown).has_form(f"{unknown}lookups/")
    assert dora.send(f"{unknown}lookups/", {"lookup_id": "l-1"}).status == 409
    assert visit(cast.ada()).send(f"{unknown}lookups/", {"lookup_id": "l-2"}).status == 403
    assert not Lookup.objects.exists()


def test_every_step_is_told_in_order(dora: Visitor, otto: Visitor, unknown: str) -> None:
    find(dora, unknown, "cannot_tell")
    find(dora, unknown, "did_not_happen")
    order(dora, unknown, "mark_failed")
    confirm(otto, unknown)

    text = dora.get(unknown).text
    told = text[text.index("What was tried") :]
    places = [
        told.index(words)
        for words in ("authorized it", "Attempt 1 · unknown", "cannot tell", "it did not happen", "mark it as failed")
    ]
    assert places == sorted(places)
    assert "Ended as failed: it did not happen" in told
    assert "confirmed by person otto" in told
    assert Attempt.objects.count() == 1
    kinds = LedgerEntry.objects.filter(kind__in=("verdict.recorded", "repair.ordered")).count()
    assert kinds == 3
