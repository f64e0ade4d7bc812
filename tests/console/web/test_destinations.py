"""The pages about destinations: nothing is in force before a second admin agreed."""

from typing import Any

import pytest
from pytest_django import Settings

from approvals.destinations import Terms, newest_revision, register_destination
from console.waiting_kinds import KINDS
from runs.confirmations import Settling, confirm
from runs.models import WaitingStep
from tests import cast
from tests.admins import dan, number, only_step
from tests.console.web.visitor import Answer, Visitor, visit

pytestmark = pytest.mark.django_db

CREATE = "/destinations/+new/"
CHANGE = "/destinations/payments/change/"
TERMS = Terms("http", "https://pay.example.com/v1", recognises_repeats=True, key_retention_seconds=86400)


@pytest.fixture
def dora(settings: Settings) -> Visitor:
    settings.CLEARANCE_ALLOW_PRIVATE_DESTINATIONS = False
    return visit(cast.dora())


def created(who: Visitor, **typed: Any) -> Answer:
    drawn = who.get("/destinations/").form(CREATE)
    return who.post(CREATE, drawn | {"name": "payments", "url": TERMS.url, "reason": "They pay."} | typed)


def confirm_it() -> None:
    confirm(KINDS, dan(), f"w-{only_step().pk.hex}", Settling(number(), "I called them."))


def test_a_destination_waits_and_is_there_once_confirmed(dora: Visitor) -> None:
    created(dora, recognises_repeats="on", key_retention_seconds="24h")

    assert "A second admin has to confirm" in dora.get("/destinations/").text
    assert newest_revision("payments") is None
    confirm_it()

    row = newest_revision("payments")
    assert row is not None
    assert (row.url, row.recognises_repeats, row.key_retention_seconds, row.settle_after_seconds) == (
        TERMS.url, True, 86400, 600,
    )  # fmt: skip
    assert "a repeat is safe" in dora.get("/destinations/").text


def test_a_change_begins_with_what_is_and_waits(dora: Visitor) -> None:
    register_destination("payments", TERMS, cast.SETUP)
    drawn = dora.get("/destinations/payments/").form(CHANGE)
    assert (drawn["url"], drawn["key_retention_seconds"], drawn["recognises_repeats"]) == (TERMS.url, "1d", "on")

    dora.post(CHANGE, drawn | {"url": "https://pay.example.com/v2", "reason": "They moved."})

    page = dora.get("/confirmations/").text
    assert "url was https://pay.example.com/v1 is https://pay.example.com/v2" in page
    confirm_it()
    text = dora.get("/destinations/payments/").text
    assert "Revision 2 by person dora" in text
    assert "Revision 1 by person at the command line tests without a second person" in text


def test_what_differs_in_nothing_waits_for_nobody(dora: Visitor) -> None:
    register_destination("payments", TERMS, cast.SETUP)

    dora.post(CHANGE, dora.get("/destinations/payments/").form(CHANGE) | {"reason": "Just so."})

    assert "Nothing differs from what is registered." in dora.get("/destinations/payments/").text
    assert not WaitingStep.objects.exists()


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"url": "http://pay.example.com/"}, "It has to begin with https://"),
        ({"url": "https://127.1/"}, "none in its usual form"),
        ({"url": "https://169.254.169.254/"}, "special range"),
        ({"lookup_url": "https://user@pay.example.com/"}, "Write a plain URL"),
        ({"name": "Pay ments"}, "Write a lower-case letter"),
        ({"settle_after_seconds": "later"}, "Write a whole number and a unit"),
        ({"max_in_flight": "0"}, "greater than or equal to 1"),
        ({"signing_secret_env": "not a name"}, "The name of a variable"),
        ({"reason": ""}, "Say why"),
    ],
)
def test_a_fault_stands_beside_what_was_typed(dora: Visitor, typed: dict[str, str], words: str) -> None:
    answer = created(dora, **typed)

    assert (answer.status, words in answer.text) == (422, True)
    ((name, value),) = typed.items()
    assert answer.form(CREATE)[name] == value
    assert not WaitingStep.objects.exists()


@pytest.mark.parametrize("who", [cast.ada, cast.ben, cast.cy])
def test_only_admins_and_auditors_look_and_only_admins_ask(dora: Visitor, who: Any) -> None:
    register_destination("payments", TERMS, cast.SETUP)
    visitor = visit(who())
    assert visitor.get("/destinations/").status == 403
    assert visitor.get("/destinations/payments/").status == 403
    given = {"id": "x", "name": "more", "adapter": "http", "url": TERMS.url, "settle_after_seconds": "10m"}
    for path in (CREATE, CHANGE):
        assert visitor.post(path, given | {"max_in_flight": "4", "reason": "Mine."}).status == 403
    auditor = visit(cast.eli()).get("/destinations/payments/")
    assert TERMS.url in auditor.text
    assert not auditor.has_form(CHANGE)


def test_a_get_asks_for_nothing(dora: Visitor) -> None:
    assert dora.get(CREATE).status == 405
    assert dora.get(CHANGE).status == 405
    assert dora.get("/destinations/nothing/").status == 404
    assert "No destination yet" in dora.get("/destinations/").text
