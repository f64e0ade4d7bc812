"""The screens of runs: the list, one run with its forms, its ledger, its chain, and the same as raw JSON."""

import json

import pytest

from runs.administration import set_person_active
from runs.models import Escalation
from runs.refusals import escalation_ref
from tests import cast
from tests.console.web.visitor import Answer, Visitor, stranger, visit

pytestmark = pytest.mark.django_db

RUN = "/runs/R-42/"
SET_CATEGORY = "/runs/R-42/commands/set-category/"
ADD_NOTE = "/runs/R-42/commands/add-note/"

HOSTILE = "<img src=x onerror=alert(1)> \u202eEUR 00.54 <b hx-get='/x'>verified</b> </textarea>"


@pytest.fixture
def ada() -> Visitor:
    cast.workflow()
    return visit(cast.ada())


def drawn(visitor: Visitor, name: str = "set-category", key: str = "R-42") -> dict[str, str]:
    """The form of a command as the page of the run draws it now."""
    return visitor.get(f"/runs/{key}/", command=name).form(f"/runs/{key}/commands/{name}/")


def category(value: str, **more: str) -> dict[str, str]:
    return {"params.category": json.dumps(value), "reason": "Photos show a broken lid.", **more}


def case_of(key: str) -> str:
    return escalation_ref(Escalation.objects.get(run__key=key).pk)


# ---- the list ------------------------------------------------------------------------------------------------


def rows(answer: Answer) -> list[str]:
    """The keys of a list, in order."""
    return [
        part.split('"', 1)[0].strip("/").rpartition("/")[2] for part in answer.html.split('row-link mono" href="')[1:]
    ]


def test_the_newest_run_is_listed_first(ada: Visitor) -> None:
    cast.run_received("R-1")
    cast.run_working("R-2")

    answer = ada.get("/runs/")

    assert rows(answer) == ["R-2", "R-1"]
    assert "in handling" in answer.text  # the label of the workflow


def test_filters_stand_in_the_address_and_narrow_the_list(ada: Visitor) -> None:
    cast.run_received("R-1")
    cast.run_working("R-2")
    cast.run_working("B-3")

    assert rows(ada.get("/runs/", q="R-")) == ["R-2", "R-1"]
    assert rows(ada.get("/runs/", status="working", q="R-")) == ["R-2"]
    assert rows(ada.get("/runs/", workflow="refund")) == ["B-3", "R-2", "R-1"]
    assert 'value="R-"' in ada.get("/runs/", q="R-").html


def test_an_open_conflict_is_marked_in_the_list(ada: Visitor) -> None:
    cast.run_with_open_case("R-1")

    assert "1 open conflict" in ada.get("/runs/").text


def test_a_list_goes_on_where_the_page_ended(ada: Visitor) -> None:
    for number in range(52):
        cast.run_received(f"R-{number:02}")

    first = ada.get("/runs/", q="R-")
    older = first.html.split('rel="next" href="')[1].split('"')[0].replace("&amp;", "&")
    second = ada.get("/runs/" + older)

    assert len(rows(first)) == 50
    assert rows(second) == ["R-01", "R-00"]
    assert "q=R-" in older


def test_a_list_costs_the_same_whatever_it_holds(ada: Visitor) -> None:
    bot = cast.agent().principal
    for number in range(2):
        cast.run_with_open_case(f"R-{number}", bot)
    ada.get("/runs/")
    cost = ada.cost("/runs/")

    for number in range(2, 20):
        cast.run_with_open_case(f"R-{number}", bot)

    assert ada.cost("/runs/") == cost < 10


def test_an_empty_list_says_how_a_run_appears(ada: Visitor) -> None:
    assert "POST /api/v1/runs/" in ada.get("/runs/").text


def test_a_list_that_is_filtered_empty_says_so(ada: Visitor) -> None:
    cast.run_received()

    assert "No run fits these filters" in ada.get("/runs/", q="zzz").text


@pytest.mark.parametrize("wrong", [{"status": "bogus"}, {"workflow": "nobody"}, {"before": "x"}, {"before": "0"}])
def test_a_filter_that_makes_no_sense_lists_nothing_and_says_so(ada: Visitor, wrong: dict[str, str]) -> None:
    cast.run_received()

    answer = ada.get("/runs/", **wrong)

    assert answer.status == 200
    assert rows(answer) == []
    assert "Nothing is listed." in answer.text


def test_runs_of_others_are_not_listed(ada: Visitor) -> None:
    cast.run_received()

    answer = visit(cast.cy()).get("/runs/")

    assert rows(answer) == []
    assert "No workflow is open to you" in answer.text


# ---- one run -------------------------------------------------------------------------------------------------


def test_a_run_shows_fields_with_who_changed_them_last(ada: Visitor) -> None:
    cast.run_working(recipient="Ana Lima")

    text = ada.get(RUN).text

    assert "category exclusive billing person ada in version 2" in text
    assert "recipient exclusive · material Ana Lima person ada at its creation" in text
    assert "contact_attempts counter 0 as it began" in text


def test_a_run_says_what_is_held_and_leads_to_the_case(ada: Visitor) -> None:
    cast.run_with_open_case()

    answer = ada.get(RUN)

    assert "held until the case of agent classifier is settled" in answer.text
    assert f'href="/escalations/{case_of("R-42")}/"' in answer.html
    assert "agent classifier proposed category damage on version 1 ; person ada changed it to billing" in answer.text


def test_next_steps_are_legal_now_and_each_missing_one_says_why(ada: Visitor) -> None:
    cast.run_working()

    answer = ada.get(RUN)

    assert 'href="?command=set-category"' in answer.html
    assert 'href="?command=reopen-case"' not in answer.html
    assert "“Open the case again” is possible only while case_state is closed; it is open." in answer.text
    assert "Taken by operators, and agents with refund:close" in answer.text
    assert "“Pay the refund” shows recipient, refund_amount, which nobody has set yet." in answer.text


def test_somebody_who_may_only_read_is_offered_no_step() -> None:
    cast.run_working()

    answer = visit(cast.eli()).get(RUN)

    assert "?command=" not in answer.html
    assert "Nothing for you to do here now." in answer.text


def test_the_page_of_a_run_costs_the_same_whatever_it_holds(ada: Visitor) -> None:
    bot = cast.agent().principal
    cast.run_with_open_case("R-42", bot)
    ada.get(RUN)
    cost = ada.cost(RUN)

    for number in range(20):
        cast.command(bot, "R-42", "add-note", note={"id": f"n{number}", "text": "again"})
        cast.command(bot, "R-42", "set-category", on=2 + number, category="delay", id_=f"again-{number}")

    assert ada.cost(RUN) == cost < 14


@pytest.mark.parametrize("path", ["", "ledger/", "chain/", "json/", "ledger/1/"])
def test_a_run_of_others_is_not_found(path: str) -> None:
    cast.run_received()

    assert visit(cast.cy()).get(RUN + path).status == 404


@pytest.mark.parametrize("path", ["/runs/", RUN, RUN + "ledger/", RUN + "json/"])
def test_a_stranger_is_led_to_the_sign_in_page(path: str) -> None:
    answer = stranger().get(path)

    assert answer.status == 302
    assert answer.header("Location").startswith("/accounts/login/?next=/runs/")


def test_a_part_of_the_page_is_sent_again_only_when_something_changed(ada: Visitor) -> None:
    cast.run_working()
    first = ada.poll(RUN)

    unchanged = ada.poll(RUN, tag=first.header("HX-PTag"))
    cast.command(cast.ada(), "R-42", "add-tag", tag="vip")
    changed = ada.poll(RUN, tag=first.header("HX-PTag"))

    assert not first.is_page
    assert unchanged.status == 304
    assert changed.status == 200
    assert "vip" in changed.text


def test_a_refresh_never_touches_a_form(ada: Visitor) -> None:
    cast.run_working()

    answer = ada.poll(RUN, seen="1.1")

    assert not answer.has_form(SET_CATEGORY)
    assert "The record moved to version 2 while this form was open." in answer.text


def test_a_run_that_is_over_asks_no_more(ada: Visitor) -> None:
    cast.run_cancelled()

    assert 'hx-trigger="every' not in ada.get(RUN).html


# ---- a command -----------------------------------------------------------------------------------------------


def test_a_command_is_committed_once_and_the_page_says_so(ada: Visitor) -> None:
    cast.run_received()
    form = drawn(ada) | category("damage")

    answer = ada.post(SET_CATEGORY, form)

    assert answer.status == 303
    assert "Committed as version 2." in ada.get(answer.header("Location")).text
    assert cast.reading("R-42").state.fields["category"] == "damage"


def test_the_answer_to_htmx_is_the_card_and_an_event_that_refreshes_the_rest(ada: Visitor) -> None:
    cast.run_received()

    answer = ada.send(SET_CATEGORY, drawn(ada) | category("damage"))

    assert answer.status == 200
    assert not answer.is_page
    assert "Committed as version 2." in answer.text
    assert answer.header("HX-Trigger") == "run-moved"


def test_a_form_sent_twice_counts_once_and_says_so(ada: Visitor) -> None:
    cast.run_received()
    form = drawn(ada) | category("damage")
    ada.send(SET_CATEGORY, form)

    again = ada.send(SET_CATEGORY, form)
    plain = ada.post(SET_CATEGORY, form)

    assert "This was committed already, as version 2." in again.text
    assert "This was committed already" in ada.get(plain.header("Location")).text
    assert cast.reading("R-42").version == 2


def test_a_form_sent_again_with_other_words_is_refused(ada: Visitor) -> None:
    cast.run_received()
    form = drawn(ada)
    ada.send(SET_CATEGORY, form | category("damage"))

    answer = ada.send(SET_CATEGORY, form | category("delay"))

    assert answer.status == 422
    assert "The id was used for another request. Nothing was applied." in answer.text
    assert cast.reading("R-42").state.fields["category"] == "damage"


def test_somebody_without_the_scope_is_refused_and_changes_nothing() -> None:
    cast.run_received()
    form = drawn(visit(cast.ada())) | category("damage")

    for person in (cast.ben(), cast.dora(), cast.eli()):
        answer = visit(person).send(SET_CATEGORY, form)

        assert answer.status == 403
        assert "The scope is missing. Nothing was applied." in answer.text
    assert cast.reading("R-42").version == 1


def test_a_form_for_something_not_possible_says_why(ada: Visitor) -> None:
    cast.run_working()

    answer = ada.get(RUN, command="reopen-case")

    assert answer.status == 200
    assert "Not possible now. “Open the case again” is possible only while case_state is closed" in answer.text
    assert not answer.has_form("/runs/R-42/commands/reopen-case/")


@pytest.mark.parametrize("path", [SET_CATEGORY, ADD_NOTE])
def test_a_command_is_never_applied_by_a_get(ada: Visitor, path: str) -> None:
    cast.run_received()

    assert ada.get(path, **category("damage")).status == 405
    assert cast.reading("R-42").version == 1


@pytest.mark.parametrize("name", ["expire", "no-such"])
def test_a_command_that_is_not_for_people_is_not_found(ada: Visitor, name: str) -> None:
    cast.run_received()

    assert ada.send(f"/runs/R-42/commands/{name}/", {}).status == 404


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"reason": ""}, "Say why, in a few words."),
        ({"reason": " \n "}, "Say why, in a few words."),
        ({"reason": "\u200b"}, "This must not be blank."),
        ({"reason": "x" * 4001}, "At most 4000 characters."),
        ({"reason": "a\0b"}, "Null characters are not allowed."),
        ({"reason": "use ghp_" + "a" * 36}, "This has the shape of a secret (GitHub token)."),
        ({"params.category": ""}, "This field is required."),
        ({"params.category": '"fire"'}, "Choose one of the values in the list."),
        ({"evidence": "x" * 1001}, "At most 1000 characters."),
        ({"seen": "0.0"}, "This form is not as it was drawn."),
        ({"id": "with blank"}, "This form is not as it was drawn."),
    ],
)
def test_what_is_typed_wrongly_is_said_at_its_field_and_kept(ada: Visitor, typed: dict[str, str], words: str) -> None:
    cast.run_received()

    answer = ada.send(SET_CATEGORY, drawn(ada) | category("damage", **{"reason": "kept words"}) | typed)

    assert answer.status == 422
    assert words in answer.text
    assert "reason" in typed or "kept words" in answer.text
    assert cast.reading("R-42").version == 1


def test_a_value_that_the_schema_refuses_is_told_in_words_at_its_field(ada: Visitor) -> None:
    cast.run_received()
    path = "/runs/R-42/commands/set-refund-amount/"
    form = drawn(ada, "set-refund-amount") | {"params.amount": "45", "reason": "why"}

    answer = ada.post(path, form)

    assert answer.status == 422
    assert answer.is_page
    assert "This is not accepted here. Written like 45.00." in answer.text
    assert answer.form(path)["params.amount"] == "45"


def test_an_item_of_a_log_gets_an_id_and_keeps_its_lines(ada: Visitor) -> None:
    cast.run_received()
    form = drawn(ada, "add-note") | {"params.note.text": "first\r\nsecond ", "reason": "told by phone"}

    ada.post(ADD_NOTE, form)

    (note,) = cast.reading("R-42").state.fields["notes"]
    assert note == {"id": form["params.note.id"], "text": "first\nsecond "}


# ---- a command that is stale -----------------------------------------------------------------------------------


@pytest.fixture
def stale(ada: Visitor) -> dict[str, str]:
    """A form that Ada filled in on version 2; Mara changed the category in version 3."""
    cast.run_working()
    form = drawn(ada) | category("damage")
    cast.command(cast.person_operating("mara"), "R-42", "set-category", category="delay")
    return form


def test_a_stale_form_shows_what_moved_and_applies_nothing(ada: Visitor, stale: dict[str, str]) -> None:
    answer = ada.send(SET_CATEGORY, stale)

    assert answer.status == 412
    assert "The record moved while you were typing. Nothing was applied." in answer.text
    assert "Somebody else has set the category since." in answer.text
    assert "version 2 billing" in answer.text
    assert "version 3 was billing is delay person mara in version 3" in answer.text
    assert "you asked for was billing is damage" in answer.text
    assert cast.reading("R-42").state.fields["category"] == "delay"


def test_a_stale_form_keeps_what_was_typed_and_cannot_be_sent_as_it_is(ada: Visitor, stale: dict[str, str]) -> None:
    answer = ada.send(SET_CATEGORY, stale)

    kept = answer.form(SET_CATEGORY)
    assert kept["reason"] == "Photos show a broken lid."
    assert kept["params.category"] == '"damage"'
    assert "data-decides" not in answer.html
    assert '<button class="button" type="submit" disabled data-refused>' in answer.html


def test_a_stale_form_goes_on_from_the_state_that_was_seen(ada: Visitor, stale: dict[str, str]) -> None:
    moved = ada.send(SET_CATEGORY, stale)

    again = ada.send(SET_CATEGORY, moved.form(SET_CATEGORY) | {"continue_on": "1.3"})
    form = again.form(SET_CATEGORY)
    answer = ada.send(SET_CATEGORY, form)

    assert again.status == 200
    assert form["id"] != stale["id"]
    assert form["reason"] == stale["reason"]
    assert "Committed as version 4." in answer.text


def test_going_on_from_a_state_that_moved_again_is_refused_again(ada: Visitor, stale: dict[str, str]) -> None:
    again = ada.send(SET_CATEGORY, stale | {"continue_on": "1.3"}).form(SET_CATEGORY)
    cast.command(cast.person_operating("mara"), "R-42", "set-category", category="other")

    assert ada.send(SET_CATEGORY, again).status == 412
    assert cast.reading("R-42").state.fields["category"] == "other"


def test_a_stale_form_without_script_is_the_whole_page(ada: Visitor, stale: dict[str, str]) -> None:
    answer = ada.post(SET_CATEGORY, stale)

    assert answer.status == 412
    assert answer.is_page
    assert "Nothing was applied." in answer.text
    assert answer.form(SET_CATEGORY)["reason"] == stale["reason"]


def test_a_stale_form_can_be_handed_to_another_operator(ada: Visitor, stale: dict[str, str]) -> None:
    moved = ada.send(SET_CATEGORY, stale)

    answer = ada.send(SET_CATEGORY, moved.form(SET_CATEGORY) | {"hand_over": "1"})

    assert "Hand it to another operator" in moved.text
    assert answer.status == 200
    assert "Handed over." in answer.text
    assert f"/escalations/{case_of('R-42')}/" in answer.html


def test_a_form_overtaken_by_ones_own_change_is_not_offered_to_others(ada: Visitor) -> None:
    cast.run_received()
    form = drawn(ada) | category("damage")
    cast.command(cast.ada(), "R-42", "set-category", category="delay")

    answer = ada.send(SET_CATEGORY, form)

    assert answer.status == 412
    assert "Your own command" in answer.text
    assert "Hand it to another operator" not in answer.text


def test_a_stale_form_that_loses_nothing_is_merged_and_says_so(ada: Visitor) -> None:
    cast.run_received()
    form = drawn(ada, "add-note") | {"params.note.text": "seen", "reason": "told by phone"}
    cast.command(cast.person_operating("mara"), "R-42", "set-category", category="delay")

    answer = ada.send(ADD_NOTE, form)

    assert (
        "Committed as version 3. Others had changed the record meanwhile; nothing of theirs was touched." in answer.text
    )


def test_a_form_of_an_older_ledger_epoch_is_refused(ada: Visitor) -> None:
    cast.run_received()
    form = drawn(ada) | category("damage", seen="7.1")

    answer = ada.send(SET_CATEGORY, form)

    assert answer.status == 412
    assert cast.reading("R-42").version == 1


# ---- signed out, and hostile ------------------------------------------------------------------------------------


def test_somebody_signed_out_meanwhile_is_told_beside_the_form(ada: Visitor) -> None:
    cast.run_received()
    form = drawn(ada) | category("damage")

    answer = stranger().send(SET_CATEGORY, form)

    assert answer.status == 401
    assert answer.header("HX-Retarget") == "#toasts"
    assert "what you typed is kept" in answer.text
    assert "next=/here/%3Fa%3D1" in answer.html
    assert cast.reading("R-42").version == 1


def test_hostile_text_stays_text_wherever_the_run_shows_it(ada: Visitor) -> None:
    cast.run_received(recipient=HOSTILE[:200])
    cast.command(cast.agent().principal, "R-42", "add-note", note={"id": HOSTILE[:40], "text": HOSTILE})

    for path in (RUN, RUN + "ledger/", RUN + "json/", RUN + "ledger/2/", f"{RUN}?command=set-recipient"):
        html = ada.get(path).html
        assert "<img src=x" not in html
        assert "<b hx-get" not in html
    assert "⟨U+202E⟩" in ada.get(RUN).text


# ---- the ledger, the chain, and JSON ----------------------------------------------------------------------------


def test_the_ledger_is_told_backwards_with_reasons(ada: Visitor) -> None:
    cast.run_working()

    text = ada.get(RUN + "ledger/").text

    assert text.index("Set the category : committed · version 2") < text.index("created the run")
    assert "because the test says so" in text


def test_the_ledger_goes_on_where_its_page_ended(ada: Visitor) -> None:
    cast.run_received()
    for number in range(60):
        cast.command(cast.ada(), "R-42", "add-note", note={"id": f"n{number}", "text": "x"})

    first, second = ada.get(RUN + "ledger/"), ada.get(RUN + "ledger/", before="12")

    assert "?before=12" in first.html
    assert 'id="entry-11"' in second.html
    assert 'id="entry-12"' not in second.html


@pytest.mark.parametrize("before", ["x", "-1", "1e3", "9" * 20])
def test_a_place_in_the_ledger_that_no_link_says_is_not_found(ada: Visitor, before: str) -> None:
    cast.run_received()

    assert ada.get(RUN + "ledger/", before=before).status == 404


def test_the_chain_is_computed_anew_and_found_sound(ada: Visitor) -> None:
    cast.run_working()

    assert "chain sound to entry 2" in ada.get(RUN).text
    assert "chain sound to entry 2" in ada.get(RUN + "chain/").text


def test_everything_is_one_click_away_as_json(ada: Visitor) -> None:
    cast.run_with_open_case()
    cast.command(cast.ada(), "R-42", "add-tag", tag="vip")

    page = ada.get(RUN)
    conflict = page.html.split("/conflicts/")[1].split("/")[0]

    assert '"category": "billing"' in ada.get(RUN + "json/").text
    assert '"kind": "run.created"' in ada.get(RUN + "ledger/1/").text
    assert '"disposition": "escalate"' in ada.get(f"{RUN}conflicts/{conflict}/").text
    assert ada.get("/runs/R-42/ledger/99/").status == 404


def test_a_conflict_of_another_run_is_not_found_here(ada: Visitor) -> None:
    cast.run_with_open_case("R-1")
    cast.run_received("R-2")
    conflict = ada.get("/runs/R-1/").html.split("/conflicts/")[1].split("/")[0]

    assert ada.get(f"/runs/R-2/conflicts/{conflict}/").status == 404


@pytest.mark.parametrize("person", [cast.ada, cast.ben, cast.dora, cast.eli], ids=lambda person: person.__name__)
def test_whoever_sees_the_workflow_reads_all_of_a_run(person: object) -> None:
    cast.run_working()
    visitor = visit(person())  # type: ignore[operator]

    assert {visitor.get(RUN + path).status for path in ("", "ledger/", "chain/", "json/")} == {200}


def test_a_suspended_person_sees_nothing(ada: Visitor) -> None:
    cast.run_received()
    set_person_active("ada", False, cast.SETUP)

    assert ada.get(RUN).status == 302
