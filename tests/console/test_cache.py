"""What is remembered for a short while stays remembered while the broker is away: per process, and no longer."""

from typing import Any

import pytest
from django.core.cache import caches
from django.core.cache.backends.redis import RedisCache
from django.test import Client
from pytest_django import Settings

from console.cache import ForgivingCache
from runs.models import Person
from tests import cast

LOGIN = "/accounts/login/"


@pytest.fixture
def no_broker(settings: Settings) -> None:
    settings.CACHES = {name: {**cache, "LOCATION": "redis://127.0.0.1:1"} for name, cache in settings.CACHES.items()}


@pytest.mark.usefixtures("no_broker")
def test_without_its_broker_a_process_remembers_by_itself() -> None:
    cache = caches["default"]

    assert cache.add("k", 1)
    assert not cache.add("k", 2)
    assert cache.get("k") == 1
    cache.set("k", 3)
    assert cache.get("k") == 3
    assert cache.delete("k")
    assert cache.get("k", "none") == "none"


def test_with_its_broker_all_processes_remember_together(settings: Settings) -> None:
    one, other = (ForgivingCache(settings.REDIS_URL, {}) for _ in range(2))

    one.set("shared", 1)
    assert other.get("shared") == 1
    assert other.delete("shared")


@pytest.mark.usefixtures("no_broker")
def test_a_broker_that_is_away_is_not_asked_at_every_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    get = RedisCache.get

    def noted(self: RedisCache, key: str, *more: Any) -> Any:
        asked.append(key)
        return get(self, key, *more)

    monkeypatch.setattr(RedisCache, "get", noted)
    cache = ForgivingCache("redis://127.0.0.1:1", {})

    cache.get("k")
    cache.get("k")

    assert asked == ["k"]


@pytest.mark.django_db
@pytest.mark.usefixtures("no_broker")
def test_people_sign_in_while_the_broker_is_away_and_guessing_is_still_limited() -> None:
    cast.ada()
    person = Person.objects.get(username="ada")
    person.set_password("a long enough password")
    person.save()

    answer = Client().post(LOGIN, {"login": "ada", "password": "a long enough password"})
    guesses = [Client().post(LOGIN, {"login": "ada", "password": "wrong"}) for _ in range(12)]

    assert answer.status_code == 302
    assert "Too many failed" in guesses[-1].content.decode()
