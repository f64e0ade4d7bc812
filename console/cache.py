"""What sign-ins and second factors remember for a short while: in the broker, or here while it is away.

A limit on guessing must neither fall nor keep everybody out because the broker does not answer: then each
process counts for itself.
"""

import time
from collections.abc import Callable
from typing import Any, TypeVar

import structlog
from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

T = TypeVar("T")

log = structlog.get_logger(__name__)

#: For how long the broker is left alone after it did not answer.
PAUSE_SECONDS = 5


class ForgivingCache(BaseCache):
    """The broker's cache, and the memory of this process while the broker cannot be reached."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self._broker = RedisCache(server, params)
        self._here = LocMemCache(f"instead-of-{server}", {})
        self._paused_until = 0.0

    def add(self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        return self._try(lambda cache: cache.add(key, value, timeout, version))

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        return self._try(lambda cache: cache.get(key, default, version))

    def set(self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        self._try(lambda cache: cache.set(key, value, timeout, version))

    def delete(self, key: Any, version: int | None = None) -> bool:
        return self._try(lambda cache: cache.delete(key, version))

    def clear(self) -> None:
        self._try(lambda cache: cache.clear())

    def _try(self, ask: Callable[[BaseCache], T]) -> T:
        if time.monotonic() >= self._paused_until:
            try:
                return ask(self._broker)
            except (RedisError, OSError) as error:
                self._paused_until = time.monotonic() + PAUSE_SECONDS
                log.warning("cache_down", cause=type(error).__name__, seconds=PAUSE_SECONDS)
        return ask(self._here)
