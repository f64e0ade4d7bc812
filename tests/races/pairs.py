"""Two operations of which one has written and not committed when the other comes; and the same without the guards."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from outbox import authorization
from runs import store
from runs.models import LedgerEntry
from tests.sync import PATIENCE_SECONDS, Actor, Gate, stopped_after, wait_until_blocked
from tests.unguarded import guards_off

Work = Callable[[], Any]
Seam = tuple[Any, str]

#: Where the first of two stops unless told otherwise: it has written its step and not committed.
STEP: Seam = (store, "step")

CONDITION = "AND version = %(read_version)s AND head_seq = %(read_head)s"


@contextmanager
def begun(
    monkeypatch: pytest.MonkeyPatch, ahead: Work, behind: Work, seam: Seam
) -> Iterator[tuple[Actor[Any], Actor[Any], Gate]]:
    """`ahead` has written and not committed, and stays so until its gate opens; `behind` has started."""
    first, second = Actor("ahead", ahead), Actor("behind", behind)
    with monkeypatch.context() as seams, stopped_after(seams, seam, first) as gate:
        first.start()
        gate.wait_until_reached()
        second.start()
        yield first, second, gate


def race(
    monkeypatch: pytest.MonkeyPatch, ahead: Work, behind: Work, seam: Seam = STEP
) -> tuple[Actor[Any], Actor[Any]]:
    """`ahead` has written and not committed when `behind` wants the run, and is shown waiting. Both have ended."""
    with begun(monkeypatch, ahead, behind, seam) as (first, second, gate):
        wait_until_blocked(second, by=first)
        gate.open()
        second.ended.wait(PATIENCE_SECONDS)
    return first, second


def pass_by(
    monkeypatch: pytest.MonkeyPatch, ahead: Work, behind: Work, seam: Seam = STEP
) -> tuple[Actor[Any], Actor[Any]]:
    """`ahead` has written and not committed while `behind`, which does not wait, runs to its end."""
    with begun(monkeypatch, ahead, behind, seam) as (first, second, _):
        second.ended.wait(PATIENCE_SECONDS)
    return first, second


def story(key: str, after: int = 0) -> list[tuple[int, str, str]]:
    """Version, kind and actor of the entries after one."""
    rows = LedgerEntry.objects.filter(run__key=key, seq__gt=after).order_by("seq")
    return list(rows.values_list("version", "kind", "actor"))


# ---- without guards --------------------------------------------------------------------------------------


@contextmanager
def without_lock(monkeypatch: pytest.MonkeyPatch, *homes: Any) -> Iterator[None]:
    """No action of these modules takes the lock of a run."""
    with monkeypatch.context() as seams:
        for home in homes or (authorization,):
            seams.setattr(home, "hold_run", lambda key: None)
        yield


@contextmanager
def without_any_guard(monkeypatch: pytest.MonkeyPatch, owner_dsn: str, *homes: Any) -> Iterator[None]:
    """Neither the lock nor the condition of a step nor the database stands between two writers."""
    careless = store._STEP.replace(CONDITION, "").replace("), record AS (", "ON CONFLICT DO NOTHING), record AS (")
    assert careless != store._STEP
    with ExitStack() as off:
        off.enter_context(without_lock(monkeypatch, *homes))
        off.enter_context(guards_off(owner_dsn))
        seams = off.enter_context(monkeypatch.context())
        seams.setattr(store, "_STEP", careless)
        yield
