"""What Prometheus may know: counts of five kinds of refusal, and how long requests take. Ids and content never.

Each of the five is another error with another remedy, so each has a counter of its own.
"""

import os
import time
from collections.abc import Callable
from hmac import compare_digest
from typing import TYPE_CHECKING

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from console.metrics_folder import VARIABLE
from runs.errors import ClearanceError, InvalidTransition, NotFound, RateLimited, Unavailable

if TYPE_CHECKING:
    from runs.outcomes import Outcome

LOOPBACK = frozenset({"127.0.0.1", "::1"})

version_conflicts = Counter(
    "clearance_version_conflicts",
    "Commands whose version was stale, by what the rules made of them.",
    ["workflow", "command", "disposition"],
)
budgets_exhausted = Counter(
    "clearance_budgets_exhausted",
    "Conflicts that went to a person because the budget of their intent was used up.",
    ["workflow", "command"],
)
invalid_transitions = Counter("clearance_invalid_transitions", "Requests that the state of the record did not allow.")
throttled = Counter("clearance_throttled", "Requests refused by a rate limit.")
unavailable = Counter("clearance_unavailable", "Requests refused because a record was busy or the database away.")
request_seconds = Histogram(
    "clearance_request_seconds",
    "Time from the first middleware to the answer.",
    ["method", "route", "status"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20),
)

_BY_ERROR: dict[type[ClearanceError], Counter] = {
    InvalidTransition: invalid_transitions,
    RateLimited: throttled,
    Unavailable: unavailable,
}


# ---- counting --------------------------------------------------------------------------------------------


def count_error(error: ClearanceError) -> None:
    """Count a refusal that is told as a problem, if it is one of the counted kinds."""
    if counter := _BY_ERROR.get(type(error)):
        counter.inc()


def count_outcome(command: str, outcome: "Outcome") -> None:
    """Count what the rules made of a stale command. A replayed outcome was counted when it was given first."""
    if outcome.is_replay or outcome.workflow is None or not (outcome.is_refusal or outcome.state == "merged"):
        return
    slug, disposition = outcome.workflow.slug, outcome.answer.get("disposition", "merge")
    version_conflicts.labels(slug, command, disposition).inc()
    if outcome.is_refusal and outcome.answer["rule"]["name"] == "budget-exhausted":
        budgets_exhausted.labels(slug, command).inc()


class RequestSeconds:
    """Middleware that times every request by its route, which names no run and no person."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        begun = time.perf_counter()
        response = self._get_response(request)
        route = request.resolver_match.route if request.resolver_match else "none"
        method = request.method if request.method in _METHODS else "other"
        request_seconds.labels(method, route, response.status_code).observe(time.perf_counter() - begun)
        return response


#: A method is free text of the client; unbounded labels would grow without end.
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


# ---- telling ---------------------------------------------------------------------------------------------


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Every number in the text format of Prometheus. Raises `NotFound` for whoever may not read it."""
    if not _may_read(request):
        raise NotFound
    return HttpResponse(generate_latest(_registry()), content_type=CONTENT_TYPE_LATEST)


def _may_read(request: HttpRequest) -> bool:
    """With the token where one is set; else only from this machine, and in production not at all.

    Behind a proxy on the same machine everybody comes from this machine.
    """
    if token := settings.CLEARANCE_METRICS_TOKEN:
        return compare_digest(request.headers.get("Authorization", "").encode(), f"Bearer {token}".encode())
    return not settings.PRODUCTION and request.META.get("REMOTE_ADDR") in LOOPBACK


def _registry() -> CollectorRegistry:
    """The numbers of all web processes of this server, or of this one where they share no folder."""
    if not os.environ.get(VARIABLE):
        return REGISTRY
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # its constructor has no annotations
    return registry
