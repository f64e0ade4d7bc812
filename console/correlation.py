"""One id per request: given by the caller or minted, bound to every log line, and told in every answer."""

import re
from collections.abc import Callable

import structlog
from django.http import HttpRequest, HttpResponse
from uuid6 import uuid7

HEADER = "X-Correlation-Id"
_META = "HTTP_X_CORRELATION_ID"
_SANE = re.compile(r"[A-Za-z0-9._:-]{1,128}")


class CorrelationId:
    """The outermost middleware, so that no answer goes without the id.

    An incoming id is replaced when it is longer or stranger than an id needs to be: it goes into logs.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.META.get(_META, "")
        correlation_id = given if _SANE.fullmatch(given) else str(uuid7())
        request.META[_META] = correlation_id  # where the request log and `correlation_id` look for it
        with structlog.contextvars.bound_contextvars(correlation_id=correlation_id):
            response = self._get_response(request)
        response.headers[HEADER] = correlation_id
        return response


def correlation_id(request: HttpRequest) -> str:
    """The id of this request."""
    return str(request.META.get(_META, ""))
