"""The links around every page: only what exists, only for whom it is, with the numbers that screens give."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from django.urls import include, path
from pytest_django.fixtures import Settings

from console import context


def screen(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


urlpatterns = [
    path("", include(([path("", screen, name="list")], "inbox"))),
    path("runs/", include(([path("", screen, name="list")], "runs"))),
    path("people/", include(([path("", screen, name="list")], "people"))),
    path("password/", screen, name="account_change_password"),
]


@pytest.fixture(autouse=True)
def _site(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ROOT_URLCONF = __name__
    monkeypatch.setattr(context, "COUNT_PROVIDERS", [])


def asked(url: str = "/", *roles: str, cookies: dict[str, str] | None = None) -> HttpRequest:
    request = RequestFactory().get(url)
    request.user = SimpleNamespace(is_authenticated=True, roles=list(roles))  # type: ignore[assignment]  # no database
    request.COOKIES.update(cookies or {})
    return request


def shown(request: HttpRequest) -> dict[str, Any]:
    return context.navigation(request)


def test_only_screens_that_exist_have_a_link() -> None:
    assert [item.label for item in shown(asked())["navigation"]] == ["Inbox", "Runs"]


@pytest.mark.parametrize(
    ("url", "current"),
    [("/", "inbox"), ("/escalations/1/", "inbox"), ("/runs/", "runs"), ("/runs/R-42/", "runs"), ("/people/", None)],
)
def test_the_link_of_the_shown_screen_says_so(url: str, current: str | None) -> None:
    items = shown(asked(url))["navigation"]

    assert [item.key for item in items if item.current] == ([current] if current else [])


def test_a_screen_gives_the_number_beside_its_link(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "COUNT_PROVIDERS", [lambda request: {"inbox": 7}])

    assert [(item.key, item.count) for item in shown(asked())["navigation"]] == [("inbox", 7), ("runs", None)]


@pytest.mark.parametrize(("role", "labels"), [("reviewer", ["Password"]), ("admin", ["Password", "People"])])
def test_links_to_what_oversees_are_for_those_who_oversee(role: str, labels: list[str]) -> None:
    assert [link["label"] for link in shown(asked("/", role))["account_links"]] == labels


def test_queues_lead_to_the_inbox_and_have_keys() -> None:
    assert [(queue["url"], queue["hotkey"]) for queue in shown(asked())["queues"]] == [
        ("/?queue=reviews", "g r"),
        ("/?queue=escalations", "g e"),
        ("/?queue=repairs", "g x"),
    ]


def test_a_stranger_sees_no_link_and_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(request: HttpRequest) -> dict[str, int]:
        raise AssertionError("counted for a stranger")

    monkeypatch.setattr(context, "COUNT_PROVIDERS", [never])
    early = RequestFactory().get("/")
    stranger = RequestFactory().get("/")
    stranger.user = SimpleNamespace(is_authenticated=False)  # type: ignore[assignment]  # no database

    for request in (early, stranger):
        assert not any(context.navigation(request).values())


@pytest.mark.parametrize(
    ("cookie", "theme"), [("dark", "dark"), ("light-tritanopia", "light-tritanopia"), ('"><x', "auto"), (None, "auto")]
)
def test_the_theme_is_one_of_ours_whatever_the_cookie_says(cookie: str | None, theme: str) -> None:
    request = asked(cookies={context.THEME_COOKIE: cookie} if cookie else None)

    assert context.appearance(request)["theme"] == theme


def test_single_keys_are_on_until_they_are_turned_off() -> None:
    assert context.appearance(asked())["single_keys"] is True
    assert context.appearance(asked(cookies={context.KEYS_COOKIE: "off"}))["single_keys"] is False
