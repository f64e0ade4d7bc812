"""A run in the browser: forms by keyboard, pressed twice, overtaken while open, and after signing out elsewhere."""

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, expect

from runs.values import Principal
from tests import cast
from tests.browser.screens.conftest import SignIn, refresh, settle

RUN = "/runs/R-42/"
CATEGORY = "[name='params.category']"


@pytest.fixture
def mara(live: str, sign_in: SignIn) -> Principal:
    """An operator, signed in; R-42 is at version 2 and billed."""
    mara = cast.person_operating("mara")
    cast.run_working()
    sign_in(mara)
    return mara


def open_form(page: Page, title: str = "Set the category") -> None:
    page.goto(RUN)
    page.get_by_role("link", name=title).click()
    expect(page.locator("#command form")).to_be_visible()
    settle(page)


def category() -> str:
    return str(cast.reading("R-42").state.fields["category"])


def test_a_command_is_given_with_the_keyboard_alone(page: Page, mara: Principal) -> None:
    page.goto(RUN)
    page.get_by_role("link", name="Set the category").focus()
    page.keyboard.press("Enter")
    page.locator(CATEGORY).focus()
    page.keyboard.type("dam")
    for _ in "12":
        page.keyboard.press("Tab")
    page.keyboard.type("Photos show a broken lid.")
    settle(page)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(page.locator("#command")).to_contain_text("Committed as version 3.")
    expect(page.locator("#command .note")).to_be_focused()
    expect(page.locator("#announcer")).to_contain_text("Committed as version 3.")
    assert category() == "damage"


def test_the_rest_of_the_page_follows_a_commit_at_once(page: Page, mara: Principal) -> None:
    open_form(page)
    page.select_option(CATEGORY, label="damage")
    page.fill("[name=reason]", "seen")
    page.locator("#command [data-decides]").click()

    expect(page.locator("#run-head")).to_contain_text("version 3")
    expect(page.locator(".record")).to_contain_text("damage")
    expect(page.locator("#entry-3")).to_contain_text("Set the category")


def test_a_double_click_commits_once(page: Page, mara: Principal) -> None:
    open_form(page)
    page.select_option(CATEGORY, label="damage")
    page.fill("[name=reason]", "seen")

    page.locator("#command [data-decides]").dblclick()

    expect(page.locator("#command")).to_contain_text("ommitted")
    expect(page.locator("#run-head")).to_contain_text("version 3")
    assert cast.reading("R-42").version == 3


def test_nothing_is_decided_in_the_first_half_second_after_a_swap(page: Page, mara: Principal) -> None:
    page.goto(RUN)
    page.evaluate("""() => document.addEventListener("htmx:after:swap", () => {
        document.querySelector("#command [name=reason]").value = "too quick";
        document.querySelector("#command [data-decides]").click();
    }, { once: true })""")

    page.get_by_role("link", name="Count a contact attempt").click()

    expect(page.locator("#announcer")).to_contain_text("The page has just changed.")
    assert cast.reading("R-42").version == 2


def test_a_form_that_was_overtaken_keeps_what_was_typed_and_asks_for_a_look(page: Page, mara: Principal) -> None:
    open_form(page)
    page.select_option(CATEGORY, label="damage")
    page.fill("[name=reason]", "Photos show a broken lid.")
    cast.command(cast.ada(), "R-42", "set-category", category="delay")

    refresh(page, "#run-live")
    expect(page.locator("#command-age")).to_contain_text("The record moved to version 3")
    expect(page.locator("[name=reason]")).to_have_value("Photos show a broken lid.")
    page.locator("#command [data-decides]").click()

    expect(page.locator("#command")).to_contain_text("Nothing was applied.")
    expect(page.locator("#command .moved")).to_contain_text("delay")
    expect(page.locator("[name=reason]")).to_have_value("Photos show a broken lid.")
    expect(page.locator("#command button[disabled]")).to_have_text("Set the category")
    assert category() == "delay"

    settle(page)
    page.get_by_role("button", name="I have seen version 3").click()
    expect(page.locator("#command header")).to_contain_text("on version 3")
    expect(page.locator("[name=reason]")).to_have_value("Photos show a broken lid.")
    settle(page)
    page.locator("#command [data-decides]").click()
    expect(page.locator("#command")).to_contain_text("Committed as version 4.")
    assert category() == "damage"


def test_what_somebody_folded_open_stays_open_through_a_refresh(page: Page, mara: Principal) -> None:
    page.goto(RUN)
    page.locator("#run-steps summary").click()
    cast.command(cast.ada(), "R-42", "add-tag", tag="vip")

    refresh(page, "#run-live")

    expect(page.locator(".record")).to_contain_text("vip")
    assert page.locator("#run-steps details").evaluate("each => each.open")


def test_a_refresh_keeps_what_is_being_typed(page: Page, mara: Principal) -> None:
    open_form(page, "Add an internal note")
    page.locator("[name='params.note.text']").press_sequentially("half a sen")
    cast.command(cast.ada(), "R-42", "add-tag", tag="vip")

    refresh(page, "#run-live")
    page.locator("[name='params.note.text']").press_sequentially("tence")

    expect(page.locator(".record")).to_contain_text("vip")
    expect(page.locator("[name='params.note.text']")).to_have_value("half a sentence")


def test_somebody_signed_out_elsewhere_loses_nothing_that_was_typed(
    page: Page, mara: Principal, sign_in: SignIn
) -> None:
    open_form(page, "Add an internal note")
    page.fill("[name='params.note.text']", "The parcel was packed without padding.")
    page.fill("[name=reason]", "called the warehouse")
    Session.objects.all().delete()

    page.locator("#command [data-decides]").click()

    expect(page.locator("#toasts")).to_contain_text("Sign in again.")
    expect(page.locator("[name=reason]")).to_have_value("called the warehouse")
    sign_in(mara)
    page.goto(f"{RUN}?command=add-note")
    expect(page.locator("[name='params.note.text']")).to_have_value("The parcel was packed without padding.")
    assert cast.reading("R-42").version == 2


def test_a_page_that_is_shared_opens_the_same_form(page: Page, mara: Principal) -> None:
    open_form(page)

    assert page.url.endswith("/runs/R-42/?command=set-category")
    page.reload()
    expect(page.locator("#command form")).to_be_visible()


@pytest.mark.parametrize("context", ["no script"], indirect=True)
def test_everything_works_without_script(page: Page, mara: Principal) -> None:
    page.goto(RUN)
    page.get_by_role("link", name="Set the category").click()
    page.select_option(CATEGORY, label="damage")
    page.fill("[name=reason]", "seen")
    page.get_by_role("button", name="Set the category").click()

    expect(page.locator("#command")).to_contain_text("Committed as version 3.")
    page.reload()
    expect(page.locator("#command")).to_contain_text("Committed as version 3.")
    assert cast.reading("R-42").version == 3


def test_a_run_is_found_from_anywhere_by_its_key(page: Page, mara: Principal) -> None:
    page.goto("/")
    page.keyboard.press("/")
    page.keyboard.type("R-4")
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/?q=R-4")
    page.keyboard.press("j")
    page.keyboard.press("Enter")

    page.wait_for_url(f"**{RUN}")
