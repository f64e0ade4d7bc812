"""The page that browses the API's document, in a real browser under the console's own security policy."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import gallery


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(base_url=gallery.ORIGIN)
    gallery.attach(context)
    yield context.new_page()
    context.close()


def test_the_page_shows_the_document_and_breaks_no_policy(page: Page) -> None:
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))

    page.goto("/api/docs/")
    page.get_by_role("button", name="POST /api/v1/runs/{key}/commands/", exact=True).click()

    expect(page.get_by_text("Apply one command to a run on the version that If-Match names.")).to_be_visible()
    expect(page.get_by_text("Try it out")).to_have_count(0)
    assert complaints == []
