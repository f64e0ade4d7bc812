"""A browser for the tests: the Chromium that the machine has."""

import os
import shutil
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from console import context
from tests.browser.gallery import ORIGIN

# The browser's event loop runs in the thread of the tests for the rest of the session, and Django would refuse the
# database there although nothing is asynchronous.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ON_A_MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """Playwright's own arguments with the machine's browser; a superuser's browser has no sandbox."""
    found = next(filter(None, map(shutil.which, NAMES)), ON_A_MAC)
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    return browser_type_launch_args | {"executable_path": found, "args": arguments}


@pytest.fixture(scope="session")
def base_url() -> str:
    """Where paths begin. It takes the place of a plugin's fixture that pytest has deprecated."""
    return ORIGIN


@pytest.fixture
def gallery_settings(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gallery as the site, with nothing behind it: no database, no cache, no collected files."""
    monkeypatch.setattr(context, "COUNT_PROVIDERS", [lambda request: {"inbox": 7}])
    settings.ROOT_URLCONF = "tests.browser.gallery"
    settings.SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
    settings.MESSAGE_STORAGE = "django.contrib.messages.storage.cookie.CookieStorage"
    settings.CACHES = {**settings.CACHES, "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if "whitenoise" not in name]
