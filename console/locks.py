"""Who runs what of a home: one `up` per part, and none while the processes of a killed one are still ending.

Two locks per part. The first is held by `up` alone and says that it runs. The second is handed down to every
process `up` starts, so it is free only when the last of them is gone.
"""

import fcntl
import time
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Self

PATIENCE_SECONDS = 30


class AlreadyRunning(Exception):
    """Another `up` runs this part of this home; the text is its address."""


class PartsLeft(Exception):
    """Processes that a killed `up` started do not end."""


class Locks:
    """The locks one `up` holds while it lives; a context."""

    def __init__(self, folder: Path, address: str) -> None:
        self._folder = folder
        self._address = address
        self._held = ExitStack()
        self._inherited: list[IO[str]] = []

    def __enter__(self) -> Self:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    @property
    def inherited(self) -> list[int]:
        """The descriptors to hand down."""
        return [file.fileno() for file in self._inherited]

    def take(self, name: str) -> None:
        """Take the locks of a part. Raises `AlreadyRunning` and `PartsLeft`."""
        if not self.try_to_take(name):
            raise AlreadyRunning((self._folder / name).read_text(encoding="utf-8"))

    def try_to_take(self, name: str) -> bool:
        """Take the locks of a part, and wait for what a killed `up` left; False if an `up` runs it."""
        mine = self._open(name)
        if not _lock(mine):
            return False
        mine.truncate(0)
        mine.write(self._address)
        mine.flush()
        self._inherited.append(self._take_inherited(name))
        return True

    def _take_inherited(self, name: str) -> IO[str]:
        file = self._open(f"{name}.parts")
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not _lock(file):
            if time.monotonic() > deadline:
                raise PartsLeft(f"Processes of a killed `up` still use {self._folder.parent}; end them first.")
            time.sleep(0.1)
        return file

    def _open(self, name: str) -> IO[str]:
        return self._held.enter_context((self._folder / name).open("a+", encoding="utf-8"))


def _lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
