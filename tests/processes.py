"""Watching real processes: waits for observed facts, bounded, and failing loudly."""

import time
from collections.abc import Callable
from pathlib import Path


def wait_until(observed: Callable[[], object], what: str, seconds: float = 20) -> None:
    """Wait until something is seen, for so long at most."""
    deadline = time.monotonic() + seconds
    while not observed():
        assert time.monotonic() < deadline, f"never seen: {what}"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and not yet waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
