"""Two doors for the tests of what all endpoints share: a plain view and a DRF view of the same change, and a list."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

import psycopg
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST
from rest_framework.request import Request

from console import urls
from console.answers import answer, representation
from console.api.authentication import admit
from console.api.base import ApiView
from console.cursors import CursorType, page, read_page_request
from console.inputs import ARTIFACT_BODY_BYTES, check_idempotency_key, parse_if_match, read_body
from console.shapes import Evidence, Id, Name, Params, Reason, Sha256, Version, read_shape
from runs import store
from runs.errors import AlreadyDecided, LeaseHeld, NotFound, VersionConflict
from runs.values import version_tag

handler400, handler403, handler404, handler500 = urls.handler400, urls.handler403, urls.handler404, urls.handler500

EPOCH = 3
LETTERS: CursorType[str, int] = CursorType("letters", str, int)
DIGITS: CursorType[str, int] = CursorType("digits", str, int)
ROWS = [(letter, number) for number, letter in enumerate("abcde")]
MOVED = [
    {
        "field": "category",
        "base": "billing",
        "current": "other",
        "restored": False,
        "version": 21,
        "changed_by": "user:mara",
    }
]
FAILURES: dict[str, Exception] = {
    "busy": OperationalError("connection to server at 10.0.0.7 failed"),
    "locked": psycopg.errors.LockNotAvailable("canceling statement due to lock timeout"),
    "bug": RuntimeError("SELECT secret FROM somewhere"),
    "denied": PermissionDenied("internal words"),
    "absent": Http404("internal words"),
    "suspicious": SuspiciousOperation("internal words"),
    "huge": RequestDataTooBig("internal words"),
    "decided": AlreadyDecided(),
    "held": LeaseHeld(retry_after=12.2, expected=3, actual=4),
    "moved": VersionConflict(problem={"detail": "Mara changed it.", "current_version": 21, "status": 1}),
    "moved-fields": VersionConflict(
        problem={"detail": "Mara changed it.", "current_version": 21, "changed_fields": MOVED}
    ),
    "rich": NotFound("gone", at=datetime(2026, 11, 30, tzinfo=UTC), sum=Decimal("30.00"), ids=frozenset({"b", "a"})),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A body with a member of most kinds."""

    id: Id
    name: Name
    params: Params
    reason: Reason
    evidence: Evidence = ()
    run_version: Version | None = None
    manifest_sha256: Sha256 | None = None


def _changed(body: Change, actor: str, expected: int) -> HttpResponse:
    shown = {"by": actor, "id": body.id, "params": body.params, "expected": expected}
    return answer(shown, status=201, tag=version_tag(EPOCH, 8))


@csrf_exempt
@require_POST
def plain_change(request: HttpRequest) -> HttpResponse:
    principal = admit(request)
    body = read_shape(Change, read_body(request))
    check_idempotency_key(request, body.id)
    return _changed(body, principal.actor, parse_if_match(request.META.get("HTTP_IF_MATCH"), epoch=EPOCH))


class RestChange(ApiView):
    def get(self, request: Request) -> HttpResponse:
        return representation(request._request, {"version": 8}, tag=version_tag(EPOCH, 8))

    def post(self, request: Request) -> HttpResponse:
        return _changed(self.read(Change), self.principal.actor, self.expected_version(EPOCH))


class Parsed(ApiView):
    """Reads the body the way DRF offers it."""

    max_bytes = ARTIFACT_BODY_BYTES

    def post(self, request: Request) -> HttpResponse:
        return answer({"read": sorted(request.data)})


class Letters(ApiView):
    def get(self, request: Request) -> HttpResponse:
        wanted = read_page_request(request._request, "case")
        _, after = LETTERS.read(wanted.cursor) if wanted.cursor else ("", -1)
        rows = [row for row in ROWS if row[1] > after][: wanted.fetch]
        return answer(page(rows, wanted.limit, lambda row: LETTERS.write(*row), lambda row: row[0]))


class OneRun(ApiView):
    def get(self, request: Request, key: str) -> HttpResponse:
        if store.read(key).run is None:
            raise NotFound
        return answer({"key": key})


class Failing(ApiView):
    def get(self, request: Request, how: str) -> HttpResponse:
        raise FAILURES[how]


@require_GET
def failing_page(request: HttpRequest, how: str) -> HttpResponse:
    raise FAILURES[how]


@require_POST
def form_page(request: HttpRequest) -> HttpResponse:
    return HttpResponse("taken")


urlpatterns = [
    path("api/v1/plain/", plain_change),
    path("api/v1/rest/", RestChange.as_view()),
    path("api/v1/parsed/", Parsed.as_view()),
    path("api/v1/letters/", Letters.as_view()),
    path("api/v1/runs/<str:key>/", OneRun.as_view()),
    path("api/v1/failing/<str:how>/", Failing.as_view()),
    path("failing/<str:how>/", failing_page),
    path("form/", form_page),
    path("", include("console.urls")),
]
