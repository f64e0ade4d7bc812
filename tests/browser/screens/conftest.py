"""The console as it really runs: its own process, in the application's role, before a real browser."""

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

from console.context import THEME_COOKIE
from outbox import pulse
from runs.models import Installation, Person
from runs.states import Role
from runs.values import Principal
from tests import cast
from tests.browser.test_gallery import RULES, SIZES

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_SECONDS = 30
#: What a finger needs, in CSS pixels.
LEAST_HEIGHT = 44

SignIn = Callable[[Principal], None]


@pytest.fixture(scope="session")
def server(process_environment: dict[str, str]) -> Iterator[str]:
    """One web process for the session; the address it answers at."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "--threads", "4"]
    command += ["--no-control-socket", "--graceful-timeout", "1", "console.wsgi"]
    process = subprocess.Popen(
        command, cwd=ROOT, env=process_environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _await_answer(f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def _await_answer(address: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        try:
            with urlopen(f"{address}/accounts/login/", timeout=5):
                return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"The console did not answer within {PATIENCE_SECONDS} seconds.")


@pytest.fixture
def live(transactional_db: None, server: str) -> str:
    """The console over the empty database of this test, while the sweep is at work.

    Every test begins with a higher authority epoch, so that the process takes nothing for known that it read before.
    """
    Installation.objects.update(authority_epoch=time.time_ns() // 1_000)
    pulse.beat()
    return server


@pytest.fixture(params=["desk"])
def context(request: pytest.FixtureRequest, browser: Browser, live: str) -> Iterator[BrowserContext]:
    """A browser at a desk, or with `indirect` on a phone or without script."""
    with opened(browser, live, request.param) as window:
        yield window


@contextmanager
def opened(browser: Browser, live: str, kind: str) -> Iterator[BrowserContext]:
    """A browser with cookies of its own; `kind` says where: "phone dark" or "desk no script"."""
    size = "phone" if "phone" in kind else "desk"
    window = browser.new_context(
        base_url=live,
        viewport=SIZES[size],
        has_touch=size == "phone",
        is_mobile=size == "phone",
        java_script_enabled="no script" not in kind,
    )
    if "dark" in kind:
        window.add_cookies([{"name": THEME_COOKIE, "value": "dark", "url": live}])
    window.set_default_timeout(10_000)
    yield window
    window.close()


@pytest.fixture
def complaints(context: BrowserContext) -> list[str]:
    """What the browser had to say; an answer that refuses is no complaint."""
    heard: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            heard.append(message.text)

    context.on("console", hear)
    context.on("weberror", lambda error: heard.append(str(error.error)))
    return heard


@pytest.fixture
def sign_in(context: BrowserContext, live: str) -> SignIn:
    """Sign somebody in."""
    return lambda principal: enter(context, live, principal)


def enter(window: BrowserContext, live: str, principal: Principal) -> None:
    """Sign somebody in, by the cookie that signing in would have given."""
    client = Client()
    client.force_login(Person.objects.get(username=principal.name))
    name = settings.SESSION_COOKIE_NAME
    window.add_cookies([{"name": name, "value": client.cookies[name].value, "url": live}])


@pytest.fixture
def second_admin(browser: Browser, live: str) -> Iterator[Page]:
    """Otto, another admin, on a phone of his own."""
    with opened(browser, live, "phone") as window:
        enter(window, live, cast.person("otto", Role.ADMIN))
        yield window.new_page()


@pytest.fixture
def page(context: BrowserContext, sign_in: SignIn) -> Page:
    return context.new_page()


def settle(page: Page) -> None:
    """Until a button is live again after a swap."""
    page.wait_for_timeout(550)


def findings(page: Page) -> list[str]:
    """What axe finds wrong with the page as it stands."""
    violations: list[dict[str, Any]] = Axe().run(page, options=RULES).response["violations"]
    return [f"{found['id']}: {node['html'][:160]}" for found in violations for node in found["nodes"]]


def overflow(page: Page) -> int:
    """By how many pixels the page is wider than the screen."""
    wider: int = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return max(wider, 0)


def faults(page: Page, paths: Iterable[str]) -> dict[str, list[str]]:
    """Of every page that is there: what axe finds wrong, and by how much it is wider than the screen."""
    found: dict[str, list[str]] = {}
    for path in paths:
        answer = page.goto(path)
        assert answer is not None and answer.status == 200, path
        found[path] = findings(page)
        if wider := overflow(page):
            found[path].append(f"{wider} px too wide")
    return {path: list_ for path, list_ in found.items() if list_}


def too_small(page: Page, paths: Iterable[str], pressed: str) -> dict[str, list[str]]:
    """What a finger would miss of all that matches the selector `pressed`."""
    small = {}
    for path in paths:
        page.goto(path)
        heights = page.eval_on_selector_all(
            pressed, "all => all.filter(e => e.offsetParent).map(e => [e.outerHTML.slice(0, 80), e.offsetHeight])"
        )
        small[path] = [html for html, height in heights if height < LEAST_HEIGHT]
    return {path: list_ for path, list_ in small.items() if list_}


def refresh(page: Page, selector: str) -> None:
    """Let a part of the page ask for itself now, rather than when its time has come."""
    with page.expect_response(lambda response: response.request.headers.get("hx-request") == "true"):
        page.dispatch_event(selector, "every")
