"""The insights in a real browser: effects that went well, one of which nobody knows, and one that is overdue."""

import pytest
from playwright.sync_api import Page, expect

from tests import cast, review
from tests.browser.screens.conftest import SignIn, faults
from tests.outbox import settling


@pytest.fixture
def effects(live: str) -> None:
    """One payment that arrived, one that may have arrived, and one that nobody has sent."""
    review.destination("payments", recognises_repeats=False, key_retention_seconds=None)
    settling.succeed(settling.let_pass(review.refund_approved("R-1"), seconds=30))
    settling.attempt(settling.let_pass(review.refund_approved("R-2"), seconds=30), settling.UNKNOWN)
    settling.let_pass(review.refund_approved("R-3"), minutes=5)


@pytest.mark.usefixtures("effects")
@pytest.mark.parametrize("context", ["desk", "desk dark", "phone", "phone dark"], indirect=True)
def test_insights_are_accessible_quiet_and_no_wider_than_the_screen(
    page: Page, sign_in: SignIn, complaints: list[str]
) -> None:
    sign_in(cast.ada())

    assert faults(page, ["/insights/", "/insights/?span=day", "/insights/?workflow=refund"]) == {}
    assert complaints == []


@pytest.mark.usefixtures("effects")
def test_what_is_overdue_is_reached_by_the_keyboard(page: Page, sign_in: SignIn) -> None:
    sign_in(cast.ada())
    page.goto("/insights/")

    page.get_by_role("button", name="Show").focus()
    page.keyboard.press("Tab")
    overdue = page.get_by_role("link", name="R-3:pay:v4")
    expect(overdue).to_be_focused()
    page.keyboard.press("Enter")

    expect(page).to_have_url("/effects/R-3:pay:v4/")
