"""The audit: who did what, for whom it is to be seen, and as files that no spreadsheet runs."""

import csv
import io
import json
from typing import Any

import pytest

from console.web import audit as screen
from runs.administration import By, set_workflow_suspended
from tests import cast
from tests.console.web.visitor import Visitor, visit

pytestmark = pytest.mark.django_db

PAGE = "/audit/"


@pytest.fixture
def eli() -> Visitor:
    """An auditor, after a few things have happened."""
    cast.run_working("R-1")
    set_workflow_suspended("refund", True, By("user:dora", "=1+1"))
    return visit(cast.eli())


def test_runs_and_authority_stand_in_one_list(eli: Visitor) -> None:
    text = eli.get(PAGE).text

    assert "person ada command.committed R-1 version 2 , entry 2 because the test says so" in text
    assert "person dora workflow.suspended refund =1+1" in text
    assert "person.created" in text
    assert "without a second person" in text


def test_others_see_their_runs_and_nothing_of_authority(eli: Visitor) -> None:
    text = visit(cast.ada()).get(PAGE).text
    assert "R-1" in text
    assert "workflow.suspended" not in text
    assert "R-1" not in visit(cast.cy()).get(PAGE).text


@pytest.mark.parametrize(
    ("query", "shown", "hidden"),
    [
        ({"kind": "run."}, "run.created", "command.committed"),
        ({"actor": "user:dora"}, "workflow.suspended", "run.created"),
        ({"run": "R-1"}, "run.created", "workflow.suspended"),
        ({"since": "2000-01-01"}, "run.created", "Nothing"),
        ({"until": "2000-01-01"}, "Nothing fits these filters", "run.created"),
    ],
)
def test_filters_are_in_the_address(eli: Visitor, query: dict[str, str], shown: str, hidden: str) -> None:
    text = eli.get(PAGE, **query).text

    assert shown in text
    assert hidden not in text


def test_a_filter_that_is_no_filter_is_said(eli: Visitor) -> None:
    answer = eli.get(PAGE, since="yesterday")

    assert (answer.status, "Nothing is listed." in answer.text) == (422, True)


def test_older_lines_are_on_the_next_page(eli: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "PAGE_SIZE", 2)

    page = eli.get(PAGE, kind="run.", run="R-1")
    assert 'rel="next"' not in page.html
    page = eli.get(PAGE)
    seen = page.text.count("full") + page.html.count("<tr>") - 1
    assert seen == 2
    older = page.html.split('rel="next" href="')[1].split('"')[0].replace("&amp;", "&")
    assert eli.get(PAGE + older).html.count("<tr>") == 3


def test_a_forged_place_is_refused(eli: Visitor) -> None:
    assert eli.get(PAGE, after="forged").status == 400


def test_the_csv_runs_nothing_and_the_jsonl_is_the_reference(eli: Visitor) -> None:
    def body(kind: str) -> str:
        answer = eli.get(f"/audit/audit.{kind}", kind="workflow.")
        assert answer.header("Content-Disposition") == f'attachment; filename="audit.{kind}"'
        return answer.html

    rows = list(csv.DictReader(io.StringIO(body("csv"))))
    lines = [json.loads(line) for line in body("jsonl").splitlines()]

    assert [row["kind"] for row in rows] == ["workflow.suspended", "workflow.created"]
    assert rows[0]["reason"] == "'=1+1"
    assert [line["reason"] for line in lines][0] == "=1+1"
    assert (lines[1]["without_second_person"], rows[1]["without_second_person"]) == (True, "yes")


def test_an_export_holds_every_line_that_fits_in_its_filters(eli: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "BATCH", 2)
    everything = eli.get("/audit/audit.jsonl").html.splitlines()

    monkeypatch.setattr(screen, "MOST_LINES", 3)

    assert len(everything) > 3
    assert eli.get("/audit/audit.jsonl").html.splitlines() == everything[:3]
    assert "R-1" not in visit(cast.cy()).get("/audit/audit.csv").html
    assert eli.get("/audit/audit.csv", since="yesterday").status == 404


def test_hostile_reasons_are_shown_as_text(eli: Visitor) -> None:
    set_workflow_suspended("refund", False, By("user:dora", "<script>alert(1)</script>\u202e"))

    html = eli.get(PAGE).html
    assert "<script>alert" not in html
    assert "U+202E" in html


def test_it_costs_the_same_for_two_lines_and_for_twenty(eli: Visitor) -> None:
    eli.get(PAGE)
    few = eli.cost(PAGE)

    for number in range(20):
        cast.command(cast.ada(), "R-1", "add-tag", tag=f"t{number}")
    eli.get(PAGE)

    assert eli.cost(PAGE) == few


def test_a_get_is_all_there_is(eli: Visitor, db: Any) -> None:
    assert eli.post(PAGE, {}).status == 405
