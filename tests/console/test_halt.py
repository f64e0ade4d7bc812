"""The halt as pages tell it: a banner on every page while it is on, and the switch for admins alone."""

from typing import Any

import pytest

from console import halt
from runs.administration import By, set_halt
from tests import cast
from tests.console.web.visitor import stranger, visit

pytestmark = pytest.mark.django_db

BY = By("user:dora", "A key <b>leaked</b>.")


def test_nothing_is_said_while_nothing_is_halted() -> None:
    assert "Halted" not in visit(cast.ada()).get("/runs/").text


@pytest.mark.parametrize("who", [cast.ada, cast.ben, cast.cy, cast.dora, cast.eli])
def test_the_banner_is_on_every_page_for_everybody(who: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(halt, "IN_FLIGHT", [lambda: 2, lambda: 1])
    set_halt(True, BY)

    for path in ("/", "/runs/", "/workflows/"):
        page = visit(who()).get(path)
        assert "Halted" in page.text
        assert "by person dora : A key <b>leaked</b>. In force. 3 in flight." in page.text
        assert "<b>leaked</b>" not in page.html


def test_a_stranger_learns_nothing_of_it() -> None:
    set_halt(True, BY)

    assert "Halted" not in stranger().get("/accounts/login/").text


def test_the_switch_is_in_the_head_of_every_page_for_admins_alone() -> None:
    assert 'href="/halt/"' in visit(cast.dora()).get("/runs/").html
    assert 'href="/halt/"' not in visit(cast.eli()).get("/runs/").html


def test_the_banner_costs_one_statement() -> None:
    ada = visit(cast.ada())
    ada.get("/problems/")
    without = ada.cost("/problems/")

    set_halt(True, BY)
    ada.get("/problems/")

    assert ada.cost("/problems/") - without <= 2  # whether it is in force, and how many are in flight
