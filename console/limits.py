"""How often one principal may ask: a token bucket in the broker, shared by all processes.

A limit protects others from a loop gone wild; it is no guard of the record. So when the broker cannot be
reached, requests pass, and one line in the log says so.
"""

import time
from dataclasses import dataclass
from functools import cache

import redis
import structlog
from django.conf import settings
from redis.backoff import NoBackoff
from redis.commands.core import Script
from redis.retry import Retry

from runs.errors import RateLimited
from runs.values import Principal

log = structlog.get_logger(__name__)

#: A broker that answers slower than this would cost more than it protects.
PATIENCE_SECONDS = 0.1
#: For how long it is left alone after it did not answer.
PAUSE_SECONDS = 5

# Gives the milliseconds to wait, 0 when a token was taken. The clock is the broker's: one for all processes.
_TAKE = """
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local per_ms, burst = ARGV[1] / 60000, tonumber(ARGV[2])
local kept = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = math.min(burst, (tonumber(kept[1]) or burst) + (now - (tonumber(kept[2]) or now)) * per_ms)
local wait = 0
if tokens >= 1 then tokens = tokens - 1 else wait = math.ceil((1 - tokens) / per_ms) end
redis.call('HSET', KEYS[1], 'tokens', tokens, 'at', now)
redis.call('PEXPIRE', KEYS[1], math.ceil(burst / per_ms) + 1000)
return wait
"""


@dataclass(frozen=True, slots=True)
class Limit:
    """So many a minute in the long run, and at most so many at once."""

    per_minute: int
    burst: int


class Limiter:
    """Takes tokens from the buckets of one broker."""

    def __init__(self, url: str) -> None:
        client = redis.Redis.from_url(
            url,
            socket_timeout=PATIENCE_SECONDS,
            socket_connect_timeout=PATIENCE_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
        self._script: Script = client.register_script(_TAKE)
        self._paused_until = 0.0

    def take(self, name: str, limit: Limit) -> None:
        """Take one token from the bucket `name`. Raises `RateLimited`, with the time to wait, when it is empty."""
        if time.monotonic() < self._paused_until:
            return
        try:
            wait_ms = self._script(keys=[f"limit:{name}"], args=[limit.per_minute, limit.burst])
        except redis.RedisError as unreachable:
            self._paused_until = time.monotonic() + PAUSE_SECONDS
            log.warning("limits_off", cause=type(unreachable).__name__, seconds=PAUSE_SECONDS)
            return
        if wait_ms:
            raise RateLimited(retry_after=wait_ms / 1000)


@cache
def limiter() -> Limiter:
    """The limiter of this process."""
    return Limiter(settings.REDIS_URL)


def take_request(principal: Principal) -> None:
    """Count one request of a principal. Raises `RateLimited`."""
    per_minute, burst = settings.API_LIMITS[principal.kind]
    limiter().take(principal.actor, Limit(per_minute, burst))
