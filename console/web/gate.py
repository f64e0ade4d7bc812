"""The gate that every screen begins with: who looks at it, and what somebody hears who is signed out."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec
from urllib.parse import quote, urlsplit

import structlog
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from console.rendering import wants_fragment
from runs.authority import principal_for_person
from runs.errors import Unauthenticated
from runs.values import Principal

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, Principal, P], HttpResponse]


def signed_in(view: View[P]) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """Give `view` the person who asks. Somebody signed out is led to the sign-in page, or told so beside a form."""

    @wraps(view)
    def gated(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not request.user.is_authenticated:
            return _sign_in(request)
        principal = principal_for_person(request.user.pk)
        structlog.contextvars.bind_contextvars(actor=principal.actor)
        return view(request, principal, *args, **kwargs)

    return gated


def _sign_in(request: HttpRequest) -> HttpResponse:
    """The sign-in page, and back. A fragment is refused instead, so that it takes the place of no form."""
    if wants_fragment(request):
        raise Unauthenticated
    back = request.get_full_path() if request.method == "GET" else _page_of(request)
    return redirect(f"{reverse('account_login')}?next={quote(back)}")


def _page_of(request: HttpRequest) -> str:
    """The page whose form was sent, on this host."""
    return urlsplit(request.headers.get("Referer", "/"))._replace(scheme="", netloc="").geturl() or "/"
