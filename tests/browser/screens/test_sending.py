"""The banner while nothing is sent, in a real browser: readable for everybody, and gone by itself."""

import pytest
from django.core.cache import caches
from playwright.sync_api import Page, expect

from outbox import pulse
from tests import cast
from tests.browser.screens.conftest import SignIn, faults
from tests.processes import wait_until


@pytest.mark.parametrize("context", ["desk", "phone dark"], indirect=True)
def test_while_no_worker_looks_the_page_says_so_and_stops_by_itself_when_one_does(page: Page, sign_in: SignIn) -> None:
    sign_in(cast.ada())
    banner = page.get_by_role("complementary", name="Sending")

    def is_told() -> bool:
        page.goto("/effects/")
        return banner.is_visible()

    caches["broker"].delete(pulse.KEY)
    wait_until(is_told, "the banner")
    expect(banner).to_contain_text("Nothing is sent at the moment")
    assert faults(page, ["/effects/"]) == {}

    pulse.beat()
    expect(banner).to_have_count(0, timeout=25_000)
