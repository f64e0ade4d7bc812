"""The gate that every screen begins with: who looks at it, and what somebody hears who is signed out."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec
from urllib.parse import quote, urlsplit

import structlog
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from console.rendering import private, wants_fragment
from runs.authority import principal_for_person
from runs.errors import Unauthenticated
from runs.values import Principal

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, Principal, P], HttpResponse]


def signed_in(view: View[P]) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """Give `view` the person who asks. Somebody signed out is led to the sign-in page, or told so beside a form."""

    @wraps(view)
    def gated(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            principal = _principal(request)
        except Unauthenticated:
            return sign_in_again(request)
        structlog.contextvars.bind_contextvars(actor=principal.actor)
        return view(request, principal, *args, **kwargs)

    return gated


def _principal(request: HttpRequest) -> Principal:
    if not request.user.is_authenticated:
        raise Unauthenticated
    return principal_for_person(request.user.pk)


def sign_in_again(request: HttpRequest) -> HttpResponse:
    """To a page: the sign-in page. To a fragment: a note in a corner that leaves the form and what was typed alone."""
    if not wants_fragment(request):
        back = request.get_full_path() if request.method == "GET" else _page_of(request)
        return redirect(f"{reverse('account_login')}?next={quote(back)}")
    response = render(request, "components/_sign_in_again.html", {"back": _page_of(request)}, status=401)
    response["HX-Retarget"], response["HX-Reswap"] = "#toasts", "innerHTML"
    return private(response)


def _page_of(request: HttpRequest) -> str:
    """The page that the request came from, on this host."""
    came_from = urlsplit(request.headers.get("HX-Current-URL") or request.headers.get("Referer") or "/")
    return came_from._replace(scheme="", netloc="").geturl() or "/"
