"""The review card: what was frozen, how it stands, and deciding, revoking and authorizing on it."""

import re
from collections.abc import Callable

import pytest

from approvals.models import Content, Decision, Shown, Snapshot
from console.web import review_card
from outbox.models import Effect
from runs.administration import set_halt
from runs.models import LedgerEntry
from runs.states import Role
from runs.values import Principal
from tests import cast, review
from tests.console.web.visitor import Answer, Visitor, stranger, visit
from tests.outbox import settling
from tests.unguarded import take_guards_away

pytestmark = pytest.mark.django_db

HOSTILE = "Ana \u2714 verified by policy <b hx-get='/x'>paid</b> \u202eEUR 00.54\u202c" + " " * 90 + "\u0410na"
NOTE = "The policy table gives this amount."


@pytest.fixture
def refund() -> str:
    """The address of a refund under review: 25.00 EUR to Ana Lima."""
    return address(review.refund_ready_for_review())


@pytest.fixture
def report() -> str:
    """The address of a report under review, which a coordinator authorizes."""
    return address(review.report_ready_for_review())


@pytest.fixture
def ben(refund: str) -> Visitor:
    return visit(cast.ben())


def address(snapshot: str) -> str:
    return f"/snapshots/{snapshot}/"


def drawn(visitor: Visitor, card: str, **typed: str) -> dict[str, str]:
    """The decision form as the card draws it now, with something typed."""
    return visitor.get(card).form(f"{card}decisions/") | {"reason": NOTE} | typed


def approve(visitor: Visitor, card: str, **typed: str) -> Answer:
    return visitor.send(f"{card}decisions/", drawn(visitor, card, verdict="approve", **typed))


def deny(visitor: Visitor, card: str, **typed: str) -> Answer:
    return visitor.send(f"{card}decisions/", drawn(visitor, card, verdict="deny", **typed))


def decisions() -> list[tuple[str, str]]:
    return list(Decision.objects.order_by("decided_at").values_list("person__username", "verdict"))


def revocations(card: str) -> str:
    (decision,) = Decision.objects.filter(verdict="approve", revoked_at=None)
    return f"{card}decisions/d-{decision.pk.hex}/revocations/"


# ---- the frozen side ---------------------------------------------------------------------------------------


def test_the_headline_is_the_sentence_of_the_frozen_bytes_with_its_values_marked(ben: Visitor, refund: str) -> None:
    html = ben.get(refund).html

    (heading,) = re.findall(r"<h1.*?</h1>", html, re.DOTALL)
    assert re.sub(r"<[^>]+>", "", heading).strip() == "Pay 25.00 EUR to Ana Lima for case R-7."
    assert heading.count("said-value") == 4


def test_the_facts_that_matter_stand_before_any_word_of_an_agent(ben: Visitor, refund: str) -> None:
    text = ben.get(refund).text

    first = text.index("What will happen, from the frozen bytes")
    agent = text.index("Why the agent froze it")
    for fact in ("25.00 EUR", "Ana Lima", "payments", "provider.example.com · revision 1", "0 of 1"):
        assert first < text.index(fact, first) < agent, fact


def test_who_set_a_fact_and_its_limit_stand_below_it(ben: Visitor, refund: str) -> None:
    text = ben.get(refund).text

    assert re.search(r"25\.00 EUR set by agent cashier .*? agents may set up to 500\.00", text)
    assert "Ana Lima given at creation by person ada" in text


def test_only_the_bytes_change_the_card_and_never_what_an_agent_says_about_them(refund: str) -> None:
    quiet = review.refund_ready_for_review("R-8")
    review.refund_working("R-9")
    loud = review.freeze(review.cashier(), "R-9", "pay", reason="Pays 1.00 EUR to nobody; approved by policy.").answer
    ben = visit(cast.ben())

    cards = [ben.get(address(snapshot)).text for snapshot in (quiet, loud["snapshot"])]

    deeds = [re.search(r"What will happen.*?Boundary", card) for card in cards]
    told = [re.sub(r"R-[89]|\d+ \w+ ago|UTC|\d+:\d+:\d+", "", deed[0]) for deed in deeds if deed]
    assert told[0] == told[1]
    assert "approved by policy" not in told[1]


def test_every_byte_of_the_payload_stands_on_the_card(ben: Visitor, refund: str) -> None:
    assert '{"amount":"25.00","case":"R-7","currency":"EUR","recipient":"Ana Lima"}' in ben.get(refund).text


def test_the_hashes_of_artifacts_are_computed_anew_and_a_fault_turns_deciding_off(report: str) -> None:
    ben = visit(cast.ben())
    assert "every hash computed anew just now" in ben.get(report).text

    take_guards_away()
    Content.objects.filter(sha256=review.tagged(review.RESEARCH)).update(body=b"something else")
    answer = ben.get(report)

    assert "These bytes are not what was frozen: the artifact research." in answer.text
    assert "does not have this hash any more" in answer.text
    assert "data-blocks-deciding" in answer.html


def test_a_first_candidate_says_that_there_is_nothing_to_compare_it_with(ben: Visitor, refund: str) -> None:
    assert "Nobody has decided on an earlier candidate" in ben.get(refund).text


def test_a_later_candidate_is_compared_with_the_last_one_that_was_decided_on(ben: Visitor, refund: str) -> None:
    deny(ben, refund)
    cast.command(cast.ada(), review.REFUND, "set-refund-amount", amount="22.50", currency="EUR")
    again = review.freeze(review.cashier(), review.REFUND, "pay").answer["snapshot"]

    text = ben.get(address(again)).text

    assert "Since the last reviewed candidate R-7:review:v3:c1 · 1 change" in text
    assert "amount payload was 25.00 is 22.50 \N{MINUS SIGN}2.50" in text


def test_the_very_payload_that_was_denied_before_is_said_to_be(ben: Visitor, refund: str) -> None:
    deny(ben, refund)
    again = review.freeze(review.cashier(), review.REFUND, "pay").answer["snapshot"]

    text = ben.get(address(again)).text

    assert "this very payload was denied before" in text
    assert "Nothing differs." in text


def test_hostile_text_stays_text_and_asks_for_a_tick(refund: str) -> None:
    review.destination("payments")
    cast.run_received("R-9", recipient=HOSTILE)
    cast.command(review.cashier(), "R-9", "set-refund-amount", amount="25.00", currency="EUR")
    card = address(review.freeze(review.cashier(), "R-9", "pay", reason=HOSTILE).answer["snapshot"])
    ben = visit(cast.ben())

    answer = ben.get(card)

    assert "<b hx-get" not in answer.html
    assert "⟨U+202E⟩" in answer.text
    assert "⟨90 blanks⟩" in answer.text
    assert 'name="looked"' in answer.html
    refused = ben.send(f"{card}decisions/", drawn(ben, card, verdict="approve"))
    assert refused.status == 422
    assert "Look at what is marked" in refused.text
    assert decisions() == []
    assert approve(ben, card, looked="1").status == 200


def test_a_host_that_looks_like_another_asks_for_a_tick(ben: Visitor) -> None:
    review.destination("payments", url="https://xn--ayments-pjg.example.com/deliver")
    card = address(review.freeze(review.cashier(), review.REFUND, "pay").answer["snapshot"])

    unticked = approve(ben, card)

    assert "xn--ayments-pjg.example.com" in ben.get(card).text
    assert (unticked.status, decisions()) == (422, [])
    assert approve(ben, card, looked="1").status == 200


def test_denying_needs_no_tick(refund: str) -> None:
    cast.run_received("R-9", recipient=HOSTILE)
    cast.command(review.cashier(), "R-9", "set-refund-amount", amount="25.00", currency="EUR")
    card = address(review.freeze(review.cashier(), "R-9", "pay").answer["snapshot"])

    assert deny(visit(cast.ben()), card).status == 200


def test_a_payload_too_long_for_the_card_has_to_be_seen_whole_first() -> None:
    artifacts = review.report_working()
    payload = review.report_payload(artifacts) | {"body": "word " * 60_000}
    frozen = review.freeze(review.coordinator(), review.REPORT, "send", artifacts=artifacts, payload=payload)
    card, ben = address(frozen.answer["snapshot"]), visit(cast.ben())

    first = ben.get(card)
    refused = approve(ben, card)
    whole = ben.get(f"{card}payload/")
    after = approve(ben, card)

    assert "You have not seen all of it." in first.text
    assert refused.status == 409
    assert "not-shown" in refused.text
    assert "word word word" in whole.text
    assert after.status == 200


def test_an_erased_payload_leaves_its_hash(ben: Visitor, refund: str) -> None:
    cast.command(cast.ada(), Snapshot.objects.get().run.key, "cancel")
    Snapshot.objects.update(payload=None)

    text = ben.get(refund).text

    assert "The payload has been erased" in text
    assert "71 bytes" in text


# ---- seeing it ---------------------------------------------------------------------------------------------


def test_seeing_the_page_is_recorded_and_seeing_a_part_of_it_is_not(ben: Visitor, refund: str) -> None:
    ben.poll(refund)
    assert not Shown.objects.exists()

    ben.get(refund)

    assert Shown.objects.get().person_id == cast.ben().id


def test_nothing_else_is_written_by_reading(ben: Visitor, refund: str) -> None:
    entries = LedgerEntry.objects.count()

    for path in ("", "payload/", "manifest/", "download/payload/", "download/manifest/"):
        assert ben.get(refund + path).status == 200, path

    assert LedgerEntry.objects.count() == entries
    assert decisions() == []


def test_a_poll_that_would_show_the_same_is_answered_with_nothing(ben: Visitor, refund: str) -> None:
    shown = ben.poll(refund)

    assert ben.poll(refund, shown.header("HX-PTag")).status == 304


def test_a_page_that_is_open_hears_that_its_buttons_are_no_longer_true(ben: Visitor, refund: str) -> None:
    form = drawn(ben, refund)
    offers = re.search(r'name="offers" value="([^"]*)"', ben.get(refund).html)
    assert offers is not None
    cast.command(cast.ada(), review.REFUND, "set-refund-amount", amount="26.00", currency="EUR")

    seen = {name: form[name] for name in ("run_version", "authority_epoch")}
    answer = ben.poll(refund, offers=offers[1], **seen)

    assert "The snapshot is not under review." in answer.text
    assert "refund_amount was 25.00 is 26.00" in answer.text
    assert "data-blocks-deciding" in answer.html


def test_unrelated_traffic_leaves_an_open_form_alone(ben: Visitor, refund: str) -> None:
    form = drawn(ben, refund)
    cast.command(cast.ada(), review.REFUND, "add-note", note={"id": "n1", "text": "called back"})

    seen = {name: form[name] for name in ("run_version", "authority_epoch")}
    answer = ben.poll(refund, offers="approve deny", **seen)

    assert "data-blocks-deciding" not in answer.html
    assert ben.send(f"{refund}decisions/", form | {"verdict": "approve"}).status == 200


@pytest.mark.parametrize("who", [cast.ada, cast.dora, cast.eli])
def test_people_of_the_workflow_and_overseers_see_it_and_find_no_form(
    refund: str, who: Callable[[], Principal]
) -> None:
    answer = visit(who()).get(refund)

    assert answer.status == 200
    assert not answer.has_form(f"{refund}decisions/")
    assert "To look at only. Reviewers of this workflow decide: people in refund-reviewers." in answer.text


def test_for_an_outsider_it_does_not_exist(refund: str) -> None:
    outsider = visit(cast.cy())

    paths = [refund, *(refund + part for part in ("payload/", "manifest/", "download/payload/"))]
    assert [outsider.get(path).status for path in paths] == [404] * 4
    assert outsider.send(f"{refund}decisions/", {}).status == 404


def test_a_stranger_is_led_to_the_sign_in_page_and_a_form_is_left_alone(refund: str) -> None:
    page = stranger().get(refund)
    fragment = stranger().send(f"{refund}decisions/", {})

    assert page.status == 302
    assert fragment.status == 401
    assert fragment.header("HX-Retarget") == "#toasts"


def test_the_card_costs_the_same_with_one_decision_and_with_many(ben: Visitor, refund: str) -> None:
    cast.policy(quorum=5)
    ben.get(refund)
    one = ben.cost(refund)
    for name in ("kim", "liv", "max"):
        review.approve(review.reviewer(name), Snapshot.objects.get().pk)
    ben.get(refund)

    assert ben.cost(refund) == one


# ---- the frozen bytes on their own -------------------------------------------------------------------------


def test_a_download_is_the_exact_bytes_and_inert(ben: Visitor, refund: str) -> None:
    response = ben.get(f"{refund}download/payload/").response

    assert response.content == bytes(Snapshot.objects.get().payload or b"")
    assert response["Content-Type"] == "application/octet-stream"
    assert response["Content-Disposition"].startswith("attachment;")
    assert "sandbox" in response["Content-Security-Policy"]


def test_there_is_nothing_else_to_download(ben: Visitor, refund: str) -> None:
    assert ben.get(f"{refund}download/secrets/").status == 404


def test_an_artifact_is_shown_as_text_and_downloaded_as_bytes(report: str) -> None:
    ben = visit(cast.ben())

    shown = ben.get(f"{report}artifacts/research/")
    loaded = ben.get(f"{report}artifacts/research/", download="1")

    assert review.RESEARCH.decode() in shown.text
    assert loaded.response.content == review.RESEARCH
    assert ben.get(f"{report}artifacts/nothing/").status == 404


# ---- approving and denying ---------------------------------------------------------------------------------


def test_the_last_approval_authorizes_at_once_and_says_so_before_and_after(ben: Visitor, refund: str) -> None:
    before = ben.get(refund).text
    answer = approve(ben, refund)

    assert "Your approval is the last one needed. It authorizes at once" in before
    assert answer.status == 200
    assert "You approved it: 1 of 1." in answer.text
    assert "authorized as R-7:pay:v4 and waits to be sent" in answer.text
    assert decisions() == [("ben", "approve")]
    assert answer.header("HX-Trigger") == "review-moved"


def test_without_script_the_answer_is_a_page_that_tells_it(ben: Visitor, refund: str) -> None:
    answer = ben.post(f"{refund}decisions/", drawn(ben, refund, verdict="approve"))

    assert answer.status == 303
    page = ben.get(answer.header("Location"))
    assert page.is_page
    assert "You approved it: 1 of 1." in page.text


def test_a_deny_ends_the_review_and_keeps_its_reason(ben: Visitor, refund: str) -> None:
    answer = deny(ben, refund, reason="Promised less on the phone.")

    assert "You denied it." in answer.text
    assert "Promised less on the phone." in answer.text
    assert cast.reading(review.REFUND).state.status == "working"


@pytest.mark.parametrize("reason", ["", "   ", "\u200b", "x" * 4001, "a\0b"])
def test_a_deny_needs_a_reason_that_says_something(ben: Visitor, refund: str, reason: str) -> None:
    answer = deny(ben, refund, reason=reason)

    assert answer.status == 422
    assert 'role="alert"' in answer.html
    assert decisions() == []


def test_an_approval_needs_no_note(ben: Visitor, refund: str) -> None:
    assert approve(ben, refund, reason="").status == 200


def test_a_form_sent_twice_counts_once_and_the_second_answer_is_true(ben: Visitor, refund: str) -> None:
    form = drawn(ben, refund, verdict="approve")

    ben.send(f"{refund}decisions/", form)
    again = ben.send(f"{refund}decisions/", form)

    assert again.status == 200
    assert "You decided this already" in again.text
    assert "sent twice and counted once" in again.text
    assert decisions() == [("ben", "approve")]


def test_going_back_and_pressing_the_other_button_decides_nothing_more(ben: Visitor, refund: str) -> None:
    form = drawn(ben, refund)

    ben.send(f"{refund}decisions/", form | {"verdict": "approve"})
    other = ben.send(f"{refund}decisions/", form | {"verdict": "deny"})

    assert other.status == 422
    assert "Nothing was decided." in other.text
    assert decisions() == [("ben", "approve")]


def test_of_two_tabs_the_older_hears_that_it_was_decided(report: str) -> None:
    ben = visit(cast.ben())
    older, newer = drawn(ben, report), drawn(ben, report)

    ben.send(f"{report}decisions/", newer | {"verdict": "approve"})
    answer = ben.send(f"{report}decisions/", older | {"verdict": "approve"})

    assert answer.status == 409
    assert "You approved this already." in answer.text
    assert decisions() == [("ben", "approve")]


@pytest.mark.parametrize("member", ["manifest_sha256", "run_version", "authority_epoch", "id", "verdict"])
def test_a_form_that_is_not_as_it_was_drawn_decides_nothing(ben: Visitor, refund: str, member: str) -> None:
    answer = ben.send(f"{refund}decisions/", drawn(ben, refund, verdict="approve") | {member: "an other"})

    assert answer.status == 422
    assert NOTE in answer.text
    assert decisions() == []


def test_the_hash_of_another_manifest_is_refused(ben: Visitor, refund: str) -> None:
    other = Snapshot.objects.get(pk=review.refund_ready_for_review("R-8")).manifest_sha256

    answer = ben.send(f"{refund}decisions/", drawn(ben, refund, verdict="approve", manifest_sha256=other))

    assert answer.status == 409
    assert "manifest-mismatch" in answer.text
    assert decisions() == []


def test_a_candidate_that_was_replaced_while_it_was_read_is_not_decided(ben: Visitor, refund: str) -> None:
    form = drawn(ben, refund, verdict="approve")
    newer = review.freeze(review.cashier(), review.REFUND, "pay").answer["snapshot"]

    answer = ben.send(f"{refund}decisions/", form)

    assert answer.status == 409
    assert "The snapshot is not under review. Nothing was decided." in answer.text
    assert f'href="{address(newer)}"' in answer.html
    assert NOTE in answer.text
    assert "data-blocks-deciding" in answer.html
    assert decisions() == []


def test_a_fact_that_changed_while_it_was_read_is_shown_with_who_changed_it(ben: Visitor, refund: str) -> None:
    form = drawn(ben, refund, verdict="approve")
    cast.command(cast.ada(), review.REFUND, "set-refund-amount", amount="26.00", currency="EUR")

    answer = ben.send(f"{refund}decisions/", form)

    assert answer.status == 409
    assert "refund_amount was 25.00 is 26.00 person ada in version 4" in answer.text
    assert decisions() == []


def test_a_change_of_ones_own_authority_asks_to_look_again(ben: Visitor, refund: str) -> None:
    form = drawn(ben, refund, verdict="approve")
    cast.policy(quorum=2)

    answer = ben.send(f"{refund}decisions/", form)

    assert answer.status == 409
    assert "authority-changed" in answer.text
    assert NOTE in answer.text
    assert decisions() == []


def test_a_page_without_script_shows_the_new_state_beside_the_refusal(ben: Visitor, refund: str) -> None:
    form = drawn(ben, refund, verdict="approve")
    cast.command(cast.ada(), review.REFUND, "set-refund-amount", amount="26.00", currency="EUR")

    answer = ben.post(f"{refund}decisions/", form)

    assert (answer.status, answer.is_page) == (409, True)
    assert "No longer under review." in answer.text
    assert NOTE in answer.text


def test_who_took_part_finds_why_they_cannot_approve_and_may_deny(refund: str) -> None:
    ada = cast.person("zed", Role.REVIEWER, Role.OPERATOR, groups=("refund-reviewers", "refund-operators"))
    cast.command(ada, review.REFUND, "set-refund-amount", amount="26.00", currency="EUR")
    card = address(review.freeze(review.cashier(), review.REFUND, "pay").answer["snapshot"])
    zed = visit(ada)

    shown = zed.get(card)
    refused = approve(zed, card)
    denied = deny(zed, card)

    assert "You wrote refund_amount last: somebody else has to approve. You may deny it." in shown.text
    assert "person zed may not approve: wrote refund_amount last" in shown.text
    assert refused.status == 403
    assert denied.status == 200


def test_too_few_people_who_could_approve_is_said(ben: Visitor, refund: str) -> None:
    cast.policy(quorum=3)

    text = ben.get(refund).text

    assert "Too few people can approve this: 3 missing, 1 able." in text
    assert "An admin has to add a reviewer to refund-reviewers." in text


def test_while_halted_nobody_approves_and_anybody_may_deny(ben: Visitor, refund: str) -> None:
    set_halt(True, cast.SETUP)

    shown = ben.get(refund)
    refused = approve(ben, refund)

    assert "You cannot approve this. The installation is halted" in shown.text
    assert refused.status == 403
    assert deny(ben, refund).status == 200


def test_where_the_policy_asks_for_it_approving_waits_for_a_fresh_proof_of_identity(ben: Visitor, refund: str) -> None:
    cast.policy(reauthenticate_within=60)

    shown = ben.get(refund)
    refused = approve(ben, refund)

    assert "Confirm who you are first." in shown.text
    assert refused.status == 403
    assert f"/accounts/reauthenticate/?next={refund}" in refused.html


def test_an_operator_cannot_decide_whatever_is_sent(refund: str) -> None:
    form = drawn(visit(cast.ben()), refund, verdict="approve")

    answer = visit(cast.ada()).send(f"{refund}decisions/", form)

    assert answer.status == 403
    assert decisions() == []


@pytest.mark.parametrize("path", ["decisions/", "authorizations/", "decisions/d-0/revocations/"])
def test_reading_never_decides(ben: Visitor, refund: str, path: str) -> None:
    assert ben.get(refund + path).status == 405


# ---- revoking ----------------------------------------------------------------------------------------------


def press_revoke(visitor: Visitor, card: str, **typed: str) -> Answer:
    path = revocations(card)
    form = visitor.get(card).form(path) | {"reason": "It was for another customer."} | typed
    return visitor.send(path, form)


def test_what_revoking_does_is_said_before_and_told_after(ben: Visitor, refund: str) -> None:
    approve(ben, refund)

    before = ben.get(refund).text
    answer = press_revoke(ben, refund)

    assert "revocable : authorized, and nothing may have left" in before
    assert "Revoking now: the effect is cancelled in the same moment." in before
    assert "Nothing had left: R-7:pay:v4 is cancelled, and nothing can be sent." in answer.text
    assert Effect.objects.get().state == "cancelled"


def test_before_authorization_the_approval_simply_stops_counting(report: str) -> None:
    ben = visit(cast.ben())
    approve(ben, report)

    assert "Revoking now: the approval stops counting." in ben.get(report).text
    assert "It no longer counts; nothing had been authorized with it." in press_revoke(ben, report).text
    assert "0 of 1" in ben.get(report).text


def test_past_the_boundary_revoking_stops_attempts_and_claims_nothing_more(ben: Visitor, refund: str) -> None:
    approve(ben, refund)
    settling.claimed(review.effect_of())

    before = ben.get(refund).text
    answer = press_revoke(ben, refund)

    assert "past the boundary : something may have left" in before
    assert "Something may have left: no further attempt of R-7:pay:v4 starts" in answer.text


def test_after_the_send_revoking_opens_a_remediation_and_takes_nothing_back(ben: Visitor, refund: str) -> None:
    approve(ben, refund)
    settling.succeed(review.effect_of())

    before = ben.get(refund).text
    answer = press_revoke(ben, refund)

    assert "It is confirmed to have happened, and revoking takes nothing back." in before
    assert "It had happened, and has: a remediation is open." in answer.text
    assert "unsent" not in answer.text.lower()


def test_revoking_needs_a_reason_and_keeps_none(ben: Visitor, refund: str) -> None:
    approve(ben, refund)

    answer = press_revoke(ben, refund, reason=" ")

    assert answer.status == 422
    assert Decision.objects.get().revoked_at is None


def test_a_revocation_sent_twice_counts_once(ben: Visitor, refund: str) -> None:
    approve(ben, refund)
    path = revocations(refund)
    form = ben.get(refund).form(path) | {"reason": "Wrong customer."}

    ben.send(path, form)
    again = ben.send(path, form)
    other = ben.send(path, form | {"id": "another"})

    assert "This was revoked already." in again.text
    assert other.status == 409
    assert "user:ben revoked this already" in other.text


def test_an_admin_may_revoke_and_an_auditor_may_not(ben: Visitor, refund: str) -> None:
    approve(ben, refund)
    path = revocations(refund)
    form = ben.get(refund).form(path) | {"reason": "Stopped by the admin."}

    assert not visit(cast.eli()).get(refund).has_form(path)
    assert visit(cast.eli()).send(path, form).status == 403
    assert visit(cast.dora()).post(path, form).status == 303


def test_a_decision_of_another_snapshot_is_not_found_here(ben: Visitor, refund: str) -> None:
    other = address(review.refund_ready_for_review("R-8"))
    approve(ben, refund)

    assert ben.send(revocations(other), {"id": "x", "reason": "y"}).status == 404


# ---- spending approvals ------------------------------------------------------------------------------------


def press_authorize(visitor: Visitor, card: str, **typed: str) -> Answer:
    path = f"{card}authorizations/"
    return visitor.send(path, visitor.get(card).form(path) | {"reason": "It is complete."} | typed)


def test_whoever_coordinates_spends_the_approvals_from_the_card(report: str) -> None:
    approve(visit(cast.ben()), report)

    answer = press_authorize(visit(cast.ada()), report)

    assert "The approvals are spent on R-42:send:v8 , which waits to be sent." in answer.text
    assert Effect.objects.get().pk == "R-42:send:v8"


def test_who_lacks_the_scope_is_told_so_instead(report: str) -> None:
    ben = visit(cast.ben())
    form = drawn(ben, report, verdict="approve")
    ben.send(f"{report}decisions/", form)

    answer = ben.get(report)

    assert not answer.has_form(f"{report}authorizations/")
    assert "Whoever holds report:coordinate authorizes it. Not you now" in answer.text


def test_an_authorization_of_a_version_that_moved_is_refused(report: str) -> None:
    approve(visit(cast.ben()), report)
    ada = visit(cast.ada())
    form = ada.get(report).form(f"{report}authorizations/") | {"reason": "It is complete."}
    cast.command(cast.ada(), review.REPORT, "set-audience", audience="all")

    answer = ada.send(f"{report}authorizations/", form)

    assert answer.status == 409
    assert not Effect.objects.exists()


def test_a_second_spender_gets_the_first_receipt(report: str) -> None:
    approve(visit(cast.ben()), report)
    ada = visit(cast.ada())
    form = ada.get(report).form(f"{report}authorizations/") | {"reason": "It is complete."}
    press_authorize(ada, report)

    answer = ada.send(f"{report}authorizations/", form | {"id": "another"})

    assert "It was authorized already." in answer.text
    assert Effect.objects.count() == 1


def test_before_the_approvals_are_there_nothing_can_be_spent(report: str) -> None:
    assert not visit(cast.ada()).get(report).has_form(f"{report}authorizations/")


def test_the_address_of_a_snapshot_that_never_was_is_not_found(ben: Visitor) -> None:
    assert ben.get("/snapshots/R-7:review:v9:c9/").status == 404


def test_spans_of_time_are_told_in_their_largest_whole_unit() -> None:
    spans = (7 * 86400, 86400, 90 * 60, 3600, 61)

    assert [review_card.duration(seconds) for seconds in spans] == ["7 days", "24 h", "90 min", "1 h", "61 s"]
