"""One's own account: roles as admins gave them, and where one wants to be told."""

import pytest

from runs.preferences import Choice, read_choice
from tests import cast
from tests.console.web.visitor import stranger, visit

pytestmark = pytest.mark.django_db

PAGE, ACTION = "/account/", "/account/notifications/"


def test_it_says_who_one_is_here() -> None:
    text = visit(cast.ada()).get(PAGE).text

    assert "ada" in text
    assert "operator" in text
    assert "refund-operators, report-operators" in text
    assert stranger().get(PAGE).status == 302


def test_a_choice_is_kept_and_shown() -> None:
    ada = visit(cast.ada())
    assert "by_email" not in ada.get(PAGE).form(ACTION)

    answer = ada.post(ACTION, ada.get(PAGE).form(ACTION) | {"by_email": "on", "address": "ada@example.com"})

    assert answer.status == 303
    assert read_choice(cast.ada().id) == Choice("ada@example.com", by_email=True)
    assert ada.get(PAGE).form(ACTION)["address"] == "ada@example.com"


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("", "Say to which address."),
        ("nowhere", "Enter a valid email"),
        ("a@b.com\nBcc: c@d.com", "Enter a valid email"),
    ],
)
def test_mail_needs_an_address(address: str, words: str) -> None:
    ada = visit(cast.ada())

    answer = ada.post(ACTION, {"by_email": "on", "address": address})

    assert (answer.status, words in answer.text) == (422, True)
    assert not read_choice(cast.ada().id).by_email


def test_who_neither_settles_nor_reviews_is_told_that_nothing_is_sent() -> None:
    words = "As long as you are neither, nothing is sent."
    assert words in visit(cast.eli()).get(PAGE).text
    assert not any(words in visit(who).get(PAGE).text for who in (cast.ada(), cast.ben()))


def test_a_get_chooses_nothing() -> None:
    assert visit(cast.ada()).get(ACTION).status == 405
