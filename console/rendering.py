"""How a view answers: a whole page to a browser, the changed fragment to htmx, from one template.

A fragment is a named partial of the page template. The view names it, never the request; and because a partial
rendered alone skips everything around it, permission is settled before either is rendered.
"""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers, patch_vary_headers

#: The header in which a polled fragment and its server agree on what was last shown.
TAG = "HX-PTag"


def render_screen(
    request: HttpRequest,
    template: str,
    context: Mapping[str, Any],
    *,
    fragment: str = "",
    status: int = 200,
    tag: str = "",
) -> HttpResponse:
    """The page, or its `fragment` when htmx asks for a part of it.

    A history restore and a request for the whole body get the page. With `tag` the answer carries it, so that the
    next poll can be answered by `unchanged`. Nothing of a console page is kept in a shared or a browser cache.
    """
    name = f"{template}#{fragment}" if fragment and wants_fragment(request) else template
    response = render(request, name, dict(context), status=status)
    if tag:
        response[TAG] = tag
    return private(response)


def unchanged(request: HttpRequest, tag: str) -> HttpResponse | None:
    """An empty 304 when the asking element already shows this tag, otherwise nothing.

    A view calls it with something cheap, such as the run's version, before it reads anything expensive.
    """
    if not wants_fragment(request) or request.headers.get(TAG) != tag:
        return None
    return private(HttpResponse(status=304))


def wants_fragment(request: HttpRequest) -> bool:
    """Whether htmx asks for a part of the page rather than for the page."""
    headers = request.headers
    return (
        headers.get("HX-Request") == "true"
        and headers.get("HX-History-Restore-Request") != "true"
        and headers.get("HX-Request-Type") != "full"
    )


def private(response: HttpResponse) -> HttpResponse:
    """The same answer, kept by nobody, and never taken for the answer to the other kind of request."""
    add_never_cache_headers(response)
    patch_vary_headers(response, ["HX-Request"])
    return response
