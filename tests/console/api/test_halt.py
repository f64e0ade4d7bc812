"""`/halt/`: in force with the answer, and what is under way outside is counted."""

from typing import Any

import pytest

from tests import cast
from tests.console.api.caller import Caller, Response, as_agent, as_nobody, as_person, problem, told

pytestmark = pytest.mark.django_db


@pytest.fixture
def dora() -> Caller:
    cast.workflow()
    return as_person(cast.dora())


def switch(who: Caller, on: Any = True, id: str = "h-1") -> Response:
    return who.post("/halt/", {"id": id, "on": on, "reason": "It misbehaves."})


def test_a_halt_is_in_force_with_the_answer_and_stops_agents(dora: Caller) -> None:
    agent = as_agent(cast.agent())
    cast.run_received()

    assert told(switch(dora)) == {"on": True, "in_force": True, "in_flight": 0}

    problem(agent.command("R-42", "record-contact", tag='"1.1"'), 403, "halted")


def test_everybody_may_know_that_it_is_on(dora: Caller) -> None:
    assert told(dora.get("/halt/"))["on"] is False
    switch(dora)

    body = told(as_agent(cast.agent()).get("/halt/"))

    assert (body["on"], body["in_force"], body["by"], body["reason"]) == (True, True, "user:dora", "It misbehaves.")
    problem(as_nobody().get("/halt/"), 401, "unauthenticated")


def test_a_halt_ends_and_a_repeat_does_not_begin_it_again(dora: Caller) -> None:
    switch(dora)
    switch(dora, on=False, id="h-2")

    again = switch(dora)

    assert again.headers["Idempotent-Replayed"] == "true"
    assert told(dora.get("/halt/"))["on"] is False


def test_only_admins_halt(dora: Caller) -> None:
    problem(switch(as_person(cast.ada())), 403, "forbidden")
    problem(switch(as_person(cast.eli())), 403, "forbidden")
    problem(switch(as_agent(cast.agent())), 403, "agents-cannot-decide")
    problem(switch(as_nobody()), 401, "unauthenticated")


@pytest.mark.parametrize("on", ["on", 1, None])
def test_a_halt_is_true_or_false(dora: Caller, on: Any) -> None:
    problem(switch(dora, on=on), 422, "invalid-params")
