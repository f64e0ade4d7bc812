"""What an exception that is not ours means in our words: of Django, DRF and the database.

Owns the rule that a busy or unreachable database is told as `unavailable`, never as an internal error. What is not
known here stays what it is: a mistake of ours, for the log.
"""

import psycopg
from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404
from django.http.request import UnreadablePostError
from rest_framework import exceptions as drf

from console.errors import MethodNotAllowed
from runs.errors import (
    ClearanceError,
    Forbidden,
    Malformed,
    NotFound,
    TooLarge,
    Unauthenticated,
    Unavailable,
    UnsupportedMediaType,
)

# A connection may break while it commits, so "nothing was written" would promise too much.
_NO_ANSWER = "The database did not answer in time. Send the same request again: with the same id it counts once."

#: The first row that fits decides.
_MEANINGS: list[tuple[tuple[type[Exception], ...], type[ClearanceError], str]] = [
    ((RequestDataTooBig,), TooLarge, ""),
    ((Http404, drf.NotFound), NotFound, ""),
    ((PermissionDenied, drf.PermissionDenied), Forbidden, ""),
    ((drf.NotAuthenticated, drf.AuthenticationFailed), Unauthenticated, ""),
    ((drf.MethodNotAllowed,), MethodNotAllowed, ""),
    ((drf.UnsupportedMediaType,), UnsupportedMediaType, ""),
    ((BadRequest, SuspiciousOperation, drf.ParseError, UnreadablePostError), Malformed, "The request is malformed."),
    ((OperationalError, InterfaceError, psycopg.OperationalError, psycopg.InterfaceError), Unavailable, _NO_ANSWER),
]


def domain_error(exception: BaseException) -> ClearanceError | None:
    """The refusal that an exception amounts to, or None for a mistake of ours. Its own words are never repeated."""
    if isinstance(exception, ClearanceError):
        return exception
    for kinds, error, detail in _MEANINGS:
        if isinstance(exception, kinds):
            return error(detail)
    return None
