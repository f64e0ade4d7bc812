"""The pages about agents: made, changed, suspended; a token is shown once."""

import re
from typing import Any

import pytest

from runs.authority import principal_for_token
from runs.errors import AuthorityRevoked, Unauthenticated
from runs.models import Agent
from tests import cast
from tests.console.web.visitor import Answer, Visitor, visit

pytestmark = pytest.mark.django_db

CREATE = "/agents/+new/"
NOTES = {"name": "notes", "owner": "ada", "workflows": "refund", "scopes": "refund:note\nrefund:classify"}


@pytest.fixture
def dora() -> Visitor:
    cast.workflow()
    cast.ada()
    return visit(cast.dora())


def created(who: Visitor, drawn: dict[str, str] | None = None, **typed: Any) -> Answer:
    return who.post(CREATE, (drawn or who.get("/agents/").form(CREATE)) | NOTES | {"reason": "It helps."} | typed)


def token(answer: Answer) -> str:
    """The token that is shown once."""
    found = re.search(r"clr_[A-Za-z0-9_-]+", re.sub(r"<[^>]+>", "", answer.html))
    assert found is not None
    return found[0]


def test_a_new_agent_acts_with_the_token_that_is_shown_once(dora: Visitor) -> None:
    drawn = dora.get("/agents/").form(CREATE)

    answer = created(dora, drawn, expires="90d")

    principal = principal_for_token(token(answer))
    assert principal.name == "notes"
    assert principal.scopes == {"refund:note", "refund:classify"}
    again = created(dora, drawn, expires="90d")
    assert again.status == 303
    assert "clr_" not in again.html + dora.get("/agents/").html


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"name": "not fine"}, "Write letters"),
        ({"owner": "nobody"}, "There is no person nobody."),
        ({"workflows": "nothing"}, "There is no workflow nothing."),
        ({"scopes": "note"}, "Write names joined by colons"),
        ({"grants": "nobody"}, "There is no person nobody."),
        ({"expires": "soon"}, "Write a whole number and a unit"),
        ({"reason": " "}, "Say why"),
    ],
)
def test_a_fault_stands_beside_what_was_typed(dora: Visitor, typed: dict[str, Any], words: str) -> None:
    answer = created(dora, **typed)

    assert (answer.status, words in answer.text) == (422, True)
    ((name, value),) = typed.items()
    assert answer.form(CREATE)[name].strip() == value.strip()
    assert not Agent.objects.exists()


def test_a_change_shows_what_is_and_keeps_the_rest(dora: Visitor) -> None:
    made = token(created(dora))
    action = "/agents/notes/change/"
    drawn = dora.get("/agents/notes/").form(action)
    assert drawn["scopes"] == "refund:classify\nrefund:note"

    dora.post(action, drawn | {"scopes": "refund:note", "reason": "Less."})

    assert principal_for_token(made).scopes == {"refund:note"}
    assert "In force." in dora.get("/agents/notes/").text


def test_suspending_a_new_token_and_going_on(dora: Visitor) -> None:
    old, action = token(created(dora)), "/agents/notes/suspension/"

    dora.post(action, dora.get("/agents/notes/").form(action) | {"reason": "Odd."})
    with pytest.raises(AuthorityRevoked):
        principal_for_token(old)
    dora.post(action, dora.get("/agents/notes/").form(action) | {"reason": "Fine."})
    assert principal_for_token(old).name == "notes"

    answer = dora.post("/agents/notes/token/", dora.get("/agents/notes/").form(action) | {"reason": "It leaked."})
    assert "The old token is void." in answer.text
    assert principal_for_token(token(answer)).name == "notes"
    with pytest.raises(Unauthenticated):
        principal_for_token(old)


@pytest.mark.parametrize("who", [cast.ada, cast.ben, cast.cy])
def test_only_admins_and_auditors_look_and_only_admins_act(dora: Visitor, who: Any) -> None:
    created(dora)
    visitor = visit(who())
    assert visitor.get("/agents/").status == 403
    for path in (CREATE, "/agents/notes/change/", "/agents/notes/suspension/", "/agents/notes/token/"):
        assert visitor.post(path, NOTES | {"id": "x", "reason": "Mine."}).status == 403
    auditor = visit(cast.eli()).get("/agents/notes/")
    assert "refund:note" in auditor.text
    assert not auditor.has_form("/agents/notes/change/")


def test_a_get_changes_nothing(dora: Visitor) -> None:
    created(dora)

    for path in (CREATE, "/agents/notes/change/", "/agents/notes/suspension/", "/agents/notes/token/"):
        assert dora.get(path).status == 405
    assert dora.get("/agents/nothing/").status == 404


def test_the_list_costs_the_same_for_two_and_for_twenty(dora: Visitor) -> None:
    assert "No agents yet" in dora.get("/agents/").text
    few = dora.cost("/agents/")

    for number in range(20):
        cast.agent(f"a{number}")
    dora.get("/agents/")

    assert dora.cost("/agents/") == few
