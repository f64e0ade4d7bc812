"""Probes: alive whatever happens, ready only when every part is, and silent about why one is not."""

from collections.abc import Iterator

import pytest
import redis
from django.core.cache import cache
from django.db import InterfaceError, OperationalError, ProgrammingError, connection
from django.test import Client
from pytest_django import Settings

from outbox import pulse
from tests.console.api.caller import told

pytestmark = pytest.mark.django_db

WORKS = {"database": "ok", "broker": "ok", "sweep": "ok"}


@pytest.fixture(autouse=True)
def _sweeping() -> Iterator[None]:
    pulse.beat()
    yield
    cache.delete(pulse.KEY)


def _fail(failure: type[Exception]) -> None:
    raise failure("could not connect to secret-host: password authentication failed")


def test_a_process_that_answers_is_alive_without_asking_anything() -> None:
    with connection.execute_wrapper(lambda *_: _fail(OperationalError)):
        assert told(Client().get("/healthz")) == {"status": "ok"}


def test_an_installation_is_ready_when_every_part_works() -> None:
    assert told(Client().get("/readyz")) == {"status": "ready", "parts": WORKS}


@pytest.mark.parametrize("failure", [OperationalError, ProgrammingError, InterfaceError])
def test_without_its_database_or_its_tables_it_is_not_ready_and_does_not_say_why(failure: type[Exception]) -> None:
    with connection.execute_wrapper(lambda *_: _fail(failure)):
        response = Client().get("/readyz")

    assert told(response, 503) == {"status": "not-ready", "parts": WORKS | {"database": "failing"}}
    assert b"secret-host" not in response.content


def test_without_its_broker_it_is_not_ready(settings: Settings) -> None:
    settings.CACHES = {name: {**cache, "LOCATION": "redis://127.0.0.1:1"} for name, cache in settings.CACHES.items()}

    assert told(Client().get("/readyz"), 503)["parts"] == WORKS | {"broker": "failing", "sweep": "failing"}
    pulse.beat()  # a sweep goes on without its broker


def test_without_a_sweep_lately_it_is_not_ready() -> None:
    cache.delete(pulse.KEY)

    assert told(Client().get("/readyz"), 503)["parts"] == WORKS | {"sweep": "failing"}


@pytest.mark.parametrize(("sweep_seconds", "lasts"), [(5, 30), (60, 360)])
def test_a_pulse_lasts_for_some_missed_turns(settings: Settings, sweep_seconds: float, lasts: int) -> None:
    settings.CLEARANCE_SWEEP_SECONDS = sweep_seconds

    pulse.beat()

    broker = redis.Redis.from_url(settings.REDIS_URL)
    assert lasts - 5 < broker.ttl(cache.make_key(pulse.KEY)) <= lasts


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_probe_only_reads(path: str) -> None:
    assert Client().post(path).status_code == 405
    assert Client().head(path).status_code == 200
