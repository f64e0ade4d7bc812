"""Hot spots: a picture with its numbers as a table, of the workflows one may see, and a boundary that is wrong."""

import re

import pytest

from console.web import insights as screen
from runs.concentration import Concentration
from runs.insights import Insights, Ranked, Stretch
from tests import cast, review
from tests.console.web.visitor import visit
from tests.outbox import settling

pytestmark = pytest.mark.django_db

PAGE = "/insights/"


def with_conflicts() -> None:
    """Two notes of an agent that were merged, and one category that was escalated."""
    agent = cast.agent().principal
    cast.run_with_open_case("R-1", agent)
    for number in range(2):
        cast.command(agent, "R-1", "add-note", on=1, note={"id": f"n{number}", "text": "seen"})


def test_without_conflicts_the_page_says_what_would_appear() -> None:
    cast.workflow()

    assert "No conflicts in this time" in visit(cast.ada()).get(PAGE).text


def test_the_picture_has_its_numbers_as_a_table() -> None:
    with_conflicts()

    page = visit(cast.ada()).get(PAGE)

    assert len(re.findall(r'<rect class="bar series-merge"', page.html)) == 1
    assert len(re.findall(r'<rect class="bar series-escalate"', page.html)) == 1
    assert "2 0 0 1 3" in page.text
    assert 'aria-label="Conflicts over time; the numbers are in the table below"' in page.html


def test_runs_fields_and_commands_are_ranked() -> None:
    with_conflicts()

    text = visit(cast.ada()).get(PAGE).text

    assert "R-1 2 0 0 1 3" in text
    assert "refund.category 2 0 0 1 3" in text
    assert "refund.add-note 2 0 0 0 2" in text


def test_effects_are_told_by_destination_with_their_times_and_what_is_due_longest() -> None:
    review.destination("payments", recognises_repeats=False, key_retention_seconds=None)
    settling.attempt(settling.let_pass(review.refund_approved("R-1"), seconds=30), settling.UNKNOWN)
    settling.let_pass(review.refund_approved("R-2"), minutes=5)

    text = visit(cast.ada()).get(PAGE).text

    assert "due for longest: R-2:pay:v4" in text
    assert re.search(r"payments 2 (29|30|31) s · (29|30|31) s – 1 open of 1 –", text)


def test_without_effects_the_page_says_what_would_appear() -> None:
    cast.workflow()

    text = visit(cast.ada()).get(PAGE).text

    assert "Nothing was authorized in this time" in text
    assert "nothing is due and waiting" in text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(None, ""), (0.04, "0.0 s"), (9.94, "9.9 s"), (61, "61 s"), (150, "2 min"), (7300, "2 h"), (200000, "2 d")],
)
def test_a_time_is_told_in_the_largest_unit_that_tells_something(seconds: float | None, words: str) -> None:
    assert screen.took(seconds) == words


def test_only_ones_own_workflows_are_counted() -> None:
    with_conflicts()

    assert "R-1" not in visit(cast.cy()).get(PAGE).text
    assert "R-1" in visit(cast.eli()).get(PAGE).text
    assert "No conflicts" in visit(cast.ada()).get(PAGE, workflow="nothing").text


@pytest.mark.parametrize(("span", "label"), [("day", "24 hours"), ("month", "30 days"), ("century", "7 days")])
def test_the_span_is_in_the_address(span: str, label: str) -> None:
    with_conflicts()

    assert f"Conflicts in the last {label}" in visit(cast.ada()).get(PAGE, span=span).text


def test_a_lasting_concentration_is_said_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    cast.workflow()
    hot = Concentration("refund.category", 18, 0.86, 4, 4)
    ranked = (Ranked("refund.category", 18, {"escalate": 18}),)
    found = Insights(
        (Stretch(cast.run_received().created_at, {"escalate": 18}),),
        {"escalate": 18, "merge": 0, "retry": 0, "reject": 0},
        0,
        (),
        ranked,
        (),
        (),
        (hot,),
    )
    monkeypatch.setattr(screen, "read_insights", lambda *_: found)

    text = visit(cast.ada()).get(PAGE).text

    assert "refund.category met 86 % of all conflicts, in 4 of 4 busy stretches." in text
    assert "The boundary is probably drawn wrong." in text


def test_a_get_is_all_there_is() -> None:
    assert visit(cast.ada()).post(PAGE, {}).status == 405
