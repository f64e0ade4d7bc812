"""What a request says around its content: the body as bytes, preconditions, and the id of a repeat.

Plain Django, for pages and API alike. Owns the rules that a precondition is never guessed (Django's own helper
lets a malformed If-Match pass) and that a body is measured before it is read.
"""

import re
from collections.abc import Collection
from typing import Protocol

from django.http import HttpRequest
from django.http.request import UnreadablePostError

from runs.digest import parse_json
from runs.errors import (
    Fault,
    Malformed,
    MalformedPrecondition,
    PreconditionRequired,
    TooLarge,
    UnsupportedMediaType,
    WeakPrecondition,
)
from runs.values import JSON, UNKNOWN_BASE

BODY_BYTES = 1024 * 1024
ARTIFACT_BODY_BYTES = 16 * 1024 * 1024

_OWN_TAG = re.compile(r'"([1-9][0-9]{0,8})\.([1-9][0-9]{0,8})"')
_WEAK_TAG = re.compile(r'W/"[\x21\x23-\x7e]*"')
_ANY_TAG = re.compile(r'(?:W/)?("[\x21\x23-\x7e\x80-\xff]*")')
_JSON_TYPE = re.compile(r'application/json(?:[ \t]*;[ \t]*charset="?utf-8"?)?', re.IGNORECASE)
_LENGTH = re.compile(r"[0-9]{1,18}")
_ID = re.compile(r"[\x21-\x7e]{1,200}")


class Readable(Protocol):
    """What gives bytes, at most as many as asked for."""

    def read(self, size: int, /) -> bytes: ...


# ---- preconditions ---------------------------------------------------------------------------------------


def parse_if_match(header: str | None, *, epoch: int) -> int:
    """The version that If-Match names; `UNKNOWN_BASE` for a tag of another ledger epoch, which matches nothing.

    Raises what `read_if_match` raises.
    """
    tagged, version = read_if_match(header)
    return version if tagged == epoch else UNKNOWN_BASE


def read_if_match(header: str | None) -> tuple[int, int]:
    """The ledger epoch and the version of the tag in If-Match.

    Raises `PreconditionRequired` without a header, `WeakPrecondition` for a weak tag, and `MalformedPrecondition` for
    whatever else is not exactly one strong tag as this server gives them out.
    """
    if header is None:
        raise PreconditionRequired
    given = header.strip(" \t")
    own = _OWN_TAG.fullmatch(given)
    if own is None:
        raise WeakPrecondition if _WEAK_TAG.fullmatch(given) else MalformedPrecondition
    return int(own[1]), int(own[2])


def is_not_modified(if_none_match: str | None, tag: str) -> bool:
    """Whether a reader has this version already: its tag is listed, weakly or strongly, or everything is (`*`)."""
    if if_none_match is None:
        return False
    return if_none_match.strip() == "*" or tag in _ANY_TAG.findall(if_none_match)


# ---- the id of a mutation --------------------------------------------------------------------------------


def check_id(value: JSON, *, at: str = "/id") -> str:
    """The id a caller chose: 1 to 200 visible ASCII characters. Raises `Malformed` for anything else."""
    if isinstance(value, str) and _ID.fullmatch(value):
        return value
    raise Malformed(errors=[Fault(at, "id-form", "An id is a text of 1 to 200 visible ASCII characters.")])


def check_idempotency_key(request: HttpRequest, id: str) -> None:
    """The Idempotency-Key header may be absent. Raises `Malformed` when it says something else than the id."""
    if request.META.get("HTTP_IDEMPOTENCY_KEY", id) != id:
        fault = Fault("/id", "idempotency-key", "The Idempotency-Key header must be absent or equal the id.")
        raise Malformed(errors=[fault])


# ---- the body --------------------------------------------------------------------------------------------


def read_body(
    request: HttpRequest, *, max_bytes: int = BODY_BYTES, may_hold_secrets: Collection[str] = ()
) -> dict[str, JSON]:
    """The JSON object that a request carries.

    Raises `UnsupportedMediaType`, `TooLarge` (by the announced length before anything is read), and whatever the
    strict door raises (`runs.digest.parse_json`).
    """
    if request.META.get("CONTENT_TYPE") or announced_length(request) or _is_chunked(request):
        _require_json(request)  # else there is no body, which is a fault of another kind
    if announced_length(request) > max_bytes:
        raise TooLarge(limit=max_bytes)
    try:
        raw = _source(request).read(max_bytes + 1)
    except UnreadablePostError:
        raise Malformed("The body ended before its announced length.") from None
    return parse_json(raw, max_bytes=max_bytes, may_hold_secrets=may_hold_secrets)


def _is_chunked(request: HttpRequest) -> bool:
    return "HTTP_TRANSFER_ENCODING" in request.META and bool(request.META.get("wsgi.input_terminated"))


def _source(request: HttpRequest) -> Readable:
    """Where to read the body. Django takes a body without a length for none, even when the server marks its end."""
    return request.META["wsgi.input"] if _is_chunked(request) else request


def _require_json(request: HttpRequest) -> None:
    given = request.META.get("CONTENT_TYPE", "")
    if given != "application/json" and not _JSON_TYPE.fullmatch(given):
        raise UnsupportedMediaType
    if request.META.get("HTTP_CONTENT_ENCODING", "identity") != "identity":
        raise UnsupportedMediaType("Send the body without a Content-Encoding.")


def announced_length(request: HttpRequest) -> int:
    """How many bytes the body has by its own account; 0 when it does not say."""
    announced = request.META.get("CONTENT_LENGTH") or ""
    return int(announced) if _LENGTH.fullmatch(announced) else 0
