"""A second admin's confirmation against another one, against a change of what it rests on, and against commands."""

from typing import Any

import pytest

from runs import confirmations, policies, store
from runs.administration import newest_policy
from runs.errors import AlreadyDecided, LimitExceeded
from runs.halting import HaltRequest, read_halt, switch_halt
from runs.models import PolicyVersion
from runs.requests import Answer
from runs.states import Role
from runs.values import Principal
from tests import cast
from tests.admins import confirmed, dan, only_step, policy_change
from tests.sync import Actor, stopped_after, wait_until_blocked


@pytest.fixture
def dora() -> Principal:
    cast.workflow()
    return cast.dora()


@pytest.fixture
def waiting(dora: Principal) -> str:
    ref = policy_change(dora, limits={"refund_amount": "900.00"}).waiting
    assert ref is not None
    return ref


def test_two_confirmations_at_once_put_it_in_force_once(waiting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = dan(), cast.person("finn", Role.ADMIN)
    first, second = Actor("first", lambda: confirmed(one, waiting)), Actor("second", lambda: confirmed(other, waiting))

    with stopped_after(monkeypatch, (policies, "store_policy"), first) as gate:
        first.start()
        gate.wait_until_reached()
        second.start()
        wait_until_blocked(second, by=first)

    assert first.result().answer["state"] == "confirmed"
    assert isinstance(second.error(), AlreadyDecided)
    assert only_step().settled_by == "user:dan"
    assert PolicyVersion.objects.filter(slug="refund").count() == 2


def test_a_change_that_comes_first_makes_the_confirmation_void(
    dora: Principal, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = dan()
    change: Actor[Answer] = Actor("change", lambda: policy_change(dora, on=1, quorum=2))
    confirmation = Actor("confirmation", lambda: confirmed(other, waiting))

    with stopped_after(monkeypatch, (policies, "store_policy"), change) as gate:
        change.start()
        gate.wait_until_reached()
        confirmation.start()
        wait_until_blocked(confirmation, by=change)

    change.result()
    assert isinstance(confirmation.error(), AlreadyDecided)
    policy = newest_policy("refund")
    assert (policy.version, policy.quorum, dict(policy.limits)) == (2, 2, {"refund_amount": "500.00"})
    assert only_step().state == "void"


def test_a_confirmation_that_comes_first_makes_the_change_stale(
    dora: Principal, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = dan()
    change: Actor[Answer] = Actor("change", lambda: policy_change(dora, on=1, quorum=2))
    confirmation = Actor("confirmation", lambda: confirmed(other, waiting))

    with stopped_after(monkeypatch, (policies, "store_policy"), confirmation) as gate:
        confirmation.start()
        gate.wait_until_reached()
        change.start()
        wait_until_blocked(change, by=confirmation)

    confirmation.result()
    assert change.error().code == "version-conflict"  # type: ignore[attr-defined]  # a domain error has a code
    policy = newest_policy("refund")
    assert (policy.version, policy.quorum, dict(policy.limits)) == (2, 1, {"refund_amount": "900.00"})


def test_the_same_confirmation_delivered_twice_at_once_is_one(waiting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    who = dan()
    first, second = (Actor(name, lambda: confirmed(who, waiting, id_="c-1")) for name in ("first", "second"))

    with stopped_after(monkeypatch, (policies, "store_policy"), first) as gate:
        first.start()
        gate.wait_until_reached()
        second.start()
        wait_until_blocked(second, by=first)

    assert (first.result().is_replay, second.result().is_replay) == (False, True)
    assert first.result().answer == second.result().answer
    assert PolicyVersion.objects.filter(slug="refund").count() == 2


def test_without_looking_at_what_it_rests_on_a_confirmation_would_undo_the_change(
    dora: Principal, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy_change(dora, limits={"refund_amount": "100.00"})
    monkeypatch.setattr(confirmations, "overtaken_by", lambda *_: "")

    confirmed(dan(), waiting)

    assert dict(newest_policy("refund").limits) == {"refund_amount": "900.00"}


def test_a_lower_limit_is_answered_only_when_no_command_above_it_can_still_commit(
    dora: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = cast.agent().principal
    cast.run_received()
    above: dict[str, Any] = {"amount": "400.00", "currency": "EUR"}
    command = Actor("command", lambda: cast.command(agent, "R-42", "set-refund-amount", on=1, **above))
    change: Actor[Answer] = Actor("change", lambda: policy_change(dora, on=1, limits={"refund_amount": "20.00"}))

    with stopped_after(monkeypatch, (store, "step"), command) as gate:
        command.start()
        gate.wait_until_reached()
        change.start()
        wait_until_blocked(change, by=command)

    assert command.result().state == "committed"
    change.result()
    with pytest.raises(LimitExceeded):
        cast.command(agent, "R-42", "set-refund-amount", **above)


def test_a_halt_is_not_called_in_force_while_an_older_command_can_still_commit(
    dora: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = cast.agent().principal
    cast.run_received()
    command = Actor("command", lambda: cast.command(agent, "R-42", "add-tag", on=1, tag="early"))
    halt: Actor[Answer] = Actor("halt", lambda: switch_halt(dora, HaltRequest("h-1", True, "It misbehaves.")))

    with stopped_after(monkeypatch, (store, "step"), command) as gate:
        command.start()
        gate.wait_until_reached()
        halt.start()
        wait_until_blocked(halt, by=command)
        seen = read_halt()

    halt.result()
    later = read_halt()
    assert seen is not None
    assert later is not None
    assert (seen.in_force, later.in_force) == (False, True)
