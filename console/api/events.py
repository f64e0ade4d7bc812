"""`/events/`: the ledger entries of all runs that the caller may see, as one feed to follow."""

from django.http import HttpResponse
from rest_framework.request import Request

from console.access import visible_workflows
from console.answers import answer
from console.api.base import ApiView
from console.api.openapi import documented, listed
from console.cursors import CursorType, read_page_request
from runs import authority
from runs.errors import Fault, Malformed
from runs.feed import Place, read_feed

#: Ledger epoch, then the place. After a restore the feed is another one.
CURSOR: CursorType[int, int, int, int] = CursorType("events", int, int, int, int)


class EventsView(ApiView):
    """The feed of everything that happens."""

    @documented(
        "events",
        answers={200: listed("Event")},
        is_list=True,
        query={"after": "`next` of the answer before; without it the feed is read from its beginning"},
    )
    def get(self, request: Request) -> HttpResponse:
        """Ledger entries with their run: complete, and per run in order.

        `next` leads on. It is null when nothing newer is known: ask again later with the cursor used last.
        """
        wanted = read_page_request(request._request, "after")
        epoch = authority.ledger_epoch()
        place = _place(wanted.filters.get("after") or wanted.cursor, epoch)
        stretch = read_feed(visible_workflows(self.principal), place, wanted.limit)
        following = stretch.next and CURSOR.write(epoch, stretch.next.xid, stretch.next.run, stretch.next.seq)
        return answer({"items": [event.as_json() for event in stretch.events], "next": following})


def _place(cursor: str | None, epoch: int) -> Place:
    """Where to go on. Raises `Malformed` for a cursor that is not ours, or of the time before a restore."""
    if cursor is None:
        return Place()
    of, xid, run, seq = CURSOR.read(cursor)
    if of != epoch:
        detail = "The ledger was restored since this cursor was given out: read the feed from its beginning."
        raise Malformed(detail, errors=[Fault("/after", "epoch", detail)])
    return Place(xid, run, seq)
