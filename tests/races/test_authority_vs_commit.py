"""Authority that is withdrawn against commands under way: once a change is acknowledged, nothing older commits."""

from collections.abc import Callable
from typing import Any

import pytest

from runs import actions, administration, store
from runs.administration import By, set_agent_active, set_halt, set_workflow_suspended
from runs.errors import AuthorityRevoked, ClearanceError, Halted, WorkflowSuspended
from runs.outcomes import Outcome
from runs.values import Principal
from tests import cast
from tests.sync import Actor, stopped_after, wait_until_blocked

KEY = "R-42"
BY = By("user:dora", "it misbehaves")

Change = Callable[[], Any]


def the_agent_is_suspended() -> Any:
    return set_agent_active("pricing", False, BY)


def the_workflow_is_suspended() -> Any:
    return set_workflow_suspended("refund", True, BY)


def the_installation_is_halted() -> Any:
    return set_halt(True, BY)


CHANGES = [
    pytest.param(the_agent_is_suspended, AuthorityRevoked, id="agent suspended"),
    pytest.param(the_workflow_is_suspended, WorkflowSuspended, id="workflow suspended"),
    pytest.param(the_installation_is_halted, Halted, id="halt"),
]


@pytest.fixture
def agent() -> Principal:
    cast.run_received(KEY)
    return cast.agent("pricing").principal


def add_tag(who: Principal, tag: str) -> Outcome:
    return cast.command(who, KEY, "add-tag", on=1, tag=tag)


@pytest.mark.parametrize(("change", "refusal"), CHANGES)
def test_a_change_is_acknowledged_only_after_the_command_under_way_has_ended(
    agent: Principal, monkeypatch: pytest.MonkeyPatch, change: Change, refusal: type[ClearanceError]
) -> None:
    command, withdrawal = Actor("command", lambda: add_tag(agent, "early")), Actor("withdrawal", change)

    with stopped_after(monkeypatch, (store, "step"), command) as gate:
        command.start()
        gate.wait_until_reached()
        withdrawal.start()
        wait_until_blocked(withdrawal, by=command)

    assert command.result().state == "committed"
    withdrawal.result()
    with pytest.raises(refusal):
        add_tag(agent, "late")
    assert cast.reading(KEY).state.fields["tags"] == ["early"]


@pytest.mark.parametrize(("change", "refusal"), CHANGES)
def test_a_command_that_began_before_the_change_and_judges_authority_after_it_is_refused(
    agent: Principal, monkeypatch: pytest.MonkeyPatch, change: Change, refusal: type[ClearanceError]
) -> None:
    command, withdrawal = Actor("command", lambda: add_tag(agent, "early")), Actor("withdrawal", change)

    with stopped_after(monkeypatch, (actions, "claim_id"), command) as gate:
        command.start()
        gate.wait_until_reached()
        withdrawal.start()
        wait_until_blocked(withdrawal, by=command)

    assert isinstance(command.error(), refusal)
    withdrawal.result()
    assert cast.reading(KEY).version == 1


@pytest.mark.parametrize(("change", "refusal"), CHANGES)
def test_a_command_that_begins_while_the_change_waits_waits_behind_it_and_is_refused(
    agent: Principal, monkeypatch: pytest.MonkeyPatch, change: Change, refusal: type[ClearanceError]
) -> None:
    under_way, withdrawal = Actor("under way", lambda: add_tag(agent, "early")), Actor("withdrawal", change)
    late = Actor("late", lambda: add_tag(agent, "late"))

    with stopped_after(monkeypatch, (store, "step"), under_way) as gate:
        under_way.start()
        gate.wait_until_reached()
        withdrawal.start()
        wait_until_blocked(withdrawal, by=under_way)
        late.start()
        wait_until_blocked(late, by=withdrawal)

    assert under_way.result().state == "committed"
    assert isinstance(late.error(), refusal)
    assert cast.reading(KEY).state.fields["tags"] == ["early"]


def test_without_waiting_for_older_writes_one_commits_after_the_halt_was_acknowledged(
    agent: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(administration, "await_older_writes", lambda: None)
    command = Actor("command", lambda: add_tag(agent, "after the halt"))

    with stopped_after(monkeypatch, (store, "step"), command) as gate:
        command.start()
        gate.wait_until_reached()
        the_installation_is_halted()
        version_when_acknowledged = cast.reading(KEY).version

    assert (version_when_acknowledged, command.result().state) == (1, "committed")


def test_two_changes_of_authority_at_once_take_turns_and_each_gets_an_epoch(
    agent: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Actor("first", the_installation_is_halted), Actor("second", the_workflow_is_suspended)
    before = store.read(KEY).authority_epoch

    with stopped_after(monkeypatch, (administration, "raise_epoch"), first) as gate:
        first.start()
        gate.wait_until_reached()
        second.start()
        wait_until_blocked(second, by=first)

    first.result(), second.result()
    assert store.read(KEY).authority_epoch == before + 2
