"""`/people/`: who is there, and making, changing and suspending them."""

from typing import Any

import pytest

from runs.models import Person
from tests import cast
from tests.admins import dan
from tests.console.api.caller import Caller, Response, as_agent, as_nobody, as_person, problem, told

pytestmark = pytest.mark.django_db

REASON = "because the test says so"


@pytest.fixture
def dora() -> Caller:
    return as_person(cast.dora())


def create(who: Caller, username: str = "gil", id: str = "p-1", **members: Any) -> Response:
    return who.post("/people/", {"id": id, "username": username, "reason": REASON, **members})


def change(who: Caller, username: str = "ben", id: str = "p-2", **members: Any) -> Response:
    return who.patch(f"/people/{username}/", {"id": id, "reason": REASON, **members})


def test_somebody_who_decides_nothing_is_made_at_once_with_a_password_shown_once(dora: Caller) -> None:
    first = create(dora, role=["auditor"])
    again = create(dora, role=["auditor"])

    body = told(first, 201)
    assert (body["username"], body["role"], body["suspended"]) == ("gil", ["auditor"], False)
    assert body.pop("password")
    assert told(again) == body
    assert again.headers["Idempotent-Replayed"] == "true"


def test_somebody_who_decides_waits_and_signs_in_once_confirmed(dora: Caller) -> None:
    body = told(create(dora, role="reviewer", group="refund-reviewers"), 202)
    problem(dora.get("/people/gil/"), 404, "not-found")

    told(as_person(dan()).post(f"/confirmations/{body['waiting']}/", {"id": "c-1", "reason": "I know them."}), 201)

    assert told(dora.get("/people/gil/"))["group"] == ["refund-reviewers"]
    told(Caller().post("/session/", {"username": "gil", "password": body["password"]}))


def test_suspending_is_in_force_with_the_answer(dora: Caller) -> None:
    ben = as_person(cast.ben())
    told(ben.get("/session/"))

    assert told(change(dora, suspended=True))["suspended"] is True

    assert ben.get("/session/").status_code in (401, 403)
    assert "waiting" in told(change(dora, id="p-3", suspended=False), 202)


def test_what_is_taken_away_does_not_wait_for_what_is_given(dora: Caller) -> None:
    cast.ben()

    told(change(dora, role=["operator"]), 202)

    assert told(dora.get("/people/ben/"))["role"] == []


@pytest.mark.parametrize(
    ("members", "status", "code", "pointer"),
    [
        ({"role": ["king"]}, 422, "invalid-params", "/role/0"),
        ({"role": 5}, 422, "invalid-params", "/role"),
        ({"group": ["a b"]}, 422, "invalid-params", "/group/0"),
        ({"username": "a b"}, 422, "invalid-params", "/username"),
        ({"username": "dora"}, 422, "invalid-params", "/username"),
        ({"reason": ""}, 422, "invalid-params", "/reason"),
        ({"password": "mine"}, 400, "malformed", "/password"),
        ({"is_superuser": True}, 400, "malformed", "/is_superuser"),
    ],
)
def test_what_is_not_acceptable_is_named(
    dora: Caller, members: dict[str, Any], status: int, code: str, pointer: str
) -> None:
    refusal = problem(create(dora, **members), status, code)

    assert [error["pointer"] for error in refusal["errors"]] == [pointer]
    assert not Person.objects.filter(username="gil").exists()


def test_people_are_listed_by_name_in_pages(dora: Caller) -> None:
    cast.ada(), cast.ben()

    first = told(dora.get("/people/", {"limit": "2"}))
    second = told(dora.get("/people/", {"limit": "2", "cursor": first["next"]}))

    assert [item["username"] for item in first["items"] + second["items"]] == ["ada", "ben", "dora"]
    assert [item["username"] for item in told(dora.get("/people/", {"q": "b"}))["items"]] == ["ben"]


def test_nobody_but_admins_changes_people_and_auditors_read_them(dora: Caller) -> None:
    told(as_person(cast.eli()).get("/people/"))
    for who in (as_person(cast.eli()), as_person(cast.ada()), as_agent(_agent())):
        assert create(who).status_code == 403
        assert change(who, "eli").status_code == 403
    problem(as_person(cast.ada()).get("/people/"), 403, "forbidden")
    problem(as_nobody().get("/people/"), 401, "unauthenticated")
    problem(change(dora, "nobody"), 404, "not-found")


def _agent() -> cast.Agent:
    cast.workflow()
    return cast.agent()
