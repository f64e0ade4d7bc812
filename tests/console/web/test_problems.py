"""Pages that explain problems, and refusals as people at a screen meet them."""

import re

import pytest
from django.test import Client

from console.problems import PROBLEMS

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.console.api.door_urls")]

HTMX = {"HX-Request": "true", "HX-Current-URL": "http://testserver/runs/R-42/?tab=fields"}


@pytest.fixture
def client() -> Client:
    return Client(raise_request_exception=False)


def words(html: bytes) -> str:
    """The text of a page as somebody reads it."""
    return " ".join(re.sub(r"<[^>]+>", " ", html.decode()).split())


# ---- explanations ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", PROBLEMS)
def test_the_type_of_every_problem_is_a_page_that_explains_it(client: Client, code: str) -> None:
    response = client.get(f"/problems/{code}")

    assert response.status_code == 200
    page = words(response.content)
    assert PROBLEMS[code].title in page.replace("&#x27;", "'")
    assert code in page


def test_the_list_leads_to_every_problem(client: Client) -> None:
    page = client.get("/problems/").content.decode()

    assert re.findall(r'href="/problems/([a-z-]+)"', page) == sorted(PROBLEMS)


def test_a_code_that_does_not_exist_is_not_found(client: Client) -> None:
    response = client.get("/problems/all-is-well")

    assert response.status_code == 404
    assert response.headers["Content-Type"].startswith("text/html")


# ---- refusals --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "status"),
    [
        ("busy", 503),
        ("bug", 500),
        ("denied", 403),
        ("absent", 404),
        ("suspicious", 400),
        ("huge", 413),
        ("decided", 409),
    ],
)
def test_a_refusal_is_a_page_without_internal_words(client: Client, how: str, status: int) -> None:
    response = client.get(f"/failing/{how}/")

    assert response.status_code == status
    assert response.headers["Content-Type"].startswith("text/html")
    assert "<h1" in response.content.decode()
    for internal in (b"SELECT", b"10.0.0.7", b"internal words", b"Traceback"):
        assert internal not in response.content


def test_a_page_of_failure_shows_the_id_under_which_it_was_logged(client: Client) -> None:
    response = client.get("/failing/bug/")

    assert response.headers["X-Correlation-Id"] in words(response.content)


def test_htmx_gets_the_fragment_and_not_the_page(client: Client) -> None:
    response = client.get("/failing/decided/", headers=HTMX)

    assert response.status_code == 409
    assert b"<html" not in response.content
    assert "already decided" in words(response.content)
    assert "HX-Request" in response.headers["Vary"]


def test_what_moved_is_shown_field_by_field_with_the_way_to_the_page_that_asked(client: Client) -> None:
    response = client.get("/failing/moved-fields/", headers=HTMX)

    shown = words(response.content)
    assert response.status_code == 412
    assert "moved to version 21" in shown
    assert "category" in shown
    assert 'href="/runs/R-42/?tab=fields"' in response.content.decode()


def test_a_conflict_that_names_no_field_is_told_in_its_own_words(client: Client) -> None:
    assert "Mara changed it." in words(client.get("/failing/moved/", headers=HTMX).content)


def test_a_form_older_than_the_sign_in_leads_to_signing_in_and_back() -> None:
    client = Client(enforce_csrf_checks=True)

    page = client.post("/form/", {"verb": "approve"})
    fragment = client.post("/form/", {"verb": "approve"}, headers=HTMX)

    assert (page.status_code, fragment.status_code) == (403, 403)
    assert "no longer valid" in words(page.content)
    assert "Sign in again" in words(fragment.content)
    assert "next=/runs/R-42/%3Ftab%3Dfields" in fragment.content.decode()


def test_an_address_of_elsewhere_is_never_the_way_back(client: Client) -> None:
    fragment = client.get("/failing/moved-fields/", headers={**HTMX, "HX-Current-URL": "javascript:alert(1)"})

    assert "javascript" not in fragment.content.decode()


def test_a_body_too_large_for_a_form_is_refused_before_it_is_read(client: Client) -> None:
    response = client.post("/form/", b"a=" + b"x" * 1024 * 1024, content_type="application/x-www-form-urlencoded")

    assert response.status_code == 413


@pytest.mark.parametrize(("address", "status"), [("/runs/?q=%00", 400), ("/runs/%00/", 404)])
def test_a_nul_in_an_address_is_turned_away(client: Client, address: str, status: int) -> None:
    assert client.get(address).status_code == status
