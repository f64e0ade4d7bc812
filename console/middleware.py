"""The outer skin of every answer: how much may come in, what leaves when something fails, and who may keep it.

Below `/api/` no failure leaves as anything but problem+json, whoever noticed it: a view, the URL table, or Django.
"""

from collections.abc import Callable

import structlog
from django.http import HttpRequest, HttpResponse

from console.errors import MethodNotAllowed, Unexpected
from console.inputs import ARTIFACT_BODY_BYTES, BODY_BYTES, announced_length
from console.problems import CONTENT_TYPE
from console.refusals import answer_to, is_api, refuse
from runs.errors import ClearanceError, Forbidden, Malformed, NotFound, TooLarge

GetResponse = Callable[[HttpRequest], HttpResponse]

log = structlog.get_logger(__name__)

PERMISSIONS = "camera=(), geolocation=(), microphone=(), payment=(), usb=(), browsing-topics=()"

#: What a bare status below `/api/` means when nobody said it in our words.
_BARE: dict[int, type[ClearanceError]] = {
    400: Malformed,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    413: TooLarge,
}


class AnswerHeaders:
    """Headers of every answer that is no static file: kept by nobody, changed by nobody on the way, asks for nothing.

    `no-transform` asks proxies not to compress: that would turn strong tags into weak ones.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        kept = "no-store, no-transform" if is_api(request) else "no-store"
        response.headers.setdefault("Cache-Control", kept)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS)
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        response.headers.setdefault("Referrer-Policy", "same-origin")
        return response


class Refusals:
    """Turns away what is too large to be read or holds what nothing can, and answers whatever a view refuses."""

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if error := _unacceptable(request):
            log.info("turned_away", code=error.code)
            return refuse(request, error)
        response = self._get_response(request)
        if is_api(request) and response.status_code >= 400 and response.headers.get("Content-Type") != CONTENT_TYPE:
            return _in_our_words(request, response)
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """The answer to a refusal; a mistake of ours is left to Django, which logs it and asks for the 500."""
        return answer_to(request, exception)


def _unacceptable(request: HttpRequest) -> ClearanceError | None:
    limit = ARTIFACT_BODY_BYTES if is_api(request) else BODY_BYTES
    if announced_length(request) > limit:
        return TooLarge(limit=limit)
    if "\0" in request.path_info:
        return NotFound()
    if "%00" in request.META.get("QUERY_STRING", ""):  # no text of the database can hold it
        return Malformed("The address holds a NUL.")
    return None


def _in_our_words(request: HttpRequest, bare: HttpResponse) -> HttpResponse:
    answer = refuse(request, _BARE.get(bare.status_code, Unexpected)())
    if "Allow" in bare.headers:
        answer.headers["Allow"] = bare.headers["Allow"]
    return answer
