"""Hot spots: how many conflicts there are of each kind, and whether they keep meeting in one place."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from console.access import visible_workflows
from console.charts import stacked_bars
from console.rendering import render_screen
from console.web.gate import signed_in
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
    }
    return render_screen(request, "insights/overview.html", context)


def _span(name: str) -> Span:
    """The span that is asked for, by default the middle one."""
    return next((span for span in SPANS if span.name == name), SPANS[1])
