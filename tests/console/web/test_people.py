"""The pages about people: made, changed, suspended; a password is shown once."""

import re
from typing import Any

import pytest
from django.contrib.auth import authenticate

from runs.models import Person
from tests import cast
from tests.admins import confirmed, dan, only_step
from tests.console.web.visitor import Answer, Visitor, visit

pytestmark = pytest.mark.django_db

CREATE = "/people/+new/"


@pytest.fixture
def dora() -> Visitor:
    return visit(cast.dora())


def created(who: Visitor, drawn: dict[str, str] | None = None, **typed: Any) -> Answer:
    """Send the form, by default for somebody called gil."""
    given = drawn or who.get("/people/").form(CREATE)
    return who.post(CREATE, given | {"username": "gil", "reason": "They joined."} | typed)


def secret(answer: Answer) -> str:
    """What is shown once."""
    found = re.search(r"<pre[^>]*>(.*?)</pre>", answer.html, re.DOTALL)
    assert found is not None
    return re.sub(r"<[^>]+>", "", found[1]).strip()


def test_somebody_new_signs_in_with_the_password_that_is_shown_once(dora: Visitor) -> None:
    drawn = dora.get("/people/").form(CREATE)

    answer = created(dora, drawn, roles=["auditor"])

    assert authenticate(username="gil", password=secret(answer)) == Person.objects.get(username="gil")
    again = created(dora, drawn, roles=["auditor"])
    assert (again.status, "made by this very form" in dora.get("/people/").text) == (303, True)
    assert Person.objects.filter(username="gil").count() == 1


def test_somebody_who_decides_waits(dora: Visitor) -> None:
    answer = created(dora, roles=["reviewer"], groups="refund-reviewers\npayroll")

    assert "A second admin has to confirm" in answer.text
    assert not Person.objects.filter(username="gil").exists()
    confirmed(dan(), f"w-{only_step().pk.hex}")
    assert Person.objects.get(username="gil").workflow_groups == ["payroll", "refund-reviewers"]
    assert authenticate(username="gil", password=secret(answer)) is not None


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"username": "not fine"}, "Letters, digits"),
        ({"username": ""}, "This field is required."),
        ({"username": "dora"}, "exists already"),
        ({"groups": "not fine"}, "Write letters"),
        ({"roles": ["king"]}, "not one of the available choices"),
        ({"reason": " "}, "Say why"),
    ],
)
def test_a_fault_stands_beside_what_was_typed(dora: Visitor, typed: dict[str, Any], words: str) -> None:
    answer = created(dora, **typed)

    assert (answer.status, words in answer.text) == (422, True)
    assert not Person.objects.filter(username="gil").exists()


def test_a_change_shows_what_is_and_says_what_became_of_it(dora: Visitor) -> None:
    cast.ada()
    action = "/people/ada/change/"
    drawn = dora.get("/people/ada/").form(action)
    assert drawn["groups"] == "refund-operators\nreport-operators"

    dora.post(action, drawn | {"groups": "refund-operators", "roles": ["operator"], "reason": "Other work."})

    assert "In force." in dora.get("/people/ada/").text
    assert Person.objects.get(username="ada").workflow_groups == ["refund-operators"]


def test_suspending_and_its_end(dora: Visitor) -> None:
    ben, action = visit(cast.ben()), "/people/ben/suspension/"
    assert ben.get("/runs/").status == 200

    dora.post(action, dora.get("/people/ben/").form(action) | {"reason": "On leave."})
    assert ben.get("/runs/").status == 302
    assert "suspended" in dora.get("/people/ben/").text

    dora.post(action, dora.get("/people/ben/").form(action) | {"reason": "Back."})
    assert "A second admin has to confirm: ben gains the end of the suspension." in dora.get("/people/ben/").text
    assert not Person.objects.get(username="ben").is_active


def test_a_new_password_is_shown_once_and_waits_where_the_person_decides(dora: Visitor) -> None:
    cast.ben()
    drawn = dora.get("/people/ben/").form("/people/ben/suspension/")

    answer = dora.post("/people/ben/password/", drawn | {"reason": "Forgotten."})

    assert "which dora knows" in answer.text
    assert authenticate(username="ben", password=secret(answer)) is None
    confirmed(dan(), f"w-{only_step().pk.hex}")
    assert authenticate(username="ben", password=secret(answer)) is not None


@pytest.mark.parametrize("who", [cast.ada, cast.ben, cast.cy])
def test_only_admins_and_auditors_look_and_only_admins_act(dora: Visitor, who: Any) -> None:
    visitor = visit(who())
    assert visitor.get("/people/").status == 403
    assert visitor.get("/people/dora/").status == 403
    for path in (CREATE, "/people/dora/change/", "/people/dora/suspension/", "/people/dora/password/"):
        assert visitor.post(path, {"id": "x", "username": "gil", "reason": "Mine."}).status == 403
    auditor = visit(cast.eli())
    assert not auditor.get("/people/").has_form(CREATE)
    assert auditor.post(CREATE, {"id": "x", "username": "gil", "reason": "Mine."}).status == 403


def test_a_get_changes_nobody(dora: Visitor) -> None:
    for path in (CREATE, "/people/dora/change/", "/people/dora/suspension/", "/people/dora/password/"):
        assert dora.get(path).status == 405


def test_people_are_found_by_the_beginning_of_their_name(dora: Visitor) -> None:
    cast.ada()

    assert "/people/ada/" in dora.get("/people/", q="a").html
    assert "/people/dora/" not in dora.get("/people/", q="a").html
    assert "Nobody is called so" in dora.get("/people/", q="zz").text
    assert dora.get("/people/nobody/").status == 404


@pytest.mark.parametrize("path", ["/people/", "/agents/"])
def test_what_was_searched_for_is_kept_while_turning_pages_whatever_it_is(dora: Visitor, path: str) -> None:
    assert 'href="?q=a%26b%23c"' in dora.get(path, q="a&b#c", after="a").html


def test_the_list_costs_the_same_for_two_and_for_twenty(dora: Visitor) -> None:
    dora.get("/people/")
    few = dora.cost("/people/")

    for number in range(20):
        cast.person(f"p{number}")
    dora.get("/people/")

    assert dora.cost("/people/") == few
