"""What conflicts tell: counted by time, disposition, run, field and command; of one's own workflows only."""

from datetime import timedelta

import pytest

from runs import authority
from runs.insights import SPANS, Insights, Span, read_insights
from runs.models import Conflict
from runs.values import Principal
from tests import cast

pytestmark = pytest.mark.django_db

DAY = SPANS[0]


def read(*workflows: str, span: Span = DAY) -> Insights:
    _, now = authority.epoch_and_now()
    return read_insights(workflows or ("refund",), span, now + timedelta(seconds=1))


def meet(who: Principal, key: str, times: int = 1) -> None:
    """Let an agent's note meet a newer version of a run, which merges."""
    for number in range(times):
        cast.command(who, key, "add-note", on=1, note={"id": f"{key}-{number}", "text": "seen"})


def test_nothing_happened_is_counted_as_nothing() -> None:
    cast.workflow()

    insights = read()

    assert (insights.total, insights.exhausted, insights.runs, insights.hot_runs) == (0, 0, (), ())
    assert len(insights.stretches) == 24
    assert insights.totals == {"retry": 0, "merge": 0, "reject": 0, "escalate": 0}


def test_conflicts_are_counted_by_disposition_run_field_and_command() -> None:
    agent = cast.agent().principal
    cast.run_with_open_case("R-1", agent)
    cast.run_working("R-2")
    meet(agent, "R-2", 2)

    insights = read()

    assert insights.totals == {"retry": 0, "merge": 2, "reject": 0, "escalate": 1}
    assert [(row.name, row.total) for row in insights.runs] == [("R-2", 2), ("R-1", 1)]
    assert [(row.name, row.total) for row in insights.commands] == [
        ("refund.add-note", 2),
        ("refund.set-category", 1),
    ]
    assert {row.name: dict(row.counts) for row in insights.fields}["refund.category"] == {"escalate": 1, "merge": 2}
    assert insights.stretches[-1].total == 3


def test_a_used_up_budget_is_counted_for_itself() -> None:
    agent = cast.agent().principal
    cast.run_received("R-1")
    cast.command(cast.ada(), "R-1", "add-message", message={"id": "m1", "from": "customer", "text": "It broke."})
    for number in range(3):
        cast.command(agent, "R-1", "set-category", on=1, category="damage", id_=f"c-hot-{number}")

    insights = read()

    assert (insights.totals["retry"], insights.totals["escalate"], insights.exhausted) == (2, 1, 1)


def test_only_the_workflows_that_are_asked_for_count() -> None:
    agent = cast.agent().principal
    cast.run_with_open_case("R-1", agent)

    assert read("report").total == 0
    assert read("refund", "report").total == 1


def test_what_is_older_than_the_span_does_not_count() -> None:
    agent = cast.agent().principal
    cast.run_working("R-2")
    meet(agent, "R-2")
    _, now = authority.epoch_and_now()

    later = read_insights(("refund",), DAY, now + timedelta(days=2))

    assert later.total == 0


def test_each_conflict_stands_in_the_stretch_of_its_time() -> None:
    agent = cast.agent().principal
    cast.run_working("R-2")
    meet(agent, "R-2")
    at = Conflict.objects.get().at

    insights = read_insights(("refund",), DAY, at + timedelta(hours=5, minutes=30))

    assert [stretch.total for stretch in insights.stretches].index(1) == 18
    stretch = insights.stretches[18]
    assert stretch.at <= at < stretch.at + DAY.stretch


def test_a_field_that_keeps_meeting_conflicts_is_pointed_out() -> None:
    agent = cast.agent().principal
    for number in range(4):
        cast.run_working(f"R-{number}")
        meet(agent, f"R-{number}", 3)
    rows = list(Conflict.objects.order_by("id"))
    step = (rows[-1].at - rows[0].at) / 4 + timedelta(microseconds=1)
    span = Span("test", "a few moments", step, 4)

    insights = read_insights(("refund",), span, rows[-1].at + timedelta(microseconds=1))

    assert insights.total == 12
    assert "refund.category" in [found.name for found in insights.hot_fields]
