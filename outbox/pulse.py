"""The pulse of the sweep, so that a dead sweep can be told from a quiet queue. Kept in the broker, not in the database.

Every pass of the sweep beats once; whoever asks whether this installation is ready listens.
"""

from contextlib import suppress

from django.conf import settings
from django.core.cache import caches
from redis.exceptions import RedisError

KEY = "sweep-pulse"

#: A sweep that missed this many turns is taken for dead, though never in less than `SHORTEST_SECONDS`.
TURNS = 6
SHORTEST_SECONDS = 30


def beat() -> None:
    """Note that the sweep has just passed. A broker out of reach is no reason to stop sweeping."""
    seconds = max(SHORTEST_SECONDS, TURNS * settings.CLEARANCE_SWEEP_SECONDS)
    with suppress(RedisError, OSError):
        caches["broker"].set(KEY, True, timeout=seconds)


def is_beating() -> bool:
    """Whether the sweep passed lately. Raises what the broker's client raises when the broker cannot be reached."""
    return bool(caches["broker"].get(KEY, False))
