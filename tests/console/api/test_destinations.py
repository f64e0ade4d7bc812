"""`/destinations/`: where effects may go, and that a second admin always agrees."""

from typing import Any

import pytest
from pytest_django import Settings

from tests import cast
from tests.admins import dan
from tests.console.api.caller import Caller, Response, as_agent, as_nobody, as_person, problem, told

pytestmark = pytest.mark.django_db

REASON = "because the test says so"
PAYMENTS = {"name": "payments", "adapter": "http", "url": "https://pay.example.com/v1"}


@pytest.fixture
def dora(settings: Settings) -> Caller:
    settings.CLEARANCE_ALLOW_PRIVATE_DESTINATIONS = False
    return as_person(cast.dora())


def create(who: Caller, id: str = "d-1", **members: Any) -> Response:
    return who.post("/destinations/", {"id": id, "reason": REASON, **PAYMENTS, **members})


def change(who: Caller, id: str = "d-2", **members: Any) -> Response:
    return who.patch("/destinations/payments/", {"id": id, "reason": REASON, **members})


def confirm(response: Response, id: str = "c-1") -> dict[str, Any]:
    waiting = told(response, 202)["waiting"]
    body = told(as_person(dan()).post(f"/confirmations/{waiting}/", {"id": id, "reason": "I called them."}), 201)
    result: dict[str, Any] = body["result"]
    return result


def test_a_destination_is_there_when_a_second_admin_agreed(dora: Caller) -> None:
    asked = create(dora, idempotency_key="on", key_retention="24h", settle_after="5m", max_in_flight=2)
    problem(dora.get("/destinations/payments/"), 404, "not-found")

    result = confirm(asked)

    assert told(dora.get("/destinations/payments/")) == result
    assert (result["revision"], result["idempotency_key"], result["key_retention"]) == (1, True, "1d")
    assert (result["settle_after"], result["max_in_flight"], result["matches_payload"]) == ("5m", 2, False)


def test_a_change_keeps_what_it_does_not_name(dora: Caller) -> None:
    confirm(create(dora, idempotency_key=True, key_retention=3600))

    result = confirm(change(dora, url="https://pay.example.com/v2"), "c-2")

    assert (result["revision"], result["url"], result["idempotency_key"]) == (2, "https://pay.example.com/v2", True)


def test_what_is_registered_so_already_is_told(dora: Caller) -> None:
    result = confirm(create(dora))

    assert told(create(dora, id="d-9")) == result


@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        ({"url": "http://127.1/"}, "/url"),
        ({"url": "http://2130706433"}, "/url"),
        ({"url": "https://①②⑦.⓪.⓪.①/"}, "/url"),
        ({"url": "https://[::ffff:169.254.169.254]/"}, "/url"),
        ({"url": "https://[64:ff9b::a9fe:a9fe]/"}, "/url"),
        ({"url": "https://user@pay.example.com/"}, "/url"),
        ({"url": "https://pay.example.com\\@127.0.0.1/"}, "/url"),
        ({"url": "https://pay.exa\tmple.com/"}, "/url"),
        ({"url": "https://pay.example.com./"}, "/url"),
        ({"url": "https://рay.example.com/"}, "/url"),
        ({"lookup_url": "https://10.0.0.1/"}, "/lookup_url"),
        ({"adapter": "pigeon"}, "/adapter"),
        ({"max_in_flight": 0}, "/max_in_flight"),
        ({"settle_after": "later"}, "/settle_after"),
        ({"idempotency_key": "maybe"}, "/idempotency_key"),
        ({"name": "Pay ments"}, "/name"),
    ],
)
def test_what_is_not_acceptable_is_named(dora: Caller, members: dict[str, Any], pointer: str) -> None:
    refusal = problem(create(dora, **members), 422, "invalid-params")

    assert [error["pointer"] for error in refusal["errors"]] == [pointer]
    assert told(dora.get("/confirmations/"))["items"] == []


def test_nobody_but_admins_asks_and_auditors_read(dora: Caller) -> None:
    confirm(create(dora))
    cast.workflow()

    told(as_person(cast.eli()).get("/destinations/payments/"))
    for who in (as_person(cast.eli()), as_person(cast.ada()), as_agent(cast.agent())):
        assert create(who, id="x-1", name="more").status_code == 403
        assert change(who, max_in_flight=9).status_code == 403
    problem(as_person(cast.ada()).get("/destinations/"), 403, "forbidden")
    problem(as_nobody().get("/destinations/"), 401, "unauthenticated")
    problem(dora.patch("/destinations/nothing/", {"id": "x", "reason": REASON}), 404, "not-found")
