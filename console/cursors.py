"""Pages of a list: what a client may ask for, where a page ends, and the cursor that leads on.

A cursor is the position of the last row, signed with the name of its list: nobody can write one by hand or use it
elsewhere. Lists are read by keyset; there is no offset anywhere.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar, TypeVarTuple

from django.core import signing
from django.http import HttpRequest

from runs.errors import Fault, InvalidParams, Malformed

Position = TypeVarTuple("Position")
Row = TypeVar("Row")

DEFAULT_LIMIT = 50
MOST_LIMIT = 200


class CursorType(Generic[*Position]):
    """The cursors of one list: `RUNS: CursorType[datetime, int] = CursorType("runs", datetime, int)`."""

    def __init__(self, name: str, *types: type) -> None:
        self._signer = signing.Signer(sep=".", salt=f"cursor:{name}")
        self._types = types

    def write(self, *position: *Position) -> str:
        """The cursor of a position."""
        values: Sequence[Any] = position
        return self._signer.sign_object([v.isoformat() if isinstance(v, datetime) else v for v in values])

    def read(self, cursor: str) -> tuple[*Position]:
        """The position of a cursor. Raises `Malformed` for one that this list did not give out."""
        try:
            values = self._signer.unsign_object(cursor)
        except signing.BadSignature:
            fault = Fault("/cursor", "cursor", "A cursor is used as it was received, and on the same list.")
            raise Malformed(errors=[fault]) from None
        pairs = zip(self._types, values, strict=True)
        return tuple(datetime.fromisoformat(v) if kind is datetime else v for kind, v in pairs)  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What a client asks of a list: filters, how many rows, and after which cursor."""

    filters: Mapping[str, str]
    limit: int
    cursor: str | None

    @property
    def fetch(self) -> int:
        """How many rows to read: one more than the page shows, to know whether there is a next one."""
        return self.limit + 1


def read_page_request(request: HttpRequest, *filters: str) -> PageRequest:
    """The query of a list. Raises `Malformed` for a parameter that the list has not or that is given twice."""
    query = request.GET
    known = {"cursor", "limit", *filters}
    faults = [
        Fault(
            f"/{name}" if name in known else "", "parameter", "Known parameters, each once: " + ", ".join(sorted(known))
        )
        for name, values in query.lists()
        if name not in known or len(values) > 1
    ]
    if faults:
        raise Malformed("The query is not understood.", errors=faults[:1])
    chosen = {name: query[name] for name in filters if query.get(name)}
    return PageRequest(chosen, _limit(query.get("limit") or str(DEFAULT_LIMIT)), query.get("cursor") or None)


def _limit(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise Malformed(errors=[Fault("/limit", "limit", "A limit is a whole number.")])
    limit = int(text)
    if not 1 <= limit <= MOST_LIMIT:
        raise InvalidParams(errors=[Fault("/limit", "limit", f"A page has 1 to {MOST_LIMIT} items.")])
    return limit


def page(
    rows: Sequence[Row], limit: int, cursor_of: Callable[[Row], str], write: Callable[[Row], Any]
) -> dict[str, Any]:
    """The answer of a list, from up to `limit + 1` rows."""
    shown = rows[:limit]
    more = len(rows) > limit
    return {"items": [write(row) for row in shown], "next": cursor_of(shown[-1]) if more else None}
