"""Every list of effects that is offered, its first page and one in its middle; and the whole page of the console.

    python -m tests.bench.lists

Prints one line of JSON: how many of each can be had in a second, by the median and by the 99th percentile.
"""

import json
import logging
import statistics
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any

TIMES, PAGES = 200, 40
PAGE_SIZE = 50
WORKFLOWS = ("refund", "report")

#: What the copied effects are, by their number: each filter finds more than a page of them among a thousand.
EFFECTS = {
    "state": "CASE WHEN c.n % 16 = 0 THEN 'needs_reconciliation' WHEN c.n % 2 = 0 THEN 'failed' ELSE 'succeeded' END",
    "because": "CASE WHEN c.n % 16 = 0 THEN 'no answer came' WHEN c.n % 2 = 0 THEN 'answered 400' ELSE 'accepted' END",
    "destination": "(ARRAY['payments', 'reports', 'letters'])[c.n % 3 + 1]",
    "authorized_at": "now() - interval '30 days' * random()",
    "may_have_left": "c.n % 16 = 0 OR c.n % 2 = 1",
    "next_at": "NULL::timestamptz",
}

FILTERS: dict[str, dict[str, Any]] = {
    "all": {},
    "state": {"state": "succeeded"},
    "seldom state": {"state": "needs_reconciliation"},
    "destination": {"destination": "reports"},
    "cause": {"state": "failed", "destination": "reports", "because": "answered 400"},
    "age": {"older": timedelta(days=7)},
    "all at once": {"state": "succeeded", "destination": "reports", "because": "accepted", "older": timedelta(days=7)},
}


def rates() -> dict[str, float]:
    """How many of each list, and of the page, can be had in a second."""
    figures: dict[str, float] = {}
    for name, read in _lists():
        spent = sorted(_seconds(read) for _ in range(TIMES))
        figures[f"{name}, p50"] = 1 / statistics.median(spent)
        figures[f"{name}, p99"] = 1 / spent[int(TIMES * 0.99) - 1]
    return figures | {"page": _page_rate()}


def _lists() -> Iterator[tuple[str, Callable[[], object]]]:
    from django.utils import timezone  # noqa: PLC0415 - needs Django

    from outbox import overview  # noqa: PLC0415

    for name, terms in FILTERS.items():
        columns = {column: value for column, value in terms.items() if column != "older"}
        before = timezone.now() - terms["older"] if "older" in terms else None
        wanted = overview.EffectFilter(WORKFLOWS, **columns, authorized_before=before)
        yield f"{name}, first", partial(overview.list_rows, wanted, PAGE_SIZE + 1)
        place = _middle(wanted.rows().order_by("-authorized_at", "-operation_id"))
        yield f"{name}, deep", partial(overview.list_rows, wanted, PAGE_SIZE + 1, place)
    unknown = overview.EffectFilter(WORKFLOWS, state="needs_reconciliation").rows()
    place = _middle(unknown.order_by("authorized_at", "operation_id"))
    yield "queue, first", partial(overview.list_unknown, WORKFLOWS, PAGE_SIZE + 1)
    yield "queue, deep", partial(overview.list_unknown, WORKFLOWS, PAGE_SIZE + 1, place)


def _middle(rows: Any) -> tuple[Any, Any]:
    """The place in the middle of a list, a page before its end at the latest."""
    count = rows.count()
    place: tuple[Any, Any] = rows.values_list("authorized_at", "operation_id")[min(count // 2, count - PAGE_SIZE - 2)]
    return place


def _seconds(read: Callable[[], object]) -> float:
    started = time.perf_counter()
    read()
    return time.perf_counter() - started


def _page_rate() -> float:
    """The first page of effects in the console, by somebody who is signed in."""
    from django.test import Client  # noqa: PLC0415 - needs Django

    from runs.models import Person  # noqa: PLC0415
    from tests import cast  # noqa: PLC0415

    client = Client(headers={"Host": "localhost"})
    client.force_login(Person.objects.get(pk=cast.dora().id), "django.contrib.auth.backends.ModelBackend")

    def page() -> None:
        if client.get("/effects/").status_code != 200:
            raise RuntimeError("no page")

    page()
    return 1 / statistics.median(_seconds(page) for _ in range(PAGES))


if __name__ == "__main__":
    import django

    django.setup()
    logging.disable(logging.INFO)  # a line for every page
    print(json.dumps(rates()))
