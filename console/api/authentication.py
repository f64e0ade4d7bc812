"""Who asks the API: an agent by its bearer token or a person by the session, never both, and at most so often.

The identity comes from here alone; no body and no header names a principal.
"""

import re
from collections.abc import Callable
from typing import Any

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from console.limits import take_request
from runs.authority import TOKEN_PREFIX, principal_for_person, principal_for_token
from runs.errors import Forbidden, Malformed, Unauthenticated
from runs.values import Principal

_BEARER = re.compile(rf"bearer +({TOKEN_PREFIX}[A-Za-z0-9_-]{{1,200}})", re.IGNORECASE)


def admit(request: HttpRequest, by_token: Callable[[str], Principal] = principal_for_token) -> Principal:
    """Who asks, counted against its limit. Raises what `authenticate` raises, and `RateLimited`."""
    principal = authenticate(request, by_token)
    take_request(principal)
    return principal


def authenticate(request: HttpRequest, by_token: Callable[[str], Principal] = principal_for_token) -> Principal:
    """Who asks; `by_token` tells whom a bearer token stands for.

    Raises `Malformed` for two credentials at once, `Unauthenticated` for none or one that is not valid (any more),
    `AuthorityRevoked` for a suspended principal, and `Forbidden` for a change by session without its CSRF header.
    """
    given = request.META.get("HTTP_AUTHORIZATION")
    if given is None:
        principal = _signed_in(request)
    elif settings.SESSION_COOKIE_NAME in request.COOKIES:
        raise Malformed("Send a bearer token or a session cookie, not both.")
    else:
        principal = by_token(_token(given))
    structlog.contextvars.bind_contextvars(actor=principal.actor)
    return principal


def _token(header: str) -> str:
    found = _BEARER.fullmatch(header)
    if found is None:
        raise Unauthenticated
    return found[1]


def _signed_in(request: HttpRequest) -> Principal:
    if not request.user.is_authenticated:
        raise Unauthenticated
    check = CsrfViewMiddleware(_no_view)  # asked by hand, since API views are exempt: bearer tokens need none
    check.process_request(request)
    if check.process_view(request, _no_view, (), {}) is not None:
        raise Forbidden("The header X-CSRFToken is missing or wrong, or the request comes from another site.")
    return principal_for_person(request.user.pk)


def _no_view(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


class PrincipalAuthentication(BaseAuthentication):
    """The same for DRF: `request.user` of an API view is a `Principal`."""

    def authenticate(self, request: Request) -> tuple[Any, None]:
        return admit(request._request), None

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="clearance"'
