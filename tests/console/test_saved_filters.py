"""Named filters beside a list: saved from its address, shown to their person alone, forgotten by a click."""

import pytest

from runs.preferences import list_filters
from tests import cast
from tests.console.web.visitor import visit

pytestmark = pytest.mark.django_db

PAGE, SAVE, REMOVE = "/audit/", "/saved-filters/save/", "/saved-filters/remove/"


def test_a_list_without_filters_offers_nothing_to_save() -> None:
    assert not visit(cast.ada()).get(PAGE).has_form(SAVE)


def test_filters_are_saved_without_the_place_in_the_list_and_lead_back() -> None:
    ada = visit(cast.ada())
    drawn = ada.get(PAGE, kind="command.", actor="").form(SAVE)
    assert (drawn["screen"], drawn["query"]) == (PAGE, "kind=command.")

    answer = ada.post(SAVE, drawn | {"name": "Commands", "query": "kind=command.&after=xyz&actor="})

    assert (answer.status, answer.header("Location")) == (303, "/audit/?kind=command.")
    assert 'href="/audit/?kind=command."' in ada.get(PAGE).html
    assert "Commands" not in visit(cast.person_operating("mara")).get("/audit/", kind="x").form(SAVE).values()


def test_one_is_forgotten_by_a_click() -> None:
    ada = visit(cast.ada())
    ada.post(SAVE, {"screen": PAGE, "name": "Commands", "query": "kind=command."})

    ada.post(REMOVE, ada.get(PAGE).form(REMOVE))

    assert list_filters(cast.ada().id, PAGE) == []


def test_a_name_is_shown_as_text() -> None:
    ada = visit(cast.ada())
    ada.post(SAVE, {"screen": PAGE, "name": "<b>mine</b>", "query": "kind=command."})

    assert "<b>mine</b>" not in ada.get(PAGE).html


def test_a_bad_name_is_said_and_nothing_is_kept() -> None:
    ada = visit(cast.ada())

    ada.post(SAVE, {"screen": PAGE, "name": " ", "query": "kind=command."})

    assert "One line of at most 80 characters." in ada.get(PAGE).text
    assert list_filters(cast.ada().id, PAGE) == []


@pytest.mark.parametrize("screen", ["https://evil.example/", "//evil.example/", "/nothing/", ""])
def test_only_pages_of_this_console_are_led_back_to(screen: str) -> None:
    ada = visit(cast.ada())

    assert ada.post(SAVE, {"screen": screen, "name": "x", "query": ""}).status == 404
    assert ada.post(REMOVE, {"screen": screen, "name": "x"}).status == 404


def test_a_get_keeps_nothing() -> None:
    assert visit(cast.ada()).get(SAVE).status == 405
    assert visit(cast.ada()).get(REMOVE).status == 405
