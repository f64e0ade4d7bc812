"""`/runs/{key}/ledger/`: everything that happened to one run, in order, with its hash chain."""

import re

from django.http import HttpResponse
from rest_framework.request import Request

from console.access import access_run
from console.answers import answer
from console.api.base import ApiView
from console.api.openapi import documented, listed
from console.cursors import CursorType, PageRequest, page, read_page_request
from runs.errors import Fault, Malformed
from runs.queries import Entry, list_entries

_SEQ = re.compile(r"[0-9]{1,9}")


class LedgerView(ApiView):
    """The ledger of a run."""

    @documented(
        "ledger",
        answers={200: listed("LedgerEntry")},
        is_list=True,
        query={"after": "Only entries with a higher `seq`"},
    )
    def get(self, request: Request, key: str) -> HttpResponse:
        """The ledger entries of a run, the oldest first."""
        run = access_run(self.principal, key).run
        wanted = read_page_request(request._request, "after")
        cursor: CursorType[int] = CursorType(f"ledger:{run.id}", int)
        rows = list_entries(run.id, wanted.fetch, after=_after(wanted, cursor))
        return answer(page(rows, wanted.limit, lambda row: cursor.write(row.seq), Entry.as_json))


def _after(wanted: PageRequest, cursor: CursorType[int]) -> int:
    """The `seq` after which to go on. A cursor comes from going on, so it wins over where the reading began."""
    if wanted.cursor:
        (seq,) = cursor.read(wanted.cursor)
        return seq
    given = wanted.filters.get("after", "0")
    if not _SEQ.fullmatch(given):
        raise Malformed(errors=[Fault("/after", "seq", "The parameter after is the seq of an entry.")])
    return int(given)
