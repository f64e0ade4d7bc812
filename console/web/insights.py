"""Insights: where conflicts keep meeting, how long effects take, and of how many nobody knew what came of them."""

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from console.access import visible_workflows
from console.charts import stacked_bars
from console.rendering import render_screen
from console.web.gate import signed_in
from outbox.insights import DESTINATIONS, READ_AT_MOST, Sent, oldest_due, read_sent
from runs import authority
from runs.insights import SPANS, Span, read_insights
from runs.states import Disposition
from runs.values import Principal

#: From the bottom of a bar to its top.
SERIES = (Disposition.MERGE, Disposition.RETRY, Disposition.REJECT, Disposition.ESCALATE)

LABELS = {
    Disposition.MERGE: "merged",
    Disposition.RETRY: "sent back to retry",
    Disposition.REJECT: "rejected",
    Disposition.ESCALATE: "escalated",
}

TIMES = {"begun_in", "begun_in_at_most", "ended_in", "ended_in_at_most", "found_out_in"}
UNITS = ((86400, "d"), (3600, "h"), (60, "min"))


@require_GET
@signed_in
def overview(request: HttpRequest, principal: Principal) -> HttpResponse:
    epoch, now = authority.epoch_and_now()
    seen = visible_workflows(principal, epoch)
    span, workflow = _span(request.GET.get("span", "")), request.GET.get("workflow", "")
    chosen = [slug for slug in seen if workflow in ("", slug)]
    insights = read_insights(chosen, span, now)
    context = {
        "insights": insights,
        "chart": stacked_bars([stretch.counts for stretch in insights.stretches], SERIES),
        "series": LABELS,
        "totals": [(name, label, insights.totals[name]) for name, label in LABELS.items()],
        "spans": SPANS,
        "span": span,
        "workflows": seen,
        "workflow": workflow,
        "is_single": len(chosen) == 1,
        "sent": [_told(row) for row in read_sent(chosen, span.begin(now))],
        "most_effects": READ_AT_MOST,
        "most_destinations": DESTINATIONS,
        "overdue": oldest_due(chosen),
    }
    return render_screen(request, "insights/overview.html", context)


def _told(row: Sent) -> dict[str, Any]:
    """A row with its times in words."""
    return {name: took(value) if name in TIMES else value for name, value in asdict(row).items()}


def took(seconds: float | None) -> str:
    """A length of time in the largest unit that still tells something; empty where nothing was measured."""
    if seconds is None:
        return ""
    for length, unit in UNITS:
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def _span(name: str) -> Span:
    """The span that is asked for, by default the middle one."""
    return next((span for span in SPANS if span.name == name), SPANS[1])
