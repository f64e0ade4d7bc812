"""One `up` per part of a home, and none beside what a killed one left."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from console import locks
from console.locks import AlreadyRunning, Locks, PartsLeft


@pytest.fixture
def left_over(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process of an `up` that is gone."""
    with Locks(tmp_path, "http://first") as gone:
        gone.take("web")
        left = subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE, pass_fds=gone.inherited
        )
    with left:
        yield left


def test_a_second_one_is_told_where_the_first_is(tmp_path: Path) -> None:
    with Locks(tmp_path, "http://first") as first, Locks(tmp_path, "http://second") as second:
        first.take("web")

        with pytest.raises(AlreadyRunning, match="http://first"):
            second.take("web")
        second.take("worker")


def test_one_that_ended_is_no_obstacle(tmp_path: Path) -> None:
    with Locks(tmp_path, "http://first") as first:
        first.take("web")

    with Locks(tmp_path, "http://second") as second:
        second.take("web")

    assert (tmp_path / "web").read_text() == "http://second"


def test_it_waits_for_the_processes_of_a_killed_one(
    tmp_path: Path, left_over: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "PATIENCE_SECONDS", 0.2)
    with Locks(tmp_path, "http://second") as early, pytest.raises(PartsLeft):
        early.take("web")

    left_over.communicate()

    with Locks(tmp_path, "http://third") as later:
        later.take("web")
