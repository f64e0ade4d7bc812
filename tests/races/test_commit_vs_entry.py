"""A commit against an entry that moves nothing but the head of the ledger: neither is lost, no version is spent."""

from collections.abc import Callable

import pytest

from runs import actions, store
from runs.errors import Unavailable
from runs.models import LedgerEntry
from runs.outcomes import Outcome
from runs.values import Principal
from tests import cast
from tests.sync import Actor, rivals_before, stopped_after, wait_until_blocked

KEY = "R-42"

Entry = Callable[[Principal], Outcome]


@pytest.fixture
def agents() -> tuple[Principal, Principal]:
    """An agent that read the run at version 2, where it is, and one that read it at version 1."""
    cast.run_received(KEY)
    cast.command(cast.ada(), KEY, "set-category", category="billing")
    return cast.agent("up-to-date").principal, cast.agent("stale").principal


def committed(who: Principal) -> Outcome:
    return cast.command(who, KEY, "assign", on=2, assigned_owner="mara", id_="c-assign")


def rejected(who: Principal) -> Outcome:
    """What it asks for holds already."""
    return cast.command(who, KEY, "set-category", on=1, category="billing", id_="c-stale")


def escalated(who: Principal) -> Outcome:
    return cast.command(who, KEY, "set-category", on=1, category="damage", id_="c-stale")


def told() -> list[tuple[int, int, str]]:
    """What the ledger tells after version 2."""
    rows = LedgerEntry.objects.filter(run__key=KEY, seq__gt=2).order_by("seq")
    return list(rows.values_list("seq", "version", "kind"))


@pytest.mark.parametrize("entry", [rejected, escalated])
def test_a_commit_survives_an_entry_in_the_gap(
    agents: tuple[Principal, Principal], monkeypatch: pytest.MonkeyPatch, entry: Entry
) -> None:
    up_to_date, stale = agents
    rivals_before(monkeypatch, (store, "step"), lambda: entry(stale))

    outcome = committed(up_to_date)

    assert (outcome.state, outcome.answer["version"]) == ("committed", 3)
    assert told() == [(3, 2, f"command.{entry.__name__}"), (4, 3, "command.committed")]


@pytest.mark.parametrize("entry", [rejected, escalated])
def test_an_entry_survives_a_commit_in_the_gap_and_is_judged_on_what_that_made(
    agents: tuple[Principal, Principal], monkeypatch: pytest.MonkeyPatch, entry: Entry
) -> None:
    up_to_date, stale = agents
    rivals_before(monkeypatch, (store, "step"), lambda: committed(up_to_date))

    outcome = entry(stale)

    assert (outcome.state, outcome.answer["current_version"]) == (entry.__name__, 3)
    assert told() == [(3, 3, "command.committed"), (4, 3, f"command.{entry.__name__}")]


@pytest.mark.parametrize("entry", [rejected, escalated])
def test_a_commit_that_waits_for_an_entry_commits_after_it(
    agents: tuple[Principal, Principal], monkeypatch: pytest.MonkeyPatch, entry: Entry
) -> None:
    up_to_date, stale = agents
    ahead = Actor("ahead", lambda: entry(stale))
    behind = Actor("behind", lambda: committed(up_to_date))

    with stopped_after(monkeypatch, (store, "step"), ahead) as gate:
        ahead.start()
        gate.wait_until_reached()
        behind.start()
        wait_until_blocked(behind, by=ahead)

    assert (ahead.result().state, behind.result().state) == (entry.__name__, "committed")
    assert told() == [(3, 2, f"command.{entry.__name__}"), (4, 3, "command.committed")]


def test_an_entry_in_both_gaps_would_leave_the_commit_undone_so_the_second_try_holds_the_run(
    agents: tuple[Principal, Principal], monkeypatch: pytest.MonkeyPatch
) -> None:
    up_to_date, stale = agents
    another = cast.agent("another").principal
    rivals_before(monkeypatch, (store, "step"), lambda: rejected(stale), lambda: escalated(another))
    monkeypatch.setattr(actions, "hold_run", lambda key: None)

    with pytest.raises(Unavailable):
        committed(up_to_date)

    assert told() == [(3, 2, "command.rejected"), (4, 2, "command.escalated")]


def test_nothing_comes_between_once_the_run_is_held(
    agents: tuple[Principal, Principal], monkeypatch: pytest.MonkeyPatch
) -> None:
    up_to_date, stale = agents
    another = cast.agent("another").principal
    holder = Actor("holder", lambda: committed(up_to_date))
    rival = Actor("rival", lambda: escalated(another))

    with stopped_after(monkeypatch, (store, "read"), holder) as has_read:
        holder.start()
        has_read.wait_until_reached()
        rejected(stale)
        with stopped_after(monkeypatch, (actions, "hold_run"), holder) as holds:
            has_read.open()
            holds.wait_until_reached()
            rival.start()
            wait_until_blocked(rival, by=holder)

    assert (holder.result().state, rival.result().state) == ("committed", "escalated")
    assert told() == [(3, 2, "command.rejected"), (4, 3, "command.committed"), (5, 3, "command.escalated")]
