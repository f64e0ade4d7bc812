"""The banner while nothing is sent: it says which part is missing, to whoever is signed in, and goes away by itself."""

import os
import re
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.cache import cache
from pytest_django import Settings

from console import embedded, sending
from outbox import pulse
from tests import cast
from tests.console.test_embedded import open_home, running, valkey
from tests.console.web.visitor import Visitor, stranger, visit
from tests.processes import wait_until

pytestmark = pytest.mark.django_db

BANNER = "Nothing is sent at the moment:"


@pytest.fixture
def ada() -> Visitor:
    """Somebody at the console of an installation that works."""
    return visit(cast.ada())


def use_broker(settings: Settings, url: str) -> None:
    settings.CACHES = {name: {**cache, "LOCATION": url} for name, cache in settings.CACHES.items()}


def take_the_broker_away(settings: Settings) -> None:
    use_broker(settings, "redis://127.0.0.1:1")


def test_nothing_is_said_while_everything_works(ada: Visitor) -> None:
    assert BANNER not in ada.get("/runs/").text


@pytest.mark.parametrize("who", [cast.ada, cast.ben, cast.cy, cast.dora, cast.eli])
def test_without_its_broker_every_page_says_that_nothing_is_sent_and_nothing_lost(who: Any, settings: Settings) -> None:
    visitor = visit(who())
    take_the_broker_away(settings)

    text = visitor.get("/effects/").text

    assert f"{BANNER} the message broker does not answer." in text
    assert "Nothing is lost:" in text


def test_without_a_sweep_every_page_says_that_no_worker_looked(ada: Visitor) -> None:
    cache.delete(pulse.KEY)

    assert f"{BANNER} no worker has looked for what is due lately." in ada.get("/").text


def test_a_process_looks_again_only_after_some_seconds(ada: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr("console.sending.time", SimpleNamespace(monotonic=lambda: clock[0]))
    ada.get("/")
    cache.delete(pulse.KEY)
    clock[0] += sending.SEEN_FOR_SECONDS - 1
    assert BANNER not in ada.get("/").text

    clock[0] += 1
    assert BANNER in ada.get("/").text

    pulse.beat()
    clock[0] += sending.SEEN_FOR_SECONDS
    assert BANNER not in ada.get("/").text


def test_a_broker_that_was_killed_is_missed_and_no_longer_when_it_is_back(ada: Visitor, settings: Settings) -> None:
    with tempfile.TemporaryDirectory(prefix="clearance-") as folder:
        home = open_home(Path(folder) / "home")
        use_broker(settings, home.redis_url())
        with running(home, valkey(home)) as pid:
            pulse.beat()
            assert ada.get("/sending/").text == ""

            os.kill(pid, 9)
            wait_until(lambda: not embedded.valkey_is_ready(home), "the end of the broker")
            sending.forget()
            assert f"{BANNER} the message broker does not answer." in ada.get("/sending/").text

        with running(home, valkey(home)):
            pulse.beat()
            sending.forget()
            assert ada.get("/sending/").text == ""


def test_since_when_is_told_and_does_not_move_while_something_is_missing(
    ada: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "SEEN_FOR_SECONDS", 0)
    pulse.beat()
    cache.delete(pulse.KEY)

    first, second = (re.findall(r'datetime="([^"]+)"', ada.get("/sending/").html) for _ in range(2))

    assert len(first) == 1 and first == second


def test_the_banner_costs_a_page_no_statement(ada: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "SEEN_FOR_SECONDS", 0)
    ada.get("/insights/")  # what a process reads once is read
    quiet = ada.cost("/insights/")
    cache.delete(pulse.KEY)

    assert ada.cost("/insights/") == quiet


def test_a_stranger_is_told_nothing(settings: Settings) -> None:
    take_the_broker_away(settings)

    assert BANNER not in stranger().get("/accounts/login/").text
    assert BANNER not in stranger().get("/sending/").text
