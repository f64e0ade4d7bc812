"""The switch: in force when the page answers, for admins, with a reason."""

from typing import Any

import pytest

from runs.errors import Halted
from runs.halting import read_halt
from tests import cast
from tests.console.web.visitor import Visitor, visit

pytestmark = pytest.mark.django_db

PAGE = "/halt/"


@pytest.fixture
def dora() -> Visitor:
    return visit(cast.dora())


def test_it_is_in_force_when_the_page_answers_and_ends_the_same_way(dora: Visitor) -> None:
    agent = cast.agent()
    cast.run_received()

    dora.post(PAGE, dora.get(PAGE).form(PAGE) | {"reason": "A key leaked."})

    page = dora.get(PAGE).text
    assert "Halted, in force. 0 in flight will end as they end." in page
    assert "The installation is halted" in page
    with pytest.raises(Halted):
        cast.command(agent.principal, "R-42", "add-tag", tag="vip")

    dora.post(PAGE, dora.get(PAGE).form(PAGE) | {"reason": "It is replaced."})
    assert "It goes on." in dora.get(PAGE).text
    assert read_halt() is None


def test_a_second_click_changes_nothing(dora: Visitor) -> None:
    drawn = dora.get(PAGE).form(PAGE) | {"reason": "A key leaked."}
    dora.post(PAGE, drawn)
    dora.post(PAGE, dora.get(PAGE).form(PAGE) | {"reason": "It is replaced."})

    dora.post(PAGE, drawn)

    assert read_halt() is None


def test_a_reason_is_needed(dora: Visitor) -> None:
    answer = dora.post(PAGE, dora.get(PAGE).form(PAGE) | {"reason": " "})

    assert (answer.status, "Say why" in answer.text) == (422, True)
    assert read_halt() is None


@pytest.mark.parametrize("who", [cast.ada, cast.ben, cast.cy, cast.eli])
def test_it_is_for_admins(who: Any) -> None:
    visitor = visit(who())

    assert visitor.get(PAGE).status == 403
    assert visitor.post(PAGE, {"id": "x", "on": "yes", "reason": "Mine."}).status == 403
    assert read_halt() is None
