"""The console's own scripts: htmx locked down, keys that only move, drafts that survive, times people can read."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, Route, expect

from tests.browser import gallery

pytestmark = pytest.mark.usefixtures("gallery_settings")

PARTS = "/gallery/parts/"
INBOX = "/gallery/inbox/"
CONFLICT = "/gallery/conflict/"


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    gallery.attach(context)
    page = context.new_page()
    page.set_default_timeout(5_000)
    yield page


def plant(page: Page, html: str) -> None:
    """Put HTML into the page as if it had come from the server, and let htmx see it."""
    page.evaluate(
        "html => { const box = document.createElement('div'); box.innerHTML = html;"
        " document.querySelector('.stack').append(box); htmx.process(box) }",
        html,
    )


def answering(page: Page, html: str, *, status: int = 200, content_type: str = "text/html") -> list[Request]:
    """Answer requests for /answer with this; the requests that came."""
    seen: list[Request] = []

    def answer(route: Route) -> None:
        seen.append(route.request)
        route.fulfill(status=status, body=html, content_type=content_type)

    page.route("**/answer", answer)
    return seen


# ---- htmx ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "html",
    [
        '<button id="bait" hx-on:click="window.ran = true">press</button>',
        '<button id="bait" hx-post="/answer" hx-vals="js:{x: (window.ran = true)}">press</button>',
        '<button id="bait" hx-get="/answer" hx-trigger="click[window.ran = true]">press</button>',
        '<button id="bait" hx-get="js:window.ran = true">press</button>',
        '<button id="bait" data-hx-on:click="window.ran = true">press</button>',
    ],
)
def test_htmx_evaluates_no_code(page: Page, html: str) -> None:
    page.goto(PARTS)
    answering(page, "")
    plant(page, html)

    page.click("#bait")

    assert page.evaluate("window.ran") is None


def test_a_script_that_comes_with_a_fragment_is_dropped(page: Page) -> None:
    page.goto(PARTS)
    answering(page, '<p id="bait">done<script src="/static/js/times.js"></script></p>')
    plant(page, '<p id="bait" hx-get="/answer" hx-trigger="click">press</p>')

    page.click("#bait")

    expect(page.locator("#bait")).to_have_text("done")
    assert page.locator("#bait script").count() == 0


def test_an_answer_that_is_no_html_is_not_swapped_in(page: Page) -> None:
    page.goto(PARTS)
    answering(page, "<b>agent text</b>", content_type="text/plain")
    plant(page, '<button id="bait" hx-get="/answer">press</button>')

    page.click("#bait")

    expect(page.locator("#toasts")).to_contain_text("cannot be shown here")
    expect(page.locator("#bait")).to_have_text("press")


def test_no_request_leaves_for_another_origin(page: Page) -> None:
    left: list[str] = []
    page.goto(PARTS)
    page.on("request", lambda request: left.append(request.url))
    plant(page, '<button id="bait" hx-get="https://elsewhere.test/x" hx-config="mode:\'cors\'">press</button>')

    page.click("#bait")
    expect(page.locator("#bait")).to_have_text("press")

    assert [url for url in left if "elsewhere" in url] == []


def test_untrusted_regions_are_ignored_by_htmx(page: Page) -> None:
    page.goto(PARTS)
    seen = answering(page, "")
    plant(page, '<div hx-ignore><button id="bait" hx-get="/answer">press</button></div>')

    page.click("#bait")

    assert seen == []


def test_a_post_carries_the_token_and_a_conflict_is_shown(page: Page) -> None:
    page.goto(PARTS)
    seen = answering(page, '<form id="bait" hx-post="/answer"><b>moved</b></form>', status=412)
    plant(page, '<form id="bait" hx-post="/answer"><button>press</button></form>')

    page.click("#bait button")

    expect(page.locator("#bait")).to_have_text("moved")
    assert seen[0].headers["x-csrftoken"]


def test_nothing_of_a_page_stays_in_the_browsers_storage(page: Page) -> None:
    page.goto(CONFLICT)

    assert page.evaluate("[localStorage.length, sessionStorage.length]") == [0, 0]


# ---- after a swap ----------------------------------------------------------------------------------------------

DECISION = '<form id="bait" hx-post="/answer" hx-swap="outerHTML"><button id="go" data-decides>decide</button></form>'


def test_a_decision_is_inert_just_after_the_page_changed(page: Page) -> None:
    page.clock.install()
    page.goto(PARTS)
    seen = answering(page, DECISION)
    plant(page, DECISION)
    page.click("#go")
    page.wait_for_function("document.querySelector('#bait')?._htmx?.initialized")

    page.evaluate("document.querySelector('#go').click()")

    expect(page.locator("#announcer")).to_contain_text("just changed")
    assert len(seen) == 1

    page.clock.fast_forward(600)
    with page.expect_request("**/answer"):
        page.click("#go")
    assert len(seen) == 2


def test_focus_goes_to_what_changed_and_it_is_announced(page: Page) -> None:
    page.goto(PARTS)
    answering(page, '<div id="bait"><p id="news" data-focus-after-swap data-announce>Version 23.</p></div>')
    plant(page, '<div id="bait"><button hx-get="/answer" hx-target="#bait">press</button></div>')

    page.click("#bait button")

    expect(page.locator("#news")).to_be_focused()
    expect(page.locator("#announcer")).to_have_text("Version 23.")


def test_a_record_that_moved_turns_the_decision_off(page: Page) -> None:
    page.goto("/gallery/moved/")

    expect(page.locator("[data-decides]")).to_have_attribute("aria-disabled", "true")

    page.fill("#reason", "It was me.")
    page.click("[data-decides]", force=True)
    expect(page.locator("#announcer")).to_contain_text("cannot be decided")


# ---- polling ---------------------------------------------------------------------------------------------------


def test_polling_rests_in_a_hidden_tab_and_catches_up(page: Page) -> None:
    page.goto(PARTS)
    seen = answering(page, '<p id="bait" hx-get="/answer" hx-trigger="every 60s">fresh</p>')
    plant(page, '<p id="bait" hx-get="/answer" hx-trigger="every 60s">old</p>')
    hide = "value => { Object.defineProperty(document, 'hidden', {configurable: true, get: () => value}) }"

    page.evaluate(hide, True)
    page.evaluate("document.querySelector('#bait').dispatchEvent(new CustomEvent('every'))")
    assert seen == []

    page.evaluate(hide, False)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator("#bait")).to_have_text("fresh")


# ---- keys ------------------------------------------------------------------------------------------------------


def test_keys_move_through_a_list_and_enter_opens(page: Page) -> None:
    page.goto(INBOX)

    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")

    expect(page.locator(".row-link").first).to_be_focused()


def test_slash_searches_and_a_question_mark_shows_the_keys(page: Page) -> None:
    page.goto(INBOX)

    page.keyboard.press("/")
    expect(page.locator("#site-search")).to_be_focused()
    page.keyboard.type("jk?")
    expect(page.locator("#site-search")).to_have_value("jk?")

    page.locator("h1").click()
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()


def test_g_and_a_letter_lead_to_a_queue(page: Page) -> None:
    page.goto(INBOX)

    page.keyboard.press("g")
    page.keyboard.press("e")

    page.wait_for_url("**/inbox/?queue=escalations")


def test_single_keys_can_be_turned_off_for_good(page: Page) -> None:
    page.goto(INBOX)
    page.keyboard.press("?")
    page.locator("[data-keys-switch]").uncheck()
    page.reload()

    page.keyboard.press("j")
    page.keyboard.press("?")

    expect(page.locator(".row-link").first).not_to_be_focused()
    expect(page.locator("#keys")).not_to_be_visible()


def test_no_key_decides(page: Page) -> None:
    page.goto(CONFLICT)
    page.fill("#reason", "because")
    page.locator("h1").click()
    posted: list[str] = []
    page.on("request", lambda request: posted.append(request.method))

    for key in "abcdefghijklmnopqrstuvwxyz0123456789":
        if key != "g":
            page.keyboard.press(key)
    page.keyboard.press("Enter")

    assert "POST" not in posted


# ---- comfort ---------------------------------------------------------------------------------------------------


def test_a_theme_is_kept_and_drawn_by_the_server(page: Page) -> None:
    page.goto(INBOX)
    page.click("[popovertarget=account-menu]")
    page.select_option("[data-theme-choice]", "dark")
    page.reload()

    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"


def test_times_are_told_as_people_say_them_with_the_exact_time_on_hover(page: Page) -> None:
    page.goto(INBOX)

    time = page.locator("time").first

    expect(time).to_have_text("12 min. ago")
    assert "20" in (time.get_attribute("title") or "")


def test_a_draft_survives_a_reload_and_goes_when_it_was_accepted(page: Page) -> None:
    page.goto(CONFLICT)
    page.fill("#reason", "Second item was returned.")

    page.reload()
    expect(page.locator("#reason")).to_have_value("Second item was returned.")

    page.evaluate(
        "const f = document.querySelector('[data-draft]'); f.setAttribute('hx-post', '/answer'); htmx.process(f)"
    )
    answering(page, "<p>settled</p>")
    page.click("[data-decides]")
    expect(page.get_by_text("settled")).to_be_visible()
    page.goto(CONFLICT)
    expect(page.locator("#reason")).to_have_value("")


def test_a_form_that_stays_after_it_was_accepted_begins_anew_and_one_that_only_asked_keeps_its_words(
    page: Page,
) -> None:
    page.goto(PARTS)
    plant(
        page,
        '<form data-draft="x" hx-post="/answer" hx-target="#told"><input type="text" name="why" id="why">'
        '<button id="asks" formnovalidate>Preview</button><button id="sends">Send</button></form><p id="told"></p>',
    )
    answering(page, '<p id="told">answered</p>')
    page.fill("#why", "Because.")

    page.click("#asks")
    expect(page.locator("#told")).to_contain_text("answered")
    expect(page.locator("#why")).to_have_value("Because.")

    page.click("#sends")
    expect(page.locator("#why")).to_have_value("")


def test_a_draft_survives_being_signed_out(page: Page) -> None:
    page.goto(CONFLICT)
    page.fill("#reason", "Second item was returned.")
    page.evaluate("document.querySelector('[data-draft]').dispatchEvent(new Event('submit', {bubbles: true}))")

    page.goto("/accounts/login/")
    page.goto(CONFLICT)

    expect(page.locator("#reason")).to_have_value("Second item was returned.")


def test_everything_but_comfort_is_there_without_script(browser: Browser) -> None:
    plain = browser.new_context(base_url=gallery.ORIGIN, java_script_enabled=False)
    gallery.attach(plain)
    page = plain.new_page()

    page.goto(CONFLICT)

    expect(page.locator("[data-decides]")).to_be_enabled()
    expect(page.locator("time").first).to_contain_text("UTC")
    assert page.locator(".needs-js:visible").count() == 0
    plain.close()
