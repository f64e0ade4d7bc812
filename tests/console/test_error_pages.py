"""The full pages of refusals: each can be drawn when nothing else works, and says what was and was not done."""

import re

import pytest
from django.template.loader import render_to_string

CODES = ["400", "403", "403_csrf", "404", "429", "500", "503"]


@pytest.mark.parametrize("code", CODES)
def test_a_page_needs_no_request_no_session_and_no_database(code: str) -> None:
    html = render_to_string(f"errors/{code}.html")

    assert html.count("<main") == html.count("<h1") == 1
    assert f">{code[:3]}<" in html
    assert re.search(r"<title>[^<]+ · Clearance</title>", html)


@pytest.mark.parametrize("code", CODES)
def test_a_page_loads_no_script(code: str) -> None:
    assert "<script" not in render_to_string(f"errors/{code}.html")


@pytest.mark.parametrize("code", ["400", "403", "403_csrf", "429"])
def test_a_refusal_says_that_nothing_was_changed(code: str) -> None:
    assert "Nothing was changed" in render_to_string(f"errors/{code}.html")


def test_an_error_of_ours_does_not_claim_to_know_what_was_recorded() -> None:
    html = render_to_string("errors/500.html", {"request_id": "abc-123"})

    assert "not known from here" in html
    assert "abc-123" in html


def test_a_detail_is_text_whatever_it_holds() -> None:
    html = render_to_string("errors/403.html", {"detail": "<b>no\u202e</b>"})

    assert "&lt;b&gt;no" in html
    assert "⟨U+202E⟩" in html


def test_too_many_requests_say_how_long_to_wait() -> None:
    assert "Wait 7 seconds" in render_to_string("errors/429.html", {"retry_after": 7})
    assert "Wait a minute" in render_to_string("errors/429.html")
