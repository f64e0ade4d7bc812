"""A conflict case in the browser: settled by keyboard, moved while it is read, on a phone, and by somebody else."""

import pytest
from playwright.sync_api import Page, expect

from runs.escalations import ResolutionRequest, resolve
from runs.models import Escalation
from runs.refusals import escalation_ref
from runs.values import Principal
from runs.verbs import Verb
from tests import cast
from tests.browser.screens.conftest import SignIn, refresh, settle

BUTTON = "#settle [data-decides]"


@pytest.fixture
def case(live: str, sign_in: SignIn) -> str:
    """The address of a case about an amount; Mara, who has no side in it, is signed in."""
    cast.run_with_open_amount()
    mara = cast.person_operating("mara")
    sign_in(mara)
    return f"/escalations/{escalation_ref(Escalation.objects.get().pk)}/"


def amount() -> str:
    return str(cast.reading("R-42").state.fields["refund_amount"])


def jo() -> Principal:
    return cast.person_operating("jo")


def test_a_case_is_settled_with_the_keyboard_alone(page: Page, case: str) -> None:
    page.goto(case)
    page.locator("[name=verb]").first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    expect(page.locator("#settle-reason")).to_be_focused()
    page.keyboard.type("The policy table is older than the call.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(page.locator("#settle")).to_contain_text("kept the record; the proposal is rejected")
    assert Escalation.objects.get().state == "settled"


def test_the_button_says_what_it_will_do(page: Page, case: str) -> None:
    page.goto(case)
    names = []
    for verb in ("keep", "apply", "amend", "send-back"):
        page.check(f"[value={verb}]")
        names.append(page.locator(BUTTON).inner_text())

    assert names == ["Keep 30.00", "Apply 45.00", "Amend and apply", "Send back"]


def test_a_choice_opens_exactly_what_it_would_do(page: Page, case: str) -> None:
    page.goto(case)

    page.check("[value=apply]")

    shown = page.locator(".choice-more:visible")
    expect(shown).to_have_count(1)
    expect(shown).to_contain_text("R-42 becomes version 3")


def test_nothing_is_chosen_and_nothing_is_sent_without_a_choice(page: Page, case: str) -> None:
    page.goto(case)
    page.fill("#settle-reason", "quick")

    page.locator(BUTTON).click()

    assert page.locator("[name=verb]:checked").count() == 0
    assert Escalation.objects.get().state == "open"


def test_an_amendment_is_previewed_and_then_applied(page: Page, case: str) -> None:
    page.goto(case)
    page.check("[value=amend]")
    page.fill("[name='amend-params.amount']", "40.00")
    page.fill("#settle-reason", "Split the difference.")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#amend-preview")).to_contain_text("Against the proposal:")
    assert amount() == "30.00"

    settle(page)
    page.locator(BUTTON).click()

    expect(page.locator("#settle")).to_contain_text("amended the proposal and applied it")
    assert amount() == "40.00"


def test_a_record_that_moves_while_it_is_read_stops_the_decision_until_it_was_seen(page: Page, case: str) -> None:
    page.goto(case)
    page.check("[value=apply]")
    page.fill("#settle-reason", "The policy table says so.")
    cast.command(cast.ada(), "R-42", "set-refund-amount", amount="31.00", currency="EUR")

    refresh(page, "#case-live")
    expect(page.locator("#settle-age")).to_contain_text("The record moved while you read: refund_amount.")
    expect(page.locator(".compare")).to_contain_text("31.00")
    expect(page.locator(BUTTON)).to_have_attribute("aria-disabled", "true")
    settle(page)
    page.locator(BUTTON).click(force=True)  # as somebody would who does not see that it is off
    expect(page.locator("#announcer")).to_contain_text("This cannot be decided as it stands.")
    assert amount() == "31.00"

    page.get_by_role("button", name="I have seen version 3").click()
    expect(page.locator("#settle header")).to_contain_text("on version 3")
    expect(page.locator("#settle-reason")).to_have_value("The policy table says so.")
    settle(page)
    page.locator(BUTTON).click()
    expect(page.locator("#settle")).to_contain_text("applied the proposal")
    assert amount() == "45.00"


def test_a_record_that_moves_unseen_refuses_the_decision_and_keeps_the_words(page: Page, case: str) -> None:
    page.goto(case)
    page.check("[value=keep]")
    page.fill("#settle-reason", "The policy table says so.")
    cast.command(cast.ada(), "R-42", "set-refund-amount", amount="31.00", currency="EUR")

    page.locator(BUTTON).click()

    expect(page.locator("#settle")).to_contain_text("The record moved while you read: refund_amount.")
    expect(page.locator("#settle-reason")).to_have_value("The policy table says so.")
    expect(page.locator("[value=keep]")).to_be_checked()
    assert Escalation.objects.get().state == "open"


def test_a_double_click_settles_once(page: Page, case: str) -> None:
    page.goto(case)
    page.check("[value=apply]")
    page.fill("#settle-reason", "The policy table says so.")

    page.locator(BUTTON).dblclick()

    expect(page.locator("#settle")).to_contain_text("applied the proposal")
    assert cast.reading("R-42").version == 3


def test_a_case_settled_by_somebody_else_says_so_and_keeps_the_words(page: Page, case: str) -> None:
    page.goto(case)
    page.check("[value=apply]")
    page.fill("#settle-reason", "My own thought.")
    resolve(jo(), case.split("/")[2], ResolutionRequest("r-1", Verb.KEEP, "So it is.", 2, 1))

    refresh(page, "#case-live")

    expect(page.locator("#settle-age")).to_contain_text("This case was settled meanwhile.")
    expect(page.locator("#settle-reason")).to_have_value("My own thought.")
    expect(page.locator(BUTTON)).to_have_attribute("aria-disabled", "true")
    assert amount() == "30.00"


def test_a_case_is_held_and_released_without_losing_what_was_typed(page: Page, case: str) -> None:
    page.goto(case)
    page.fill("#settle-reason", "half a thought")

    page.get_by_role("button", name="Claim for 15 min").click()
    expect(page.locator("#holder")).to_contain_text("You hold this case")
    page.get_by_role("button", name="Release").click()
    expect(page.locator("#holder")).to_contain_text("Nobody holds this case")

    expect(page.locator("#settle-reason")).to_have_value("half a thought")


@pytest.mark.parametrize("context", ["phone"], indirect=True)
def test_the_decision_stays_in_reach_on_a_phone(page: Page, case: str) -> None:
    page.goto(case)

    bar = page.locator(".decision-bar").bounding_box()

    assert bar is not None and page.viewport_size is not None
    assert bar["y"] + bar["height"] == page.viewport_size["height"]
    page.get_by_role("link", name="choose, and say why").click()
    page.locator("[value=keep]").tap()
    page.fill("#settle-reason", "On call.")
    page.locator(BUTTON).tap()
    expect(page.locator("#settle")).to_contain_text("kept the record")


@pytest.mark.parametrize("context", ["no script"], indirect=True)
def test_a_case_is_settled_without_script(page: Page, case: str) -> None:
    page.goto(case)
    page.check("[value=amend]")
    page.fill("[name='amend-params.amount']", "40.00")
    page.fill("#settle-reason", "Split the difference.")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#amend-preview")).to_contain_text("Against the proposal:")
    page.locator(BUTTON).click()

    expect(page.locator("#settle")).to_contain_text("amended the proposal and applied it")
    assert amount() == "40.00"
