"""`/agents/`: the programs that act here, their tokens, and what they may do from the next request on."""

from typing import Any

import pytest

from tests import cast
from tests.console.api.caller import Caller, Response, as_agent, as_nobody, as_person, problem, told

pytestmark = pytest.mark.django_db

REASON = "because the test says so"
NOTES = {"name": "notes", "owner": "ada", "workflow": ["refund"], "scope": ["refund:note"]}


@pytest.fixture
def dora() -> Caller:
    cast.workflow()
    cast.ada()
    return as_person(cast.dora())


def create(who: Caller, id: str = "a-1", **members: Any) -> Response:
    return who.post("/agents/", {"id": id, "reason": REASON, **NOTES, **members})


def change(who: Caller, id: str = "a-2", **members: Any) -> Response:
    return who.patch("/agents/notes/", {"id": id, "reason": REASON, **members})


def with_token(token: str) -> Caller:
    return Caller({"Authorization": f"Bearer {token}"})


def test_a_new_agent_acts_with_the_token_of_the_answer_and_of_no_other(dora: Caller) -> None:
    body = told(create(dora, expires="90d"), 201)

    assert body["token"].startswith("clr_")
    told(with_token(body["token"]).get("/runs/"))
    assert "token" not in told(create(dora, expires="90d"))
    assert "token" not in told(dora.get("/agents/notes/"))


def test_a_new_token_makes_the_old_one_void(dora: Caller) -> None:
    old = told(create(dora), 201)["token"]

    new = told(dora.post("/agents/notes/tokens/", {"id": "t-1", "reason": "It leaked."}), 201)["token"]

    problem(with_token(old).get("/runs/"), 401, "unauthenticated")
    told(with_token(new).get("/runs/"))


def test_what_changes_holds_from_the_next_request_on(dora: Caller) -> None:
    agent = with_token(told(create(dora), 201)["token"])
    cast.run_received()

    told(change(dora, scope="refund:amount"))
    problem(agent.command("R-42", "record-contact", tag='"1.1"'), 403, "scope-missing")

    told(change(dora, id="a-3", suspended="on"))
    problem(agent.get("/runs/"), 403, "authority-revoked")

    assert told(change(dora, id="a-4", suspended=False, expires="1d"))["expires_at"] is not None
    assert told(change(dora, id="a-5", endless=True))["expires_at"] is None


@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        ({"name": "a b"}, "/name"),
        ({"owner": "nobody"}, "/owner"),
        ({"workflow": ["nothing"]}, "/workflow/0"),
        ({"scope": ["note"]}, "/scope/0"),
        ({"on_behalf_of": ["nobody"]}, "/on_behalf_of/0"),
        ({"expires": "soon"}, "/expires"),
        ({"expires": 0}, "/expires"),
    ],
)
def test_what_is_not_acceptable_is_named(dora: Caller, members: dict[str, Any], pointer: str) -> None:
    refusal = problem(create(dora, **members), 422, "invalid-params")

    assert [error["pointer"] for error in refusal["errors"]] == [pointer]


def test_agents_are_listed_by_name_in_pages(dora: Caller) -> None:
    for number, name in enumerate(("b", "a")):
        told(create(dora, id=f"n-{number}", name=name), 201)

    first = told(dora.get("/agents/", {"limit": "1"}))
    second = told(dora.get("/agents/", {"limit": "1", "cursor": first["next"]}))

    assert [item["name"] for item in first["items"] + second["items"]] == ["a", "b"]


def test_nobody_but_admins_changes_agents_and_auditors_read_them(dora: Caller) -> None:
    told(create(dora), 201)
    told(as_person(cast.eli()).get("/agents/notes/"))
    for who in (as_person(cast.eli()), as_person(cast.ada()), as_agent(cast.agent())):
        assert create(who, id="x-1", name="more").status_code == 403
        assert change(who).status_code == 403
        assert who.post("/agents/notes/tokens/", {"id": "x-2", "reason": REASON}).status_code == 403
    problem(as_person(cast.ada()).get("/agents/"), 403, "forbidden")
    problem(as_nobody().get("/agents/"), 401, "unauthenticated")
    problem(dora.get("/agents/nothing/"), 404, "not-found")
