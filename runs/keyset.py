"""Paging by place instead of by number: what follows a row in an order without ties."""

from typing import Any

from django.db.models import Q


def following(place: tuple[Any, Any], columns: tuple[str, str], *, newest_first: bool = False) -> Q:
    """What comes after the row whose two columns hold `place`.

    The bound on the first column stands alone, so that an index begins there however deep the page is.
    """
    (first, second), (at, number) = columns, place
    way = "lt" if newest_first else "gt"
    beyond = Q(**{f"{first}__{way}": at}) | Q(**{f"{second}__{way}": number})
    return Q(**{f"{first}__{way}e": at}) & beyond
