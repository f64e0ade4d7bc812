"""Every part of the console in a real browser: accessible in all themes, whole on a phone, and quiet."""

from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, ViewportSize, expect

from console.context import THEME_COOKIE, THEMES
from tests.browser import gallery

pytestmark = pytest.mark.usefixtures("gallery_settings")

SIZES: dict[str, ViewportSize] = {
    "desk": {"width": 1440, "height": 900},
    "phone": {"width": 390, "height": 844},
}
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
PATHS = [f"/gallery/{name}/" for name in gallery.PAGES]
PATHS += ["/accounts/login/", "/accounts/password/reset/", "/accounts/signup/"]


@pytest.fixture(params=SIZES)
def context(request: pytest.FixtureRequest, browser: Browser) -> Iterator[BrowserContext]:
    """A window of the size of a desk or of a phone, with the gallery behind it."""
    is_phone = request.param == "phone"
    opened = browser.new_context(
        base_url=gallery.ORIGIN, viewport=SIZES[request.param], has_touch=is_phone, is_mobile=is_phone
    )
    gallery.attach(opened)
    yield opened
    opened.close()


@pytest.fixture
def complaints(context: BrowserContext) -> list[str]:
    """What the browser had to say: errors, refused resources, violations of the policy."""
    heard: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            heard.append(message.text)

    context.on("console", hear)
    context.on("weberror", lambda error: heard.append(str(error.error)))
    return heard


def findings(page: Page) -> list[str]:
    violations: list[dict[str, Any]] = Axe().run(page, options=RULES).response["violations"]
    return [f"{found['id']}: {node['html'][:160]}" for found in violations for node in found["nodes"]]


def looked_at(context: BrowserContext, theme: str, paths: list[str]) -> dict[str, list[str]]:
    """What axe finds on these pages in this theme, by page."""
    context.add_cookies([{"name": THEME_COOKIE, "value": theme, "url": gallery.ORIGIN}])
    page = context.new_page()
    found = {}
    for path in paths:
        page.goto(path)
        found[path] = findings(page)
    return {path: faults for path, faults in found.items() if faults}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_is_accessible_and_quiet(context: BrowserContext, complaints: list[str], theme: str) -> None:
    assert looked_at(context, theme, PATHS) == {}
    assert complaints == []


@pytest.mark.parametrize("theme", sorted(set(THEMES) - {"auto", "light", "dark"}))
@pytest.mark.parametrize("context", ["desk"], indirect=True)
def test_every_theme_is_accessible(context: BrowserContext, theme: str) -> None:
    assert looked_at(context, theme, ["/gallery/parts/", "/gallery/moved/", "/accounts/login/"]) == {}


def test_no_page_is_wider_than_the_screen(context: BrowserContext) -> None:
    page = context.new_page()

    overflow = {}
    for path in PATHS:
        page.goto(path)
        overflow[path] = page.evaluate("document.documentElement.scrollWidth - innerWidth")

    assert {path: pixels for path, pixels in overflow.items() if pixels > 0} == {}


@pytest.mark.parametrize("context", ["phone"], indirect=True)
def test_every_target_on_a_phone_is_large_enough(context: BrowserContext) -> None:
    page = context.new_page()
    page.goto("/gallery/review/")

    heights = page.eval_on_selector_all(
        ".button, .choice, .menu-button", "all => all.filter(e => e.offsetParent).map(e => e.offsetHeight)"
    )

    assert min(heights) >= 44


@pytest.mark.parametrize("context", ["phone"], indirect=True)
def test_the_decision_stays_in_reach_on_a_phone(context: BrowserContext) -> None:
    page = context.new_page()
    page.goto("/gallery/conflict/")

    box = page.locator(".decision-bar").bounding_box()

    assert box is not None
    assert box["y"] + box["height"] == SIZES["phone"]["height"]


def test_text_from_an_agent_stays_text_inside_its_frame(context: BrowserContext, complaints: list[str]) -> None:
    requested: list[str] = []
    page = context.new_page()
    page.goto("/gallery/parts/", wait_until="networkidle")
    page.on("request", lambda request: requested.append(request.url))

    frame = page.locator(".agent-text")
    frame.locator(".body").click()

    expect(frame.locator(".body")).to_contain_text("<b hx-get='/x'>✔ verified by policy</b>")
    expect(frame.locator(".body b, .body a, .body img, .body [onclick]")).to_have_count(0)
    expect(frame.locator(".found")).to_contain_text("turn the reading direction around")
    assert requested == []
    assert complaints == []
