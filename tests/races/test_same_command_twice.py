"""One id delivered more than once at a time: it takes effect once. Repeats later on are in `test_outcomes.py`."""

from collections import Counter

import pytest
from django.db import IntegrityError

from runs import actions, store
from runs.actions import apply_command
from runs.errors import CommandInProgress
from runs.models import LedgerEntry
from runs.outcomes import Outcome
from runs.transactions import constraint_of
from runs.values import CommandRequest, Principal
from tests import cast
from tests.sync import Actor, stopped_after

KEY = "R-42"


@pytest.fixture
def agent() -> Principal:
    """An agent, and a run at version 2 with the category billing."""
    cast.run_working(KEY)
    return cast.agent().principal


def deliver(who: Principal, name: str, on: int, **params: str) -> Outcome:
    """Deliver the command `c-1`, as computed from version `on`."""
    return apply_command(who, KEY, on, CommandRequest("c-1", name, params, "the customer asked"))


def entries_of(who: Principal) -> list[str]:
    rows = LedgerEntry.objects.filter(run__key=KEY, actor=who.actor, command_id="c-1").order_by("seq")
    return list(rows.values_list("kind", flat=True))


# ---- while the first delivery runs ---------------------------------------------------------------------------


def test_a_delivery_while_the_first_one_runs_is_told_so_and_does_nothing(
    agent: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case 9: in flight."""
    first = Actor("first", lambda: deliver(agent, "assign", 2, assigned_owner="mara"))

    with stopped_after(monkeypatch, (store, "step"), first) as gate:
        first.start()
        gate.wait_until_reached()
        with pytest.raises(CommandInProgress):
            deliver(agent, "assign", 2, assigned_owner="mara")

    assert first.result().state == "committed"
    assert entries_of(agent) == ["command.committed"]


def test_fifty_deliveries_at_once_take_effect_once(agent: Principal) -> None:
    deliveries = [Actor(f"delivery {n}", lambda: deliver(agent, "assign", 2, assigned_owner="mara")) for n in range(50)]

    for each in deliveries:
        each.start()
    became = Counter(_became(each) for each in deliveries)

    assert became["committed"] == 1
    assert became["replayed"] + became["in progress"] == 49
    assert entries_of(agent) == ["command.committed"]
    assert cast.reading(KEY).version == 3


def _became(delivery: Actor[Outcome]) -> str:
    try:
        outcome = delivery.result()
    except CommandInProgress:
        return "in progress"
    return "replayed" if outcome.is_replay else outcome.state


def test_without_the_claim_of_the_id_the_look_up_after_the_wait_still_finds_the_first_answer(
    agent: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions, "claim_id", lambda *_: None)
    late = Actor("late", lambda: deliver(agent, "assign", 2, assigned_owner="mara"))

    with stopped_after(monkeypatch, (store, "read"), late) as gate:
        late.start()
        gate.wait_until_reached()
        early = deliver(agent, "assign", 2, assigned_owner="mara")

    assert (early.state, early.is_replay) == ("committed", False)
    assert (late.result().state, late.result().is_replay) == ("committed", True)
    assert entries_of(agent) == ["command.committed"]


def test_without_claim_and_look_up_the_record_of_the_id_stops_the_second_delivery(
    agent: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions, "replayed", lambda *_: None)
    deliver(agent, "add-tag", 2, tag="vip")

    with pytest.raises(IntegrityError) as refusal:
        deliver(agent, "add-tag", 3, tag="vip")

    assert constraint_of(refusal.value) == "runs_command_state_legal"
    assert entries_of(agent) == ["command.committed"]
