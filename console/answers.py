"""How the API writes an answer: compact JSON, the tag of a version, and what marks a repeat.

For plain views and DRF views alike; a view that returns one of these needs no renderer.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from console.inputs import is_not_modified
from runs.chain import rfc3339
from runs.values import JSON


def _plain(value: object) -> JSON:
    """What JSON has no form for, in the form in which the API writes it."""
    match value:
        case datetime():
            return rfc3339(value)
        case Decimal() | UUID():
            return str(value)
        case Mapping():
            return dict(value)
        case set() | frozenset():
            return sorted(value)
    raise TypeError(f"{type(value).__name__} has no form in an answer")


_ENCODER = json.JSONEncoder(default=_plain, separators=(",", ":"), allow_nan=False)


def to_json(value: JSON) -> bytes:
    """The bytes of an answer; times, amounts and UUIDs are written as strings."""
    return _ENCODER.encode(value).encode()


def answer(data: JSON, *, status: int = 200, tag: str | None = None, replayed: bool = False) -> HttpResponse:
    """A JSON answer. `tag` is the entity tag of the version it shows; `replayed` says that nothing was done again."""
    headers: dict[str, Any] = {}
    if tag is not None:
        headers["ETag"] = tag
    if replayed:
        headers["Idempotent-Replayed"] = "true"
    return HttpResponse(to_json(data), status=status, content_type="application/json", headers=headers)


def representation(request: HttpRequest, data: JSON, *, tag: str) -> HttpResponse:
    """The answer to a GET of something versioned: 304 when the caller has this version already."""
    if is_not_modified(request.META.get("HTTP_IF_NONE_MATCH"), tag):
        return HttpResponse(status=304, headers={"ETag": tag})
    return answer(data, tag=tag)
