"""The inbox: what waits for this person, of every kind, ranked by risk and then by age."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from console.context import COUNT_PROVIDERS
from console.rendering import render_screen, unchanged, wants_fragment
from console.web.case_queue import CaseQueue
from console.web.confirmation_queue import ConfirmationQueue
from console.web.gate import signed_in, viewer_of
from console.web.paging import Page
from console.web.queues import COUNTED_AT_MOST, QUEUES, Queue, Stretch, queues_of, read_stretch
from console.web.repair_queue import RepairQueue
from console.web.review_queue import ReviewQueue
from runs import backlog
from runs.errors import NotFound
from runs.values import Principal

PAGE_SIZE = 50

QUEUES.extend((ReviewQueue(), CaseQueue(), RepairQueue(), ConfirmationQueue()))


@dataclass(frozen=True, slots=True)
class Tab:
    """A queue as a tab, or all of them together."""

    label: str
    url: str
    count: str
    is_current: bool


@require_GET
@signed_in
def show(request: HttpRequest, principal: Principal) -> HttpResponse:
    viewer = viewer_of(request)
    queues = queues_of(viewer)
    chosen = _chosen(queues, request.GET.get("queue", ""))
    after = {queue.key: place for queue in chosen if (place := request.GET.get(f"after-{queue.key}"))}
    stretch = read_stretch(viewer, chosen, after, PAGE_SIZE)
    counts = {queue.key: queue.count(viewer) for queue in queues}
    tag = _tag(stretch, counts)
    if answer := unchanged(request, tag):
        return answer
    context = {
        "tabs": _tabs(queues, chosen, counts),
        "items": stretch.items,
        "page": _page(request, stretch, after),
        "waiting": told(sum(counts.values())),
        "knows_nobody": not queues and not principal.roles,
        "admins": backlog.admins() if not queues else [],
        "tag": tag,
        "is_fragment": wants_fragment(request),
    }
    return render_screen(request, "inbox/list.html", context, fragment="live", tag=tag)


def _chosen(queues: list[Queue], key: str) -> list[Queue]:
    """The queues that are asked for; a queue that this person has not is empty rather than an error."""
    if key and key not in {queue.key for queue in QUEUES}:
        raise NotFound
    return [queue for queue in queues if key in ("", queue.key)]


def _tag(stretch: Stretch, counts: Mapping[str, int]) -> str:
    marks = [item.mark for item in stretch.items]
    return hashlib.sha256(repr((marks, sorted(counts.items()))).encode()).hexdigest()[:24]


def _tabs(queues: list[Queue], chosen: list[Queue], counts: Mapping[str, int]) -> list[Tab]:
    if len(queues) < 2:
        return []
    url, is_all = reverse("inbox:list"), len(chosen) == len(queues)
    each = [
        Tab(queue.label, f"{url}?queue={queue.key}", told(counts[queue.key]), not is_all and queue in chosen)
        for queue in queues
    ]
    return [Tab("All", url, told(sum(counts.values())), is_all), *each]


def told(count: int) -> str:
    """A count as it is shown; empty for nothing."""
    if count >= COUNTED_AT_MOST:
        return f"{COUNTED_AT_MOST - 1}+"
    return str(count) if count else ""


def _page(request: HttpRequest, stretch: Stretch, after: Mapping[str, str]) -> Page:
    queue = {"queue": request.GET["queue"]} if request.GET.get("queue") else {}
    places = {f"after-{key}": place for key, place in (stretch.next or {}).items()}
    first = "?" + urlencode(queue) if after else ""
    more = "?" + urlencode(queue | places) if places else ""
    return Page(first, more, f"{len(stretch.items)} shown, by risk and then by age")


def count_waiting(request: HttpRequest) -> dict[str, int]:
    """The number beside the link to the inbox."""
    viewer = viewer_of(request)
    waiting = sum(queue.count(viewer) for queue in queues_of(viewer))
    return {"inbox": min(waiting, COUNTED_AT_MOST)} if waiting else {}


COUNT_PROVIDERS.append(count_waiting)
