"""Page or fragment: one template answers a browser, htmx and a poll."""

from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.http import HttpRequest
from django.test import RequestFactory
from pytest_django.fixtures import Settings

from console.rendering import render_screen, unchanged

PART = {"HX-Request": "true", "HX-Request-Type": "partial"}
PAGE = (
    "{% load partials %}<html>{% partialdef number inline %}<p id='number'>{{ number }}</p>{% endpartialdef %}</html>"
)


@pytest.fixture(autouse=True)
def _page(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(PAGE)
    templates = deepcopy(settings.TEMPLATES)
    templates[0]["DIRS"] = [tmp_path]
    settings.TEMPLATES = templates


def asked(headers: dict[str, str] | None = None) -> HttpRequest:
    request = RequestFactory().get("/", headers=headers or {})
    request.user = SimpleNamespace(is_authenticated=False)  # type: ignore[assignment]  # a stranger
    return request


def test_a_browser_gets_the_page() -> None:
    response = render_screen(asked(), "page.html", {"number": 7}, fragment="number")

    assert response.content == b"<html><p id='number'>7</p></html>"


def test_htmx_gets_the_fragment_the_view_named() -> None:
    response = render_screen(asked(PART), "page.html", {"number": 7}, fragment="number", status=412)

    assert response.content == b"<p id='number'>7</p>"
    assert response.status_code == 412


@pytest.mark.parametrize("headers", [PART | {"HX-History-Restore-Request": "true"}, PART | {"HX-Request-Type": "full"}])
def test_a_restored_history_and_a_request_for_the_body_get_the_page(headers: dict[str, str]) -> None:
    response = render_screen(asked(headers), "page.html", {"number": 7}, fragment="number")

    assert response.content.startswith(b"<html>")


def test_a_screen_without_a_fragment_is_always_a_page() -> None:
    assert render_screen(asked(PART), "page.html", {}).content.startswith(b"<html>")


@pytest.mark.parametrize("headers", [{}, PART])
def test_both_answers_are_kept_apart_and_by_nobody(headers: dict[str, str]) -> None:
    response = render_screen(asked(headers), "page.html", {}, fragment="number")

    assert response["Vary"] == "HX-Request"
    assert "no-store" in response["Cache-Control"]
    assert "private" in response["Cache-Control"]


def test_a_poll_that_already_shows_the_tag_is_answered_empty() -> None:
    shown = render_screen(asked(PART), "page.html", {}, fragment="number", tag="v7")

    response = unchanged(asked(PART | {"HX-PTag": shown["HX-PTag"]}), "v7")

    assert response is not None
    assert (response.status_code, response.content) == (304, b"")
    assert response["Vary"] == "HX-Request"


@pytest.mark.parametrize("headers", [PART, PART | {"HX-PTag": "v6"}, {"HX-PTag": "v7"}])
def test_any_other_request_is_answered_in_full(headers: dict[str, str]) -> None:
    assert unchanged(asked(headers), "v7") is None
