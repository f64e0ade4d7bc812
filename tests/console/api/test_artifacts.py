"""`/runs/{key}/artifacts/` and `/artifacts/{artifact}/`: submitting, repeating, reading and downloading."""

import base64
from typing import Any

import pytest

from approvals.models import Artifact
from tests import cast
from tests.console.api.caller import Caller, Response, as_agent, as_nobody, as_person, problem, told
from tests.review import REPORT, RESEARCH, tagged

pytestmark = pytest.mark.django_db

JSON = Any
PATH = f"/runs/{REPORT}/artifacts/"
NUMBER = f"{REPORT}:research:1:a"


@pytest.fixture
def worker() -> Caller:
    """An agent that does the research of a report at version 1."""
    caller = as_agent(cast.agent("researcher", ("report:research",), ("report",)))
    cast.run_received(REPORT, "report", question="Q3 churn?", audience="team")
    return caller


def submit(caller: Caller, given: bytes = RESEARCH, **changed: JSON) -> Response:
    """Submit some content; a member that is changed to None is left out."""
    body = {
        "id": "a-1", "slot": "research", "input_version": 1, "media_type": "application/json",
        "content": given.decode(), "sha256": tagged(given), "sources": ["https://example.com/q3"],
    }  # fmt: skip
    return caller.post(PATH, {name: value for name, value in (body | changed).items() if value is not None})


def test_an_artifact_is_told_as_it_was_stored(worker: Caller) -> None:
    body = told(submit(worker), 201)

    assert body.pop("created_at").endswith("Z")
    assert body == {
        "artifact": NUMBER, "run": REPORT, "slot": "research", "input_version": 1, "media_type": "application/json",
        "sha256": tagged(RESEARCH), "bytes": len(RESEARCH), "author": "agent:researcher",
        "sources": ["https://example.com/q3"],
    }  # fmt: skip
    assert told(worker.get(f"/artifacts/{NUMBER}/")) | {"created_at": ""} == body | {"created_at": ""}


@pytest.mark.parametrize("number", ["a-1", "a-2"])
def test_the_same_bytes_in_the_same_place_are_the_same_artifact(worker: Caller, number: str) -> None:
    first = told(submit(worker), 201)

    again = submit(worker, id=number)

    assert (told(again), again.headers["Idempotent-Replayed"]) == (first, "true")
    assert Artifact.objects.count() == 1
    assert told(worker.get(f"/runs/{REPORT}/commands/{number}/"))["outcome"]["artifact"] == NUMBER


def test_an_id_stands_for_one_submission(worker: Caller) -> None:
    told(submit(worker), 201)

    problem(submit(worker, b"other"), 422, "command-id-reused")


def test_content_comes_as_text_or_in_base64_and_no_tag_is_looked_at(worker: Caller) -> None:
    encoded = base64.b64encode(b"\xff\xfe").decode()
    body: dict[str, JSON] = {"content": None, "content_base64": encoded, "sha256": tagged(b"\xff\xfe")}

    assert told(submit(worker, **body), 201)["bytes"] == 2


@pytest.mark.parametrize(
    ("changed", "status", "code", "pointer"),
    [
        ({"sha256": tagged(b"other")}, 422, "hash-mismatch", "/sha256"),
        ({"sha256": tagged(RESEARCH).upper()}, 400, "malformed", "/sha256"),
        ({"input_version": 9}, 422, "invalid-params", "/input_version"),
        ({"input_version": 0}, 422, "invalid-params", "/input_version"),
        ({"input_version": "1"}, 422, "invalid-params", "/input_version"),
        ({"slot": "summary"}, 422, "invalid-params", "/slot"),
        ({"media_type": "text/html"}, 422, "invalid-params", "/media_type"),
        ({"content_base64": "AA=="}, 422, "invalid-params", "/content"),
        ({"content": None}, 422, "invalid-params", "/content"),
        ({"content": None, "content_base64": "@"}, 422, "invalid-params", "/content_base64"),
        ({"content": "ghp_" + "a" * 36}, 422, "secret-in-body", "/content"),
        ({"reason": " "}, 422, "invalid-params", "/reason"),
        ({"author": "user:ada"}, 400, "malformed", "/author"),
        ({"id": "a b"}, 400, "malformed", "/id"),
    ],
)
def test_what_is_not_acceptable_is_named_by_its_place(
    worker: Caller, changed: JSON, status: int, code: str, pointer: str
) -> None:
    body = problem(submit(worker, **changed), status, code)

    assert body["errors"][0]["pointer"] == pointer
    assert (code != "hash-mismatch") or (body["expected"], body["actual"]) == (tagged(b"other"), tagged(RESEARCH))
    assert not Artifact.objects.exists()


def test_the_scope_of_the_slot_is_named_to_whoever_lacks_it(worker: Caller) -> None:
    other = as_agent(cast.agent("notes", ("report:note",), ("report",)))

    assert problem(submit(other), 403, "scope-missing")["missing"] == "report:research"


def test_more_than_sixteen_mebibytes_are_refused(worker: Caller) -> None:
    problem(submit(worker, b"x" * (16 * 1024 * 1024)), 413, "too-large")


def test_a_download_is_the_exact_bytes_and_inert(worker: Caller) -> None:
    told(submit(worker), 201)

    response = worker.get(f"/artifacts/{NUMBER}/content/")

    assert response.content == RESEARCH
    assert response.headers["Content-Type"] == "application/octet-stream"
    assert response.headers["Content-Disposition"].startswith("attachment")
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_others_find_nothing_of_it(worker: Caller) -> None:
    told(submit(worker), 201)
    strangers = (as_person(cast.cy()), as_agent(cast.agent("cashier")))

    for path in (f"/artifacts/{NUMBER}/", f"/artifacts/{NUMBER}/content/"):
        problem(as_nobody().get(path), 401, "unauthenticated")
        for stranger in strangers:
            problem(stranger.get(path), 404, "not-found")
        assert as_person(cast.eli()).get(path).status_code == 200
    for stranger in strangers:
        problem(submit(stranger), 404, "not-found")


def test_a_reason_and_references_are_kept_where_they_are_given(worker: Caller) -> None:
    given: dict[str, JSON] = {"reason": "The sources were asked for.", "evidence": ["message:m4"]}
    told(submit(worker, **given), 201)

    entry = told(worker.get(f"/runs/{REPORT}/ledger/"))["items"][-1]

    assert {name: entry["body"][name] for name in given} == given
    problem(submit(worker), 422, "command-id-reused")


def test_authority_comes_before_what_is_wrong_with_the_content(worker: Caller) -> None:
    other = as_agent(cast.agent("notes", ("report:note",), ("report",)))

    problem(submit(other, sha256=tagged(b"other")), 403, "scope-missing")
