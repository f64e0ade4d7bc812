"""The one table from a refusal to HTTP: status, words, what to do next, when to ask again, and the fragment for pages.

It is keyed by the stable code that every error class of every app carries; several classes may share a code. The
same rows make the answers (RFC 9457), the pages under `/problems/` that explain them, and the fragments of screens.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

from django.http import HttpRequest, HttpResponse

import approvals.errors  # noqa: F401 - imported for `error_classes` to find
import console.errors  # noqa: F401 - the same
import outbox.errors  # noqa: F401 - the same
from console import metrics
from console.answers import to_json
from console.correlation import correlation_id
from runs.errors import ClearanceError, InputError

CONTENT_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Problem:
    """How a refusal is told over HTTP. `retry_after` is for errors that do not bring a time of their own."""

    status: int
    title: str
    next_step: str
    retry_after: int | None = None
    fragment: str = "refusal"  # templates/components/_refusal.html


_READ_AGAIN = "Read the current state, decide anew, and send a new request with the new tag."
_LOOK_AGAIN = "Look at the current state and decide whether this is still wanted."
_ANOTHER_PERSON = "Ask somebody whose part this is."
_FREEZE_AGAIN = "Freeze a new candidate from the current state and have it reviewed."

PROBLEMS: dict[str, Problem] = {
    # the form of a request
    "malformed": Problem(400, "The request is malformed", "Correct what the pointers name and send it again."),
    "malformed-precondition": Problem(
        400, "If-Match is malformed", "Send exactly one tag, quotes included, as it came in ETag."
    ),
    "too-large": Problem(413, "The body is too large", "Send less; bulk belongs in artifacts."),
    "unsupported-media-type": Problem(
        415, "The body is not announced as JSON", "Send Content-Type: application/json, in UTF-8 and uncompressed."
    ),
    "method-not-allowed": Problem(405, "The method is not allowed here", "Use one of the methods that Allow names."),
    "invalid-params": Problem(422, "A value is not acceptable", "Correct what the pointers name and send it again."),
    "hash-mismatch": Problem(422, "The content has another hash", "Compute the SHA-256 of the exact bytes you send."),
    "secret-in-body": Problem(
        422, "The body holds a secret", "Revoke that secret if it is real, and send a reference by name instead."
    ),
    "fields-too-large": Problem(422, "The fields are too large", "Put bulk into an artifact and refer to it."),
    "precondition-required": Problem(
        428, "If-Match is required", "Read the run and send the ETag of the version you computed from."
    ),
    "weak-precondition": Problem(
        412, "The tag is weak", "Read again without compression in between and send the strong tag."
    ),
    # who asks
    "unauthenticated": Problem(401, "Nobody is signed in", "Sign in, or send a valid token.", fragment="sign_in_again"),
    "form-expired": Problem(
        403, "The form is out of date", "Open the page again and repeat it.", fragment="sign_in_again"
    ),
    "forbidden": Problem(403, "This is not yours to do", _ANOTHER_PERSON),
    "scope-missing": Problem(403, "The scope is missing", "Ask the owner of the agent for the scope that is named."),
    "authority-revoked": Problem(403, "The authority was withdrawn", "Ask an admin who withdrew it and why."),
    "agents-cannot-decide": Problem(403, "Agents cannot decide", "A person has to decide this in the console."),
    "separation-of-duties": Problem(403, "Both sides cannot be one person", "Another person has to do this."),
    "reauthentication-required": Problem(
        403, "Confirm who you are", "Confirm with your password or second factor, then repeat."
    ),
    "limit-exceeded": Problem(403, "The value is above the limit", "A person has to do this."),
    "workflow-suspended": Problem(403, "The workflow is suspended", "Wait until an admin resumes it."),
    "halted": Problem(403, "The installation is halted", "Wait until an admin lifts the halt."),
    "not-found": Problem(404, "Not found", "Check the address; what you may not see is not found either."),
    "rate-limited": Problem(429, "Too many requests", "Wait as told, then go on.", 1),
    # repeats
    "command-id-reused": Problem(422, "The id was used for another request", "Choose a new id for a new request."),
    "item-id-reused": Problem(422, "The item exists with other content", "Choose a new id for a new item."),
    "command-in-progress": Problem(
        409, "The first delivery is still running", "Send the same request again shortly.", 1, "try-again"
    ),
    # the record
    "version-conflict": Problem(412, "The record has moved", _READ_AGAIN, fragment="moved"),
    "invalid-transition": Problem(409, "The record does not allow this now", "Take one of the next steps it allows."),
    "run-exists": Problem(409, "The run exists with other content", "Choose another key, or work on that run."),
    "escalation-claimed": Problem(409, "Somebody else holds this case", "Wait for them, or ask them to hand it over."),
    "escalation-open": Problem(409, "An open case stands in the way", "Have an operator settle the case first."),
    "already-decided": Problem(409, "There is nothing left to decide", "Look at the decision; it stands."),
    # snapshots, approvals, authorization
    "not-shown": Problem(409, "The snapshot was not shown", "Open the snapshot, look at it, then decide."),
    "snapshot-not-active": Problem(409, "The snapshot is not under review", _LOOK_AGAIN),
    "manifest-mismatch": Problem(409, "The hash is of another manifest", _LOOK_AGAIN),
    "facts-changed": Problem(409, "A fact of the approval has changed", _FREEZE_AGAIN),
    "destination-changed": Problem(409, "The destination has changed", _FREEZE_AGAIN),
    "authority-changed": Problem(409, "Authority has changed since", _LOOK_AGAIN),
    "approval-missing": Problem(409, "An approval is missing", "Have the snapshot reviewed."),
    "approval-expired": Problem(409, "The approval has expired", "Have the snapshot approved again."),
    "approval-revoked": Problem(409, "The approval was revoked", _FREEZE_AGAIN),
    "input-outdated": Problem(409, "An artifact is made from older input", "Make the artifact from the current input."),
    "payload-incomplete": Problem(422, "The payload is incomplete", "Fill the fields that are named, then freeze."),
    "destination-unknown": Problem(422, "The destination is unknown", "Ask an admin to register it."),
    # effects
    "operation-mismatch": Problem(409, "A guard of the database refused", "Tell whoever runs this installation."),
    "effect-in-flight": Problem(409, "The effect is in flight", "Wait for its outcome, then look again."),
    "quarantined": Problem(409, "The effect is in quarantine", "An admin has to examine and release it."),
    "too-early": Problem(409, "It is too early to know", "Wait as told, then give the verdict.", 60),
    # leases
    "lease-held": Problem(409, "Somebody else holds the lease", "Wait as told, then try again.", 5),
    "stale-generation": Problem(409, "The lease was lost to a newer holder", "Stop, or take the lease anew."),
    # ourselves
    "unavailable": Problem(503, "Not available just now", "Send the same request again shortly.", 1),
    "unexpected": Problem(500, "Something went wrong here", "Try again; if it stays, tell the correlation id."),
}


def problem_of(error: ClearanceError) -> Problem:
    """The row of an error."""
    return PROBLEMS[error.code]


def error_classes() -> Iterator[type[ClearanceError]]:
    """Every error class there is, each before its subclasses."""
    waiting: list[type[ClearanceError]] = [ClearanceError]
    for known in waiting:
        yield known
        waiting += known.__subclasses__()


def meaning(code: str) -> str:
    """What a code means in plain words: the docstring of its error class, the most special one first defined."""
    sharing = [found for found in error_classes() if getattr(found, "code", None) == code]
    special = [found for found in sharing if not set(found.__subclasses__()) & set(sharing)]
    return (special[0].__doc__ or "").strip() if special else ""


def retry_after(error: ClearanceError) -> int | None:
    """In how many whole seconds to ask again: the error's own member `retry_after`, else what its row says."""
    seconds = error.members.get("retry_after", problem_of(error).retry_after)
    return None if seconds is None else max(1, ceil(seconds))


def problem_response(error: ClearanceError, request: HttpRequest) -> HttpResponse:
    """The answer of the API to a refusal: RFC 9457, the facts that differ as members, and each fault by pointer."""
    metrics.count_error(error)
    row = problem_of(error)
    facts = {name: value for name, value in error.members.items() if name != "retry_after"}
    body: dict[str, Any] = {
        "type": f"/problems/{error.code}",
        "title": row.title,
        "status": row.status,
        "detail": facts.pop("detail", error.detail),
        "code": error.code,
        "correlation_id": correlation_id(request),
    }
    if isinstance(error, InputError) and error.errors:
        body["errors"] = [
            {"pointer": fault.pointer, "code": fault.code, "detail": fault.detail} for fault in error.errors
        ]
    response = HttpResponse(to_json({**body, **facts, **body}), status=row.status, content_type=CONTENT_TYPE)
    if (seconds := retry_after(error)) is not None:
        response.headers["Retry-After"] = str(seconds)
    if row.status == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="clearance"'
    return response
