"""Actors that really run at the same time, and waits for facts that the database reports.

No pause stands for "probably there by now": every wait is for something observed, is bounded, and fails loudly.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import psycopg
import pytest
from django.db import connection, connections

T = TypeVar("T")

#: How long anything here may take before the test fails.
PATIENCE_SECONDS = 10
#: How often the database is asked.
GLANCE_SECONDS = 0.002


class Actor(Generic[T]):
    """One operation in a thread of its own, on a connection of its own."""

    def __init__(self, name: str, work: Callable[[], T]) -> None:
        self.name = name
        self.pid = 0
        self._work = work
        self._result: T
        self._error: BaseException | None = None
        self._connected = threading.Event()
        self.ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> "Actor[T]":
        """Begin, and return once the actor is connected."""
        self._thread.start()
        assert self._connected.wait(PATIENCE_SECONDS), f"{self.name} did not connect"
        return self

    def _run(self) -> None:
        try:
            connection.ensure_connection()
            self.pid = connection.connection.info.backend_pid
            self._connected.set()
            self._result = self._work()
        except BaseException as error:
            self._error = error
        finally:
            self._connected.set()
            connections.close_all()
            self.ended.set()

    def result(self) -> T:
        """What the operation gave, once it has ended. Raises what it raised."""
        self._join()
        if self._error is not None:
            raise self._error
        return self._result

    def error(self) -> BaseException:
        """What the operation raised, once it has ended."""
        self._join()
        assert self._error is not None, f"{self.name} was not refused: {self._result!r}"
        return self._error

    def failed(self) -> bool:
        """Whether the operation raised, once it has ended."""
        self._join()
        return self._error is not None

    def _join(self) -> None:
        assert self.ended.wait(PATIENCE_SECONDS), f"{self.name} did not end"
        self._thread.join()

    @property
    def is_current(self) -> bool:
        """Whether the caller runs in this actor's thread."""
        return threading.current_thread() is self._thread


def run_apart(work: Callable[[], T]) -> T:
    """Run `work` to its end on a connection of its own, and give what it gave."""
    return Actor("apart", work).start().result()


def wait_until_blocked(actor: Actor[Any], *, by: Actor[Any]) -> None:
    """Return once the database shows `actor` waiting for `by`."""
    _wait_until(actor, lambda blocking: by.pid in blocking, by.name)


def wait_until_waiting(actor: Actor[Any]) -> None:
    """Return once the database shows `actor` waiting for anybody, such as others in a queue for one lock."""
    _wait_until(actor, bool, "anybody")


def _wait_until(actor: Actor[Any], is_enough: Callable[[list[int]], bool], awaited: str) -> None:
    with psycopg.connect(**_monitor(), autocommit=True) as monitor:
        glances = int(PATIENCE_SECONDS / GLANCE_SECONDS)
        for _ in range(glances):
            row = monitor.execute("SELECT pg_blocking_pids(%s)", [actor.pid]).fetchone()
            if row and is_enough(row[0]):
                return
            assert not actor.ended.wait(GLANCE_SECONDS), f"{actor.name} ended without waiting for {awaited}"
    pytest.fail(f"{actor.name} never waited for {awaited}")


def _monitor() -> dict[str, Any]:
    """How to connect for watching: as the tests do, without a transaction of theirs."""
    params: dict[str, Any] = connection.get_connection_params()
    return {name: params[name] for name in ("dbname", "user", "password", "host", "port") if params.get(name)}


class Gate:
    """A place in an operation where one actor stops until it is let go."""

    def __init__(self) -> None:
        self._reached = threading.Event()
        self._opened = threading.Event()

    def stop_here(self) -> None:
        """Stop, the first time; later passers go through."""
        if not self._reached.is_set():
            self._reached.set()
            assert self._opened.wait(PATIENCE_SECONDS), "nobody opened the gate"

    def wait_until_reached(self) -> None:
        assert self._reached.wait(PATIENCE_SECONDS), "nobody came to the gate"

    def open(self) -> None:
        self._opened.set()


@contextmanager
def stopped_after(monkeypatch: pytest.MonkeyPatch, seam: tuple[Any, str], actor: Actor[Any]) -> Iterator[Gate]:
    """Stop an actor just after its first call of the function at `seam`; the gate opens at the end at the latest."""
    gate, (home, name) = Gate(), seam
    real = getattr(home, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        given = real(*args, **kwargs)
        if actor.is_current:
            gate.stop_here()
        return given

    monkeypatch.setattr(home, name, call)
    try:
        yield gate
    finally:
        gate.open()


def rivals_before(monkeypatch: pytest.MonkeyPatch, seam: tuple[Any, str], *rivals: Callable[[], Any]) -> None:
    """Run each of `rivals` whole, on a connection of its own, just before the next calls of the function at `seam`.

    Only calls of this thread are met: to the rivals the function is as ever.
    """
    home, name = seam
    real, here, pending = getattr(home, name), threading.current_thread(), list(rivals)

    def call(*args: Any, **kwargs: Any) -> Any:
        if pending and threading.current_thread() is here:
            run_apart(pending.pop(0))
        return real(*args, **kwargs)

    monkeypatch.setattr(home, name, call)
