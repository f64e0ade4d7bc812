"""How a refusal leaves: problem+json below `/api/`, a page or a fragment elsewhere.

Also what Django itself calls when it has nothing better to say.
"""

import sys

import structlog
from django.http import HttpRequest, HttpResponse

from console.errors import FormExpired, Unexpected
from console.problems import problem_response
from console.translate import domain_error
from console.web.problems import refusal
from runs.errors import ClearanceError, Malformed, Unavailable

log = structlog.get_logger(__name__)

API = "/api/"


def is_api(request: HttpRequest) -> bool:
    """Whether a program asks, which wants JSON whatever happens."""
    return request.path_info.startswith(API)


def refuse(request: HttpRequest, error: ClearanceError) -> HttpResponse:
    """A refusal in the language of who asked: problem+json below `/api/`, else a page or a fragment."""
    return problem_response(error, request) if is_api(request) else refusal(request, error)


def answer_to(request: HttpRequest, exception: BaseException) -> HttpResponse | None:
    """The answer to an exception that amounts to a refusal; None for a mistake of ours."""
    error = domain_error(exception)
    if error is None:
        return None
    if isinstance(error, Unavailable):
        log.warning("unavailable", cause=type(exception.__cause__ or exception).__name__)
    return refuse(request, error)


# ---- what Django calls when it fails by itself -----------------------------------------------------------


def not_accepted(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler400, handler403 and handler404."""
    return answer_to(request, exception) or refuse(request, Malformed("The request is malformed."))


def failed(request: HttpRequest) -> HttpResponse:
    """handler500: generic words and the correlation id, never a stack.

    It is called while the exception is handled; one of a middleware, such as a session that cannot be read, has
    passed no other place of ours.
    """
    exception = sys.exception()
    answer = answer_to(request, exception) if exception else None
    return answer or refuse(request, Unexpected())


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    """CSRF_FAILURE_VIEW: the page is older than the sign-in, or was made elsewhere."""
    return refuse(request, FormExpired())
