"""Named filters of a list, for one person: any list page can show them by including one template.

The screen is the path of its page, the filters are its query.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, resolve
from django.utils.functional import SimpleLazyObject
from django.views.decorators.http import require_POST

from console.web.gate import signed_in
from console.web.paging import see_other
from runs.errors import InvalidParams, NotFound
from runs.models import Person
from runs.preferences import list_filters, remove_filter, save_filter
from runs.values import Principal

#: What says where in a list one is, rather than what one looks for.
_PLACES = frozenset({"after", "before", "cursor", "page"})


def saved(request: HttpRequest) -> Mapping[str, Any]:
    """Context processor: `saved_filters` of this page and `current_filter`; read only where a page shows them."""
    person = getattr(request, "user", None)  # a request refused early has none
    if not isinstance(person, Person):
        return {}
    return {
        "saved_filters": SimpleLazyObject(lambda: list_filters(person.pk, request.path)),
        "current_filter": _filters_of(request.META.get("QUERY_STRING", "")),
    }


def _filters_of(query: str) -> str:
    """A query without the place in the list, and without filters that filter nothing."""
    return urlencode([(name, value) for name, value in parse_qsl(query) if name not in _PLACES])


@require_POST
@signed_in
def save(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Keep the filters of a list under a name."""
    screen, query = _screen(request), _filters_of(request.POST.get("query", ""))
    try:
        save_filter(principal, screen, request.POST.get("name", ""), query)
    except InvalidParams as refusal:
        messages.error(request, refusal.errors[0].detail)
    return see_other(f"{screen}?{query}")


@require_POST
@signed_in
def remove(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Take a named filter off the list."""
    screen = _screen(request)
    remove_filter(principal, screen, request.POST.get("name", ""))
    return see_other(screen)


def _screen(request: HttpRequest) -> str:
    """The page that the form stood on. Raises `NotFound` for what is no page here."""
    screen = request.POST.get("screen", "")
    try:
        resolve(screen)
    except Resolver404:
        raise NotFound from None
    return screen
