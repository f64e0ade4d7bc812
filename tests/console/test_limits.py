"""The limit of requests: counted in the broker, refilled with time, and open when there is no broker."""

import time
from collections.abc import Iterator

import pytest
import redis
from django.conf import settings
from structlog.testing import capture_logs

from console.limits import Limit, Limiter
from runs.errors import RateLimited

ONE_A_MINUTE = Limit(per_minute=1, burst=2)


@pytest.fixture
def broker() -> Iterator[redis.Redis]:
    with redis.Redis.from_url(settings.REDIS_URL, decode_responses=True) as client:
        client.flushdb()
        yield client


@pytest.fixture
def limiter(broker: redis.Redis) -> Limiter:
    return Limiter(settings.REDIS_URL)


def wait_told(limiter: Limiter, name: str, limit: Limit = ONE_A_MINUTE) -> float:
    with pytest.raises(RateLimited) as refused:
        limiter.take(name, limit)
    return float(refused.value.members["retry_after"])


def test_a_burst_passes_and_then_each_waits_for_its_token(limiter: Limiter) -> None:
    limiter.take("agent:a", ONE_A_MINUTE)
    limiter.take("agent:a", ONE_A_MINUTE)

    assert 59 < wait_told(limiter, "agent:a") <= 60


def test_asking_while_empty_costs_nothing_more(limiter: Limiter) -> None:
    for _ in range(2):
        limiter.take("agent:a", ONE_A_MINUTE)

    waits = [wait_told(limiter, "agent:a") for _ in range(5)]

    assert waits == sorted(waits, reverse=True)


def test_each_principal_has_its_own_bucket(limiter: Limiter) -> None:
    for _ in range(2):
        limiter.take("agent:a", ONE_A_MINUTE)

    limiter.take("agent:b", ONE_A_MINUTE)


def test_all_processes_share_a_bucket(limiter: Limiter) -> None:
    limiter.take("agent:a", ONE_A_MINUTE)
    Limiter(settings.REDIS_URL).take("agent:a", ONE_A_MINUTE)

    wait_told(limiter, "agent:a")


def test_tokens_come_back_with_time_up_to_the_burst(limiter: Limiter, broker: redis.Redis) -> None:
    an_hour_ago = int(time.time() * 1000) - 3_600_000
    broker.hset("limit:agent:a", mapping={"tokens": 0, "at": an_hour_ago})

    limiter.take("agent:a", ONE_A_MINUTE)
    limiter.take("agent:a", ONE_A_MINUTE)

    wait_told(limiter, "agent:a")


def test_a_bucket_that_would_be_full_again_is_forgotten(limiter: Limiter, broker: redis.Redis) -> None:
    limiter.take("agent:a", ONE_A_MINUTE)

    assert 0 < broker.pttl("limit:agent:a") <= 121_000


def test_without_a_broker_everything_passes_and_one_line_says_so() -> None:
    limiter = Limiter("unix:///nowhere/valkey.sock")

    with capture_logs() as lines:
        for _ in range(10):
            limiter.take("agent:a", Limit(1, 1))

    assert [(line["event"], line["log_level"]) for line in lines] == [("limits_off", "warning")]


def test_a_broker_that_forgot_its_scripts_is_taught_again(limiter: Limiter, broker: redis.Redis) -> None:
    limiter.take("agent:a", ONE_A_MINUTE)
    broker.script_flush()
    limiter.take("agent:a", ONE_A_MINUTE)

    wait_told(limiter, "agent:a")
