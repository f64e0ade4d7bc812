"""The screen of an escalation: both sides of the case, settling it, and who holds it."""

import json

import pytest

from approvals.destinations import Terms, register_destination
from approvals.models import Snapshot
from approvals.values import FreezeRequest
from outbox.authorization import freeze_snapshot
from runs import actions, authority, claims
from runs.administration import set_agent_active, set_halt
from runs.claims import ClaimRequest
from runs.models import Escalation
from runs.refusals import escalation_ref
from runs.values import CommandRequest, Principal
from tests import cast
from tests.console.web.visitor import Answer, Visitor, stranger, visit

pytestmark = pytest.mark.django_db

HOSTILE = "<img src=x onerror=alert(1)> \u202eEUR 00.54 <b hx-get='/x'>\u2714 verified by policy</b> </textarea>"


@pytest.fixture
def case() -> str:
    """The address of an open case: an agent proposed 45.00 on version 1, Ada had set 30.00 in version 2."""
    cast.run_with_open_amount()
    return address()


@pytest.fixture
def mara(case: str) -> Visitor:
    """An operator with no side in it."""
    return visit(cast.person_operating("mara"))


def address(key: str = "R-42") -> str:
    return f"/escalations/{escalation_ref(Escalation.objects.get(run__key=key).pk)}/"


def drawn(visitor: Visitor, case: str) -> dict[str, str]:
    """The form as the page draws it now."""
    return visitor.get(case).form(f"{case}resolutions/")


def choose(verb: str, **more: str) -> dict[str, str]:
    return {"verb": verb, "reason": "The policy table says so."} | more


def amount() -> str | None:
    value: str | None = cast.reading("R-42").state.fields["refund_amount"]
    return value


# ---- reading -------------------------------------------------------------------------------------------------


def test_the_headline_says_in_plain_words_what_the_case_is_about(mara: Visitor, case: str) -> None:
    text = mara.get(case).text

    assert (
        "agent classifier proposed refund_amount 45.00 on version 1 ; person ada changed it to 30.00 in version 2"
        in text
    )


def test_both_sides_stand_beside_the_base_with_who_changed_each(mara: Visitor, case: str) -> None:
    text = mara.get(case).text

    assert "refund_amount exclusive · material changed by both not set" in text
    assert "is 30.00 person ada in version 2" in text
    assert "is 45.00 +15.00 against the record now" in text


def test_what_nobody_touched_is_folded_away_and_what_changed_comes_first(mara: Visitor, case: str) -> None:
    answer = mara.get(case)

    assert "9 unchanged: currency, recipient, messages," in answer.text
    assert answer.text.index("refund_amount exclusive") < answer.text.index("status changed since")


def test_the_rule_its_reason_and_the_budget_are_said(mara: Visitor, case: str) -> None:
    answer = mara.get(case)
    text = answer.text

    assert 'href="/workflows/refund/revisions/1/#set-refund-amount.2"' in answer.html
    assert "Amount or recipient changed since; two intentions about money are never merged." in text
    assert "Rule 2 of set-refund-amount" in text
    assert "workflow refund revision 1." in text
    assert "Counted conflicts of the intent set-refund-amount : 0 of 3." in text


def test_long_texts_differ_by_words() -> None:
    question = "Explain the churn of the third quarter for the board: who left, and which reasons they gave for it."
    cast.run_received("Q-1", "report", question=question, audience="the board")
    bot = cast.agent("coordinator", cast.REPORT_SCOPES, ("report",)).principal
    cast.command(cast.ada(), "Q-1", "start")
    cast.command(cast.ada(), "Q-1", "set-question", question=question.replace("third", "second"))
    cast.command(bot, "Q-1", "set-question", on=2, question=question.replace("board", "founders"))

    text = visit(cast.person_operating("mara")).get(address("Q-1")).text

    assert (
        "agent coordinator proposed another text for question on version 2 ; person ada changed it in version 3" in text
    )
    assert "churn of the removed: third added: second quarter" in text
    assert "for the removed: board added: founders : who left" in text


def test_the_page_of_a_case_is_read_in_a_constant_number_of_statements(mara: Visitor, case: str) -> None:
    mara.get(case)
    cost = mara.cost(case)

    for number in range(20):
        cast.command(cast.ada(), "R-42", "add-note", note={"id": f"n{number}", "text": "again"})

    assert mara.cost(case) == cost < 16


def test_a_case_as_json_is_one_click_away(mara: Visitor, case: str) -> None:
    assert f'href="{case}json/"' in mara.get(case).html
    assert '"verb": "apply"' in mara.get(f"{case}json/").text


@pytest.mark.parametrize("path", ["", "json/"])
def test_a_case_of_others_is_not_found(case: str, path: str) -> None:
    assert visit(cast.cy()).get(case + path).status == 404


@pytest.mark.parametrize("ref", ["es-0", "es-" + "0" * 32, "R-42"])
def test_a_case_that_does_not_exist_is_not_found(mara: Visitor, ref: str) -> None:
    assert mara.get(f"/escalations/{ref}/").status == 404


def test_a_stranger_is_led_to_the_sign_in_page_and_back(case: str) -> None:
    answer = stranger().get(case)

    assert answer.status == 302
    assert answer.header("Location") == f"/accounts/login/?next={case}"


@pytest.mark.parametrize("person", [cast.ben, cast.dora, cast.eli], ids=lambda person: person.__name__)
def test_whoever_may_not_settle_may_look_and_is_told_who_does(case: str, person: object) -> None:
    answer = visit(person()).get(case)  # type: ignore[operator]

    assert "To look at only. Operators settle conflicts of this workflow: people in refund-operators." in answer.text
    assert not answer.has_form(f"{case}resolutions/")
    assert not answer.has_form(f"{case}claims/")


def test_a_part_of_the_page_is_sent_again_only_when_something_changed(mara: Visitor, case: str) -> None:
    first = mara.poll(case)

    unchanged = mara.poll(case, tag=first.header("HX-PTag"))
    cast.command(cast.ada(), "R-42", "add-tag", tag="vip")
    changed = mara.poll(case, tag=first.header("HX-PTag"))

    assert not first.is_page
    assert unchanged.status == 304
    assert changed.status == 200


def test_a_refresh_touches_no_form_and_says_what_moved(mara: Visitor, case: str) -> None:
    form = drawn(mara, case)
    shown = {name: form[name] for name in ("seen", "case_version", "drawn_verbs")}
    quiet = mara.poll(case, **shown)
    cast.command(cast.ada(), "R-42", "set-refund-amount", amount="31.00", currency="EUR")

    answer = mara.poll(case, **shown)

    assert "moved while you read" not in quiet.text
    assert not answer.has_form(f"{case}resolutions/")
    assert "The record moved while you read: refund_amount." in answer.text
    assert "data-blocks-deciding" in answer.html
    assert "31.00" in answer.text


def test_unrelated_traffic_blocks_nothing(mara: Visitor, case: str) -> None:
    form = drawn(mara, case)
    cast.command(cast.ada(), "R-42", "add-tag", tag="vip")

    answer = mara.poll(case, **{name: form[name] for name in ("seen", "case_version", "drawn_verbs")})
    settled = mara.send(f"{case}resolutions/", form | choose("keep"))

    assert "data-blocks-deciding" not in answer.html
    assert "kept the record" in settled.text


# ---- settling ------------------------------------------------------------------------------------------------


def test_each_choice_says_exactly_what_it_would_do(mara: Visitor, case: str) -> None:
    text = mara.get(case).text

    assert "Keep 30.00" in text
    assert "R-42 stays at version 2 . The proposal ends rejected ." in text
    assert "Apply 45.00" in text
    assert "R-42 becomes version 3 : refund_amount was 30.00 is 45.00 The proposal ends committed ." in text


@pytest.mark.parametrize(
    ("verb", "words", "holds", "version"),
    [
        ("keep", "kept the record; the proposal is rejected, version 2", "30.00", 2),
        ("apply", "applied the proposal, version 3", "45.00", 3),
        ("send-back", "sent the proposal back, version 2", "30.00", 2),
    ],
)
def test_a_case_is_settled_by_each_verb(
    mara: Visitor, case: str, verb: str, words: str, holds: str, version: int
) -> None:
    answer = mara.post(f"{case}resolutions/", drawn(mara, case) | choose(verb))

    assert answer.status == 303
    assert words in mara.get(answer.header("Location")).text
    assert amount() == holds
    assert cast.reading("R-42").version == version
    assert Escalation.objects.get().state == "settled"


def test_the_answer_to_htmx_is_the_settled_card_in_place_of_the_form(mara: Visitor, case: str) -> None:
    answer = mara.send(f"{case}resolutions/", drawn(mara, case) | choose("keep"))

    assert answer.status == 200
    assert not answer.is_page
    assert "person mara kept the record" in answer.text
    assert not answer.has_form(f"{case}resolutions/")


def test_after_a_decision_the_next_case_is_one_click_away(mara: Visitor, case: str) -> None:
    cast.run_with_open_case("R-1", cast.agent("other").principal)
    answer = mara.send(f"{case}resolutions/", drawn(mara, case) | choose("keep"))
    following = address("R-1")

    last = mara.send(f"{following}resolutions/", drawn(mara, following) | choose("keep"))

    assert f'href="{following}">Next case' in answer.html
    assert "Next case" not in last.text


def test_a_settled_case_shows_the_record_as_its_operator_saw_it(mara: Visitor, case: str) -> None:
    mara.post(f"{case}resolutions/", drawn(mara, case) | choose("apply"))

    text = mara.get(case).text

    assert "Current · version 2 the record when this was settled" in text
    assert "person ada changed it to 30.00 in version 2" in text
    assert 'hx-trigger="every' not in mara.get(case).html


def test_amending_shows_the_difference_from_the_proposal_before_anything_is_written(mara: Visitor, case: str) -> None:
    typed = choose("amend", **{"amend-params.amount": "40.00", "preview": "1"})

    answer = mara.send(f"{case}resolutions/", drawn(mara, case) | typed)

    assert "Against the proposal: amount was 45.00 is 40.00" in answer.text
    assert "R-42 becomes version 3 : refund_amount was 30.00 is 40.00" in answer.text
    assert "The proposal ends superseded ." in answer.text
    assert answer.form(f"{case}resolutions/")["reason"] == "The policy table says so."
    assert amount() == "30.00"


def test_a_preview_without_script_is_the_whole_page(mara: Visitor, case: str) -> None:
    typed = choose("amend", **{"amend-params.amount": "40.00", "preview": "1"})

    answer = mara.post(f"{case}resolutions/", drawn(mara, case) | typed)

    assert answer.is_page
    assert "Against the proposal: amount was 45.00 is 40.00" in answer.text
    assert answer.form(f"{case}resolutions/")["amend-params.amount"] == "40.00"


def test_an_amended_proposal_is_applied(mara: Visitor, case: str) -> None:
    form = drawn(mara, case)

    answer = mara.send(f"{case}resolutions/", form | choose("amend", **{"amend-params.amount": "40.00"}))

    assert form["amend-params.amount"] == "45.00"
    assert "amended the proposal and applied it, version 3" in answer.text
    assert amount() == "40.00"


@pytest.mark.parametrize("preview", [{}, {"preview": "1"}])
def test_an_amendment_is_judged_by_the_schema_of_the_command(mara: Visitor, case: str, preview: dict[str, str]) -> None:
    typed = choose("amend", **{"amend-params.amount": "0.00"}, **preview)

    answer = mara.send(f"{case}resolutions/", drawn(mara, case) | typed)

    assert answer.status == 422
    assert "This is not accepted here. Written like 45.00." in answer.text
    assert amount() == "30.00"


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"reason": ""}, "Say why, in a few words."),
        ({"reason": " \t "}, "Say why, in a few words."),
        ({"reason": "x" * 4001}, "At most 4000 characters."),
        ({"reason": "a\0b"}, "Null characters are not allowed."),
        ({"verb": ""}, "Choose what to do with the proposal."),
        ({"verb": "undo"}, "This is no choice."),
        ({"seen": "now"}, "This form is not as it was drawn."),
        ({"case_version": ""}, "This form is not as it was drawn."),
    ],
)
def test_what_is_missing_is_said_and_what_was_typed_is_kept(
    mara: Visitor, case: str, typed: dict[str, str], words: str
) -> None:
    answer = mara.send(f"{case}resolutions/", drawn(mara, case) | choose("keep") | typed)

    assert answer.status == 422
    assert words in answer.text
    assert "reason" in typed or "The policy table says so." in answer.text
    assert Escalation.objects.get().state == "open"


def test_a_case_is_never_settled_or_claimed_by_a_get(mara: Visitor, case: str) -> None:
    form = drawn(mara, case) | choose("keep")

    statuses = {mara.get(case + path, **form).status for path in ("resolutions/", "claims/", "claims/release/")}

    assert statuses == {405}
    assert Escalation.objects.get().state == "open"


@pytest.mark.parametrize("person", [cast.ben, cast.dora, cast.eli], ids=lambda person: person.__name__)
def test_only_operators_settle(mara: Visitor, case: str, person: object) -> None:
    form = drawn(mara, case) | choose("keep")

    answer = visit(person()).send(f"{case}resolutions/", form)  # type: ignore[operator]

    assert answer.status == 403
    assert Escalation.objects.get().state == "open"


def test_the_writer_of_a_material_side_may_not_keep_or_amend_it_and_is_told_why(case: str) -> None:
    ada = visit(cast.ada())

    page = ada.get(case)
    answer = ada.send(f"{case}resolutions/", drawn(ada, case) | choose("keep"))

    assert page.html.count('name="verb"') == 4
    assert page.text.count("Not now: You wrote the current refund_amount: apply the other side or send it back.") == 2
    assert answer.status == 403
    assert "Both sides cannot be one person. Nothing was applied." in answer.text
    assert "You wrote the current refund_amount" in answer.text


def test_applying_what_its_proposer_may_no_longer_do_is_refused_with_the_reason(mara: Visitor, case: str) -> None:
    form = drawn(mara, case)
    set_agent_active("classifier", False, cast.SETUP)

    answer = mara.send(f"{case}resolutions/", form | choose("apply"))

    assert answer.status == 403
    assert "Nothing was applied." in answer.text
    assert "The policy table says so." in answer.text
    assert amount() == "30.00"


def test_a_halt_stops_applying_but_never_keeping(mara: Visitor, case: str) -> None:
    form = drawn(mara, case)
    set_halt(True, cast.SETUP)

    refused = mara.send(f"{case}resolutions/", form | choose("apply"))
    kept = mara.send(f"{case}resolutions/", refused.form(f"{case}resolutions/") | choose("keep"))

    assert refused.status == 403
    assert "kept the record" in kept.text


# ---- settling what moved, twice, or too late ---------------------------------------------------------------------


@pytest.fixture
def moved(mara: Visitor, case: str) -> Answer:
    """The answer to a form about version 2, sent when Ada had set 31.00 in version 3."""
    form = drawn(mara, case)
    cast.command(cast.ada(), "R-42", "set-refund-amount", amount="31.00", currency="EUR")
    return mara.send(f"{case}resolutions/", form | choose("keep"))


def test_what_moved_meanwhile_is_shown_and_nothing_is_applied(moved: Answer) -> None:
    assert moved.status == 412
    assert "The record moved while you read: refund_amount." in moved.text
    assert "data-blocks-deciding" in moved.html
    assert 'data-decides aria-disabled="true"' in moved.html
    assert Escalation.objects.get().state == "open"


def test_what_was_typed_is_kept_when_the_record_moved(moved: Answer, case: str) -> None:
    form = moved.form(f"{case}resolutions/")

    assert form["reason"] == "The policy table says so."
    assert form["verb"] == "keep"


def test_settling_goes_on_from_the_state_that_was_seen(mara: Visitor, moved: Answer, case: str) -> None:
    again = mara.send(f"{case}resolutions/", moved.form(f"{case}resolutions/") | {"continue_on": "1.3/1"})
    form = again.form(f"{case}resolutions/")

    answer = mara.send(f"{case}resolutions/", form)

    assert again.status == 200
    assert "data-blocks-deciding" not in again.html
    assert form["reason"] == "The policy table says so."
    assert "kept the record; the proposal is rejected, version 3" in answer.text


def test_a_newer_proposal_of_the_same_case_has_to_be_seen_first(mara: Visitor, case: str) -> None:
    form = drawn(mara, case)
    bot = authority.current(Principal("agent", "classifier"))
    cast.command(bot, "R-42", "set-refund-amount", on=1, amount="50.00", currency="EUR")

    answer = mara.send(f"{case}resolutions/", form | choose("apply"))

    assert answer.status == 412
    assert "A newer proposal joined this case." in answer.text
    assert amount() == "30.00"


def test_a_form_sent_twice_counts_once_and_says_so(mara: Visitor, case: str) -> None:
    form = drawn(mara, case) | choose("apply")
    mara.send(f"{case}resolutions/", form)

    again = mara.send(f"{case}resolutions/", form)

    assert again.status == 200
    assert "The form was sent twice and counted once." in again.text
    assert cast.reading("R-42").version == 3


def test_a_second_tab_is_told_how_the_case_was_settled(mara: Visitor, case: str) -> None:
    first, second = drawn(mara, case), drawn(mara, case)
    mara.send(f"{case}resolutions/", first | choose("keep"))

    answer = mara.send(f"{case}resolutions/", second | choose("apply", reason="My other thought."))

    assert answer.status == 409
    assert "kept the record" in answer.text
    assert "Nothing of yours was applied: it was settled before." in answer.text
    assert "My other thought." in answer.text
    assert amount() == "30.00"


def test_whoever_reads_a_case_that_is_settled_meanwhile_is_told(mara: Visitor, case: str) -> None:
    form = drawn(mara, case)
    jo = visit(cast.person_operating("jo"))
    jo.send(f"{case}resolutions/", drawn(jo, case) | choose("keep"))

    answer = mara.poll(case, **{name: form[name] for name in ("seen", "case_version", "drawn_verbs")})

    assert "This case was settled meanwhile. person jo kept the record" in answer.text
    assert "data-blocks-deciding" in answer.html


def test_somebody_signed_out_meanwhile_is_told_beside_the_form(mara: Visitor, case: str) -> None:
    form = drawn(mara, case) | choose("keep")

    answer = stranger().send(f"{case}resolutions/", form)

    assert answer.status == 401
    assert answer.header("HX-Retarget") == "#toasts"
    assert "Nothing was decided, and what you typed is kept." in answer.text
    assert Escalation.objects.get().state == "open"


# ---- holding -------------------------------------------------------------------------------------------------


def test_a_case_is_claimed_seen_by_others_and_released(mara: Visitor, case: str) -> None:
    form = mara.get(case).form(f"{case}claims/")

    claimed = mara.send(f"{case}claims/", form)
    others = visit(cast.person_operating("jo")).get(case)
    released = mara.send(f"{case}claims/release/", {})

    assert "You hold this case" in claimed.text
    assert claimed.header("HX-Trigger") == "case-moved"
    assert "person mara holds this case" in others.text
    assert others.text.count("Not now: user:mara holds this case.") == 4
    assert "Nobody holds this case" in released.text


def test_a_claim_without_script_leads_back_to_the_case(mara: Visitor, case: str) -> None:
    answer = mara.post(f"{case}claims/", mara.get(case).form(f"{case}claims/"))

    assert answer.status == 303
    assert "You hold this case" in mara.get(answer.header("Location")).text


def test_a_claim_sent_twice_holds_once(mara: Visitor, case: str) -> None:
    form = mara.get(case).form(f"{case}claims/")
    mara.send(f"{case}claims/", form)

    assert mara.send(f"{case}claims/", form).status == 200
    assert Escalation.objects.get().claimed_by == "user:mara"


def test_what_another_holds_is_neither_claimed_nor_settled(mara: Visitor, case: str) -> None:
    form = drawn(mara, case) | choose("keep")
    claims.claim(cast.person_operating("jo"), case.split("/")[2], ClaimRequest("c-1"))

    claimed = mara.send(f"{case}claims/", {"id": "c-2"})
    settled = mara.send(f"{case}resolutions/", form)

    assert claimed.status == 409
    assert "user:jo holds this case." in claimed.text
    assert settled.status == 409
    assert "Somebody else holds this case. Nothing was applied." in settled.text
    assert "The policy table says so." in settled.text


def test_a_claim_that_changes_what_one_may_do_is_said_on_an_open_page(mara: Visitor, case: str) -> None:
    form = drawn(mara, case)
    claims.claim(cast.person_operating("jo"), case.split("/")[2], ClaimRequest("c-1"))

    answer = mara.poll(case, **{name: form[name] for name in ("seen", "case_version", "drawn_verbs")})

    assert "What you may do here has changed." in answer.text
    assert "person jo holds this case" in answer.text


def test_a_case_is_handed_to_another_operator(mara: Visitor, case: str) -> None:
    cast.person_operating("jo")

    answer = mara.send(f"{case}claims/hand-over/", {"to": "jo"})

    assert "person jo holds this case" in answer.text
    assert Escalation.objects.get().claimed_by == "user:jo"


def test_a_case_is_handed_to_operators_only(mara: Visitor, case: str) -> None:
    answer = mara.send(f"{case}claims/hand-over/", {"to": cast.ben().name})

    assert answer.status == 422
    assert "ben does not settle conflicts of this workflow." in answer.text
    assert Escalation.objects.get().claimed_by is None


@pytest.mark.parametrize("path", ["claims/", "claims/release/", "claims/hand-over/"])
def test_only_operators_hold_a_case(case: str, path: str) -> None:
    assert visit(cast.ben()).send(case + path, {"id": "c-1", "to": "ada"}).status == 403


# ---- hostile text, and freezes --------------------------------------------------------------------------------


def test_hostile_text_of_an_agent_stays_text_inside_its_frame() -> None:
    bot = cast.agent().principal
    cast.run_received(recipient="Ana Lima")
    cast.command(cast.ada(), "R-42", "set-recipient", recipient="Ana M. Lima")
    asked = CommandRequest("c-bad", "set-recipient", {"recipient": HOSTILE[:150]}, HOSTILE, ("javascript:alert(1)",))
    actions.apply_command(bot, "R-42", 1, asked)

    answer = visit(cast.person_operating("mara")).get(address())

    assert "<img src=x" not in answer.html
    assert "<b hx-get" not in answer.html
    assert 'href="javascript:' not in answer.html
    assert "Reason of the agent untrusted, shown as it came" in answer.text
    assert "⟨U+202E⟩" in answer.text
    assert "Look twice:" in answer.text


def test_a_case_about_a_set_names_its_element() -> None:
    bot = cast.agent().principal
    cast.run_received()
    cast.command(bot, "R-42", "add-tag", tag="fraud?")
    cast.command(cast.ada(), "R-42", "remove-tag", tag="fraud?")
    cast.command(bot, "R-42", "add-tag", on=2, tag="fraud?")

    answer = visit(cast.person_operating("mara")).get(address())

    said = "agent classifier proposed to add fraud? to tags on version 2 ; person ada changed it in version 3"
    assert said in answer.text
    assert 'aria-label="removed"' in answer.html


@pytest.fixture
def freeze() -> str:
    """The address of a case about a stale freeze: an agent would have paid 30.00, Ada has set 25.00 since."""
    bot = cast.agent().principal
    terms = Terms(
        adapter="http", url="https://provider.example.com/pay", recognises_repeats=True, key_retention_seconds=60
    )
    register_destination("payments", terms, cast.SETUP)
    cast.run_received(recipient="Ana Lima")
    cast.command(cast.ada(), "R-42", "set-refund-amount", amount="30.00", currency="EUR")
    cast.command(cast.ada(), "R-42", "set-refund-amount", amount="25.00", currency="EUR")
    freeze_snapshot(bot, "R-42", 2, FreezeRequest("f-1", "pay", "The customer waits.", {}, None))
    return address()


def test_a_stale_freeze_shows_what_would_have_been_sent_beside_what_would_be_now(freeze: str) -> None:
    text = visit(cast.person_operating("mara")).get(freeze).text

    assert "agent classifier proposed “Pay the refund” on version 2 ; person ada changed refund_amount to 25.00" in text
    assert "What would be frozen applying freezes what the record gives now" in text
    assert "amount 30.00 was 30.00 is 25.00" in text
    assert "Not now: A freeze is not amended: freeze another candidate." in text


def test_applying_a_stale_freeze_freezes_what_the_record_gives_now(freeze: str) -> None:
    mara = visit(cast.person_operating("mara"))

    answer = mara.send(f"{freeze}resolutions/", drawn(mara, freeze) | choose("apply"))

    assert "applied the proposal, version 4" in answer.text
    assert json.loads(bytes(Snapshot.objects.get().payload or b""))["amount"] == "25.00"
    assert cast.reading("R-42").state.status == "ready_for_review"
