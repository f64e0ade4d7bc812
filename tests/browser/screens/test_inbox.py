"""The inbox in the browser: by keys, and kept up to date by itself."""

import re

import pytest
from playwright.sync_api import Page, expect

from runs import claims
from runs.claims import ClaimRequest
from runs.models import Escalation
from runs.refusals import escalation_ref
from runs.values import Principal
from tests import cast
from tests.browser.screens.conftest import SignIn, refresh


@pytest.fixture
def bot(live: str, sign_in: SignIn) -> Principal:
    """An agent whose two proposals wait; Mara, an operator, is signed in."""
    mara, bot = cast.person_operating("mara"), cast.agent().principal
    cast.run_with_open_case("R-1", bot)
    cast.run_with_open_amount("R-2", bot)
    sign_in(mara)
    return bot


def test_keys_move_through_the_inbox_and_open_a_case(page: Page, bot: Principal) -> None:
    page.goto("/")

    for key in ("j", "j", "k"):
        page.keyboard.press(key)
    expect(page.locator(".row-link").first).to_be_focused()
    page.keyboard.press("Enter")

    expect(page.locator("h1")).to_contain_text("proposed refund_amount")


def test_a_case_that_comes_meanwhile_appears_and_is_counted(page: Page, bot: Principal) -> None:
    page.goto("/")
    page.keyboard.press("j")
    cast.run_with_open_case("R-3", bot)

    refresh(page, "#inbox-live")

    expect(page.locator(".row-link")).to_have_count(3)
    expect(page.locator("#count-inbox")).to_have_text("3")
    expect(page.locator(".row-link").first).to_be_focused()


def test_a_holder_is_shown_without_a_reload(page: Page, bot: Principal) -> None:
    page.goto("/")
    case = Escalation.objects.get(run__key="R-1")
    claims.claim(cast.person_operating("jo"), escalation_ref(case.pk), ClaimRequest("c-1"))

    refresh(page, "#inbox-live")

    expect(page.locator(".inbox")).to_contain_text("jo")


def test_times_are_told_as_people_say_them_with_the_exact_one_on_hover(page: Page, bot: Principal) -> None:
    page.goto("/")

    due = page.locator(".due time").first
    expect(due).to_have_text(re.compile(r"in (1 hr|60 min|59 min)\."))
    assert due.get_attribute("title")
