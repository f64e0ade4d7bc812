"""The pages of a workflow: its rules with a place for each, and its revisions with what changed."""

import re

import pytest

from runs import catalog
from tests import cast
from tests.console.web.visitor import stranger, visit

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def shipped() -> None:
    cast.workflow("refund")


def second_revision() -> None:
    """The refund workflow once more, with another title of one command."""
    text = (cast.DEFINITIONS / "refund.toml").read_text()
    catalog.store_workflow(text.replace('title = "Add a tag"', 'title = "Attach a tag"'), cast.SETUP.actor)


def test_a_person_is_shown_the_workflows_they_may_see() -> None:
    cast.workflow("report")

    assert "Customer refund" in visit(cast.ada()).get("/workflows/").text
    assert "No workflow is open to you" in visit(cast.cy()).get("/workflows/").text
    assert stranger().get("/workflows/").status == 302


def test_every_rule_stands_on_the_page_with_a_place_to_link_to() -> None:
    page = visit(cast.ada()).get("/workflows/refund/")

    assert "Somebody else has set the category since." in page.text
    for anchor in ("set-category", "set-category.2", "set-category.otherwise", "freeze:pay.1", "rule.already-so"):
        assert f'id="{anchor}"' in page.html
    ids = re.findall(r'\bid="([^"]+)"', page.html)
    assert len(ids) == len(set(ids))


def test_rules_of_an_older_revision_stay_readable_and_say_so() -> None:
    second_revision()
    visitor = visit(cast.ada())

    assert "Attach a tag" in visitor.get("/workflows/refund/").text
    old = visitor.get("/workflows/refund/revisions/1/")
    assert "Add a tag" in old.text
    assert "These are the rules of revision 1." in old.text
    assert "These are the rules" not in visitor.get("/workflows/refund/revisions/2/").text


def test_what_changed_between_two_revisions_is_shown_line_by_line() -> None:
    second_revision()

    page = visit(cast.ada()).get("/workflows/refund/revisions/")

    assert re.search(r"<del>.*Add a tag.*</del>", page.html)
    assert re.search(r"<ins>.*Attach a tag.*</ins>", page.html)
    assert "lines unchanged" in page.text
    same = visit(cast.ada()).get("/workflows/refund/revisions/", **{"from": "1", "to": "1"})
    assert "The two hold the same lines." in same.text


def test_one_revision_alone_says_how_another_comes_about() -> None:
    assert "Only one revision" in visit(cast.ada()).get("/workflows/refund/revisions/").text


@pytest.mark.parametrize(
    "path", ["/workflows/nothing/", "/workflows/refund/revisions/9/", "/workflows/nothing/revisions/"]
)
def test_what_is_not_there_is_not_found(path: str) -> None:
    assert visit(cast.ada()).get(path).status == 404


def test_what_may_not_be_seen_is_not_there() -> None:
    outsider = visit(cast.cy())

    for path in ("", "policy/", "dry-run/", "revisions/", "revisions/1/"):
        assert outsider.get(f"/workflows/refund/{path}").status == 404


def test_the_list_costs_the_same_however_many_workflows_there_are() -> None:
    dora = visit(cast.dora())
    dora.get("/workflows/")
    few = dora.cost("/workflows/")

    cast.workflow("report")
    dora.get("/workflows/")

    assert dora.cost("/workflows/") == few
