"""The table of problems: complete against the error classes and the published list, and what an answer is made of."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import RequestFactory

from console.problems import PROBLEMS, error_classes, meaning, problem_response, retry_after
from runs.errors import (
    ClearanceError,
    CommandInProgress,
    Fault,
    Forbidden,
    InvalidParams,
    LeaseHeld,
    NotFound,
    RateLimited,
    Unauthenticated,
    Unavailable,
    VersionConflict,
)

#: What the documented API promises, status by status.
PUBLISHED = {
    400: "malformed malformed-precondition",
    401: "unauthenticated",
    403: "forbidden scope-missing authority-revoked workflow-suspended halted agents-cannot-decide"
    " separation-of-duties reauthentication-required limit-exceeded",
    404: "not-found",
    409: "invalid-transition run-exists command-in-progress escalation-claimed escalation-open already-decided"
    " not-shown snapshot-not-active manifest-mismatch facts-changed destination-changed authority-changed"
    " approval-missing approval-expired approval-revoked operation-mismatch input-outdated effect-in-flight"
    " lease-held stale-generation quarantined too-early",
    412: "version-conflict weak-precondition",
    413: "too-large",
    415: "unsupported-media-type",
    422: "invalid-params hash-mismatch command-id-reused item-id-reused payload-incomplete destination-unknown"
    " secret-in-body fields-too-large",
    428: "precondition-required",
    429: "rate-limited",
    503: "unavailable",
}


def told(error: ClearanceError) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(problem_response(error, RequestFactory().get("/api/v1/")).content)
    return body


# ---- the table -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "code"), [(status, code) for status, codes in PUBLISHED.items() for code in codes.split()]
)
def test_every_published_code_has_its_status(status: int, code: str) -> None:
    assert PROBLEMS[code].status == status


def test_every_error_class_has_a_row() -> None:
    coded = [found for found in error_classes() if found is not ClearanceError]

    assert len(coded) > 40
    assert [found.__name__ for found in coded if found.code not in PROBLEMS] == []


def test_every_row_belongs_to_an_error_class_that_explains_it() -> None:
    assert [code for code in PROBLEMS if not meaning(code)] == []


def test_every_row_says_in_words_what_to_do_next() -> None:
    for code, row in PROBLEMS.items():
        assert row.title[0].isupper(), code
        assert not row.title.endswith("."), code
        assert row.next_step.endswith("."), code


def test_a_shared_code_is_explained_by_its_most_special_class() -> None:
    assert meaning("invalid-params") == InvalidParams.__doc__


# ---- the answer ------------------------------------------------------------------------------------------


def test_an_answer_tells_type_title_status_detail_and_code_first() -> None:
    body = told(Forbidden("Ben may not decide on his own run.", because="separation"))

    assert list(body) == ["type", "title", "status", "detail", "code", "correlation_id", "because"]
    assert body["type"] == "/problems/forbidden"
    assert body["detail"] == "Ben may not decide on his own run."


def test_the_default_detail_is_the_docstring_of_the_error() -> None:
    assert told(NotFound())["detail"] == NotFound.__doc__


def test_faults_are_listed_by_pointer() -> None:
    body = told(InvalidParams(errors=[Fault("/params/category", "enum", "One of damage, billing.")]))

    assert body["errors"] == [{"pointer": "/params/category", "code": "enum", "detail": "One of damage, billing."}]


def test_members_add_facts_and_cannot_disguise_the_refusal() -> None:
    members = {"type": "/x", "status": 200, "code": "fine", "title": "Fine", "current_version": 21, "detail": "Moved."}
    body = told(VersionConflict(problem=members))

    assert (body["type"], body["status"], body["code"]) == ("/problems/version-conflict", 412, "version-conflict")
    assert (body["title"], body["detail"], body["current_version"]) == ("The record has moved", "Moved.", 21)


def test_somebody_without_credential_is_told_how_to_bring_one() -> None:
    response = problem_response(Unauthenticated(), RequestFactory().get("/api/v1/"))

    assert response.headers["WWW-Authenticate"].startswith("Bearer")


# ---- when to ask again -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (CommandInProgress(), 1),
        (Unavailable(), 1),
        (RateLimited(retry_after=0.02), 1),
        (RateLimited(retry_after=12.01), 13),
        (LeaseHeld(retry_after=30), 30),
        (LeaseHeld(retry_after=timedelta(minutes=1).total_seconds()), 60),
        (LeaseHeld(), 5),
        (NotFound(), None),
    ],
)
def test_the_time_to_wait_is_whole_seconds_and_never_none_at_all(error: ClearanceError, expected: int | None) -> None:
    assert retry_after(error) == expected


def test_the_time_to_wait_is_a_header_and_no_member() -> None:
    response = problem_response(LeaseHeld(retry_after=7), RequestFactory().get("/api/v1/"))

    assert response.headers["Retry-After"] == "7"
    assert "retry_after" not in json.loads(response.content)
