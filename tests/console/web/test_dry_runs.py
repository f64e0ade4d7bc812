"""Trying a command on two versions: the address holds the question, the page the answer, and nothing is written."""

import pytest

from runs.models import Command, Conflict, LedgerEntry
from tests import cast
from tests.console.web.visitor import Visitor, visit

pytestmark = pytest.mark.django_db

PAGE = "/workflows/refund/dry-run/"
CATEGORY = {"run": "R-42", "command": "set-category", "base": "1", "current": "2", "params.category": '"damage"'}


@pytest.fixture
def mara() -> Visitor:
    """Another operator than the one who works on R-42."""
    cast.run_working()
    return visit(cast.person_operating("mara"))


def test_a_run_and_a_command_are_asked_for_first(mara: Visitor) -> None:
    page = mara.get(PAGE)

    assert "Set the category" in page.text
    assert "What would become of it?" not in page.text


def test_then_two_versions_and_the_parameters(mara: Visitor) -> None:
    page = mara.get(PAGE, run="R-42", command="set-category")

    assert "2: category, status by user:ada" in page.text
    assert "damage" in page.text
    assert "What would become of it?" in page.text


def test_the_answer_names_the_rule_and_what_was_touched(mara: Visitor) -> None:
    page = mara.get(PAGE, **CATEGORY)

    assert "escalated Somebody else has set the category since." in page.text
    assert 'href="/workflows/refund/revisions/1/#set-category.2"' in page.html
    assert "is billing" in page.text
    assert "person ada in version 2" in page.text


def test_nobody_escalates_against_their_own_change(mara: Visitor) -> None:
    assert "sent back to retry" in mara.get(PAGE, **CATEGORY, whose="user:ada").text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"command": "add-tag", "params.tag": "vip"}, "merged"),
        ({"base": "2"}, "committed The version is current"),
        ({"base": "2", "params.category": '"billing"'}, "nothing to change"),
        ({"command": "reopen-case"}, "would be refused"),
        ({"base": "2", "current": "1"}, "The base version comes before the current version"),
        ({"params.category": '"red"'}, "Choose one of the values in the list."),
        ({"run": "R-43"}, "There is no such run of this workflow"),
        ({"command": "paint"}, "Select a valid choice"),
    ],
)
def test_every_question_has_its_answer(mara: Visitor, query: dict[str, str], words: str) -> None:
    asked = CATEGORY | query
    if query.get("command") == "reopen-case":
        asked |= {"base": "2"}

    assert words in mara.get(PAGE, **asked).text


def test_a_run_of_another_workflow_is_not_there(mara: Visitor) -> None:
    cast.run_received("P-1", "report", question="q", audience="a")

    page = mara.get(PAGE, **(CATEGORY | {"run": "P-1"}))

    assert (page.status, "There is no such run of this workflow" in page.text) == (422, True)


def test_asking_writes_nothing(mara: Visitor) -> None:
    def counts() -> tuple[int, ...]:
        return LedgerEntry.objects.count(), Conflict.objects.count(), Command.objects.count()

    before = counts()

    mara.get(PAGE, **CATEGORY)

    assert counts() == before
    assert mara.post(PAGE, CATEGORY).status == 405
