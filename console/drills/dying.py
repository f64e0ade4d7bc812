"""Drills in which processes of a worker are killed, each at three moments of a delivery at once."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from console.drills.catalogue import Drill
from console.drills.observing import require
from console.drills.proxies import Proxy
from console.drills.stage import Stage

#: Long enough to bring every payment to its moment while the provider has not answered yet.
_THINKING_MS = 3000
#: A process for each payment under way, and one for the sweep.
_PROCESSES = 7

_SETTLED = "where repeats are recognised all 3 settled alone; elsewhere all 3 wait for a person, none sent twice"


@dataclass(slots=True)
class _UnderWay:
    """Payments by what their provider can do, each with one before it was sent, one applied, one to be recorded."""

    recognised: list[str] = field(default_factory=list)
    unrecognised: list[str] = field(default_factory=list)

    @property
    def unsent(self) -> list[str]:
        return [self.recognised[0], self.unrecognised[0]]

    @property
    def applied(self) -> list[str]:
        return [self.recognised[1], self.unrecognised[1]]

    @property
    def answered(self) -> list[str]:
        return [self.recognised[2], self.unrecognised[2]]


def _authorize(stage: Stage, door: Proxy) -> _UnderWay:
    """Two times three payments. The first of each three goes through the door, which is shut."""
    stage.provider_can(recognise_repeats=True, look_up=True, delay_ms=_THINKING_MS)
    under_way = _UnderWay()
    for payments, able in ((under_way.recognised, True), (under_way.unrecognised, False)):
        for base in (door.base, None, None):
            stage.declare(recognise_repeats=able, look_up=able, base=base)
            payments.append(stage.authorize())
    return under_way


@contextmanager
def _three_moments(stage: Stage) -> Iterator[tuple[_UnderWay, list[int]]]:
    """Inside, every payment is at its moment; gives the processes that hold them, too.

    Before it was sent: the process waits to be let in by the provider. Applied: the process was stopped before
    the answer came. Answered: the process waits for a lock to record what it was told. Afterwards the door is
    open and the lock is free.
    """
    door = stage.installation.start_proxy("door", stage.provider.port, queue=0)
    stage.installation.start_worker("--concurrency", str(_PROCESSES))
    with ExitStack() as held:
        held.enter_context(door.shut())
        with stage.installation.worker_standing_still():
            under_way = _authorize(stage, door)
        holders = [stage.await_started(operation) for operation in stage.operations]
        for operation in under_way.applied:
            stage.stop_holder(operation)
        held.enter_context(stage.recording_held_up(*under_way.answered))
        stage.await_applied(len(under_way.applied + under_way.answered))
        for operation in under_way.unsent:
            require(not stage.sent(operation), f"{operation} was sent through a shut door")
        yield under_way, holders


def _killed(stage: Stage, kill: Callable[[list[int]], None], *, replace: bool) -> _UnderWay:
    """Kill, replace the worker if it is gone, and wait until everything is settled and stays so, whatever rings."""
    with _three_moments(stage) as (under_way, holders):
        kill(holders)
    if replace:
        stage.installation.start_worker(called="next-worker")
    for operation in under_way.recognised:
        stage.await_state(operation, "succeeded")
    for operation in under_way.unrecognised:
        stage.await_settled(operation)
        stage.ring(operation, 5)
    stage.await_sweeps()
    for operation in under_way.unrecognised:
        sent = len(stage.sent(operation))
        require(sent <= 1, f"{operation} was sent {sent} times to a provider that recognises no repeats")
    return under_way


def _require_people(stage: Stage, under_way: _UnderWay) -> None:
    states = [stage.effect(operation).state for operation in under_way.unrecognised]
    require(states == ["needs_reconciliation"] * len(states), f"without repeats recognised: {', '.join(states)}")


def child(stage: Stage) -> str:
    """The processes that send are killed; the worker lives, and forks others."""

    def kill(holders: list[int]) -> None:
        for pid in holders:
            os.kill(pid, signal.SIGKILL)

    _require_people(stage, _killed(stage, kill, replace=False))
    return _SETTLED


def group(stage: Stage) -> str:
    """The worker is killed with everything it forked, and started again, as `up` does."""

    def kill(_: list[int]) -> None:
        stage.installation.kill("worker")

    _require_people(stage, _killed(stage, kill, replace=True))
    return _SETTLED


def parent(stage: Stage) -> str:
    """Only the worker's first process is killed; those that it forked must not go on alone. Another one is started."""

    def kill(holders: list[int]) -> None:
        os.kill(stage.installation.pid("worker"), signal.SIGKILL)
        for pid in holders:
            stage.installation.await_end(pid)

    _require_people(stage, _killed(stage, kill, replace=True))
    return f"those it had forked ended with it; {_SETTLED}"


DRILLS = (
    Drill(
        "killed-child",
        "The processes that send are killed: before they sent, after it was applied, before they recorded it.",
        child,
    ),
    Drill("killed-parent", "The same moments; only the parent of those processes is killed.", parent),
    Drill("killed-group", "The same moments; the whole worker is killed.", group),
)
