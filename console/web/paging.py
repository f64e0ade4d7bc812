"""Pages of lists by keyset, and the answer to a form that was sent without script."""

from dataclasses import dataclass

from django.http import HttpResponse, HttpResponseRedirect

from runs.errors import NotFound


@dataclass(frozen=True, slots=True)
class Page:
    """What the links below a list need; an empty address where there is no neighbour."""

    previous_url: str
    next_url: str
    summary: str


def page_number(text: str | None) -> int | None:
    """The number that a link of ours carries. Raises `NotFound` for anything that no link of ours says."""
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise NotFound
    return int(text)


def see_other(url: str) -> HttpResponse:
    """Go on to a page that tells what was done, so that reloading it does nothing again."""
    response = HttpResponseRedirect(url)
    response.status_code = 303
    return response
