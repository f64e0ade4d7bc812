"""Two commands computed from one version: one commits, the other is judged against what the first made of the run."""

import pytest
from django.db import IntegrityError

from runs import store
from runs.models import LedgerEntry
from runs.outcomes import Outcome
from runs.transactions import constraint_of
from runs.values import Principal
from tests import cast
from tests.sync import Actor, rivals_before, stopped_after, wait_until_blocked
from tests.unguarded import guards_off

KEY = "R-42"


@pytest.fixture
def agents() -> tuple[Principal, Principal]:
    cast.run_received(KEY)
    return cast.agent("first").principal, cast.agent("second").principal


def kinds() -> list[tuple[int, int, str, str]]:
    rows = LedgerEntry.objects.filter(run__key=KEY).order_by("seq")
    return list(rows.values_list("seq", "version", "kind", "actor"))


def set_category(who: Principal, category: str) -> Outcome:
    return cast.command(who, KEY, "set-category", on=1, category=category, id_=f"c-{who.name}")


def add_tag(who: Principal) -> Outcome:
    return cast.command(who, KEY, "add-tag", on=1, tag=who.name, id_=f"c-{who.name}")


# ---- a rival in the gap ------------------------------------------------------------------------------------


def test_a_commit_in_the_gap_turns_the_later_one_into_an_escalation(
    agents: tuple[Principal, Principal], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = agents
    rivals_before(monkeypatch, (store, "step"), lambda: set_category(first, "damage"))

    outcome = set_category(second, "billing")

    run = cast.reading(KEY)
    assert outcome.state == "escalated"
    assert outcome.answer["changed_fields"][0]["changed_by"] == "agent:first"
    assert (run.version, run.state.fields["category"]) == (2, "damage")
    assert kinds() == [
        (1, 1, "run.created", "user:ada"),
        (2, 2, "command.committed", "agent:first"),
        (3, 2, "command.escalated", "agent:second"),
    ]


def test_commuting_commits_in_the_gap_are_both_kept(
    agents: tuple[Principal, Principal], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = agents
    rivals_before(monkeypatch, (store, "step"), lambda: add_tag(first))

    outcome = add_tag(second)

    run = cast.reading(KEY)
    assert (outcome.state, outcome.answer["merged_onto"], outcome.answer["version"]) == ("merged", 2, 3)
    assert (run.version, run.state.fields["tags"]) == (3, ["first", "second"])
    assert kinds()[1:] == [(2, 2, "command.committed", "agent:first"), (3, 3, "command.merged", "agent:second")]


# ---- one holds the run, the other waits ----------------------------------------------------------------------


def race(
    monkeypatch: pytest.MonkeyPatch, winner: Principal, loser: Principal, category: str = "damage"
) -> tuple[Outcome, Outcome]:
    """`winner` has written and not committed when `loser`, who read the same version, wants to write."""
    ahead = Actor("ahead", lambda: set_category(winner, category))
    behind = Actor("behind", lambda: set_category(loser, "billing"))
    with stopped_after(monkeypatch, (store, "step"), ahead) as gate:
        ahead.start()
        gate.wait_until_reached()
        behind.start()
        wait_until_blocked(behind, by=ahead)
    return ahead.result(), behind.result()


@pytest.mark.parametrize("order", [0, 1])
def test_whoever_waits_for_the_run_loses_nothing_of_the_one_ahead(
    agents: tuple[Principal, Principal], monkeypatch: pytest.MonkeyPatch, order: int
) -> None:
    winner, loser = agents[order], agents[1 - order]

    ahead, behind = race(monkeypatch, winner, loser)

    run = cast.reading(KEY)
    assert (ahead.state, behind.state) == ("committed", "escalated")
    assert (run.version, run.state.fields["category"]) == (2, "damage")
    assert kinds()[1:] == [
        (2, 2, "command.committed", winner.actor),
        (3, 2, "command.escalated", loser.actor),
    ]


CONDITION = "AND version = %(read_version)s AND head_seq = %(read_head)s"


def test_without_its_condition_a_step_is_still_refused_by_the_database(
    agents: tuple[Principal, Principal], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_STEP", store._STEP.replace(CONDITION, ""))

    with pytest.raises(IntegrityError) as refusal:
        race(monkeypatch, *agents)

    assert constraint_of(refusal.value) == "runs_change_needs_step"
    assert cast.reading(KEY).state.fields["category"] == "damage"


def test_without_any_guard_the_same_race_loses_an_update(
    agents: tuple[Principal, Principal], monkeypatch: pytest.MonkeyPatch, owner_dsn: str
) -> None:
    careless = store._STEP.replace(CONDITION, "").replace("), record AS (", "ON CONFLICT DO NOTHING), record AS (")
    monkeypatch.setattr(store, "_STEP", careless)

    with guards_off(owner_dsn):
        ahead, behind = race(monkeypatch, *agents)

    # Both were told that they made version 2, and the work of the first is gone.
    run = cast.reading(KEY)
    assert [(each.state, each.answer["version"]) for each in (ahead, behind)] == [("committed", 2)] * 2
    assert (run.version, run.state.fields["category"]) == (2, "billing")
