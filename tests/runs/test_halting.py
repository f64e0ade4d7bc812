"""The halt as admins switch it: in force when answered, once per id, and told truly to everybody else."""

from typing import Any

import pytest

from runs.errors import AgentsCannotDecide, Forbidden, Halted
from runs.halting import HaltRequest, read_halt, switch_halt
from runs.models import AuthorityChange
from runs.values import Principal
from tests import cast

pytestmark = pytest.mark.django_db


def switched(who: Principal, on: bool, id_: str = "h-1") -> Any:
    return switch_halt(who, HaltRequest(id_, on, "It misbehaves."))


def test_there_is_no_halt_at_first() -> None:
    assert read_halt() is None


def test_a_halt_stops_agents_and_says_who_and_why() -> None:
    agent, dora = cast.agent().principal, cast.dora()
    cast.run_received()

    assert switched(dora, on=True).made["on"] is True

    halt = read_halt()
    assert halt is not None
    assert (halt.by, halt.reason, halt.in_force) == ("user:dora", "It misbehaves.", True)
    with pytest.raises(Halted):
        cast.command(agent, "R-42", "add-tag", tag="vip")


def test_going_on_waits_for_nobody() -> None:
    dora = cast.dora()
    switched(dora, on=True)

    switched(dora, on=False, id_="h-2")

    assert read_halt() is None


def test_the_same_request_again_halts_nothing_again() -> None:
    dora = cast.dora()
    switched(dora, on=True)
    switched(dora, on=False, id_="h-2")

    assert switched(dora, on=True).is_replay
    assert read_halt() is None
    assert AuthorityChange.objects.filter(kind="halt.on").count() == 1


@pytest.mark.parametrize("who", [cast.ada, cast.ben, cast.eli])
def test_only_admins_halt(who: Any) -> None:
    with pytest.raises(Forbidden):
        switched(who(), on=True)


def test_no_agent_halts() -> None:
    cast.workflow()
    with pytest.raises(AgentsCannotDecide):
        switched(cast.agent().principal, on=True)
