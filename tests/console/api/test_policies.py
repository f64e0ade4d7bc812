"""`/workflows/{slug}/policy/`: reading it, changing it on the version that was read, and what waits."""

from typing import Any

import pytest

from tests import cast
from tests.admins import dan
from tests.console.api.caller import Caller, Response, as_agent, as_nobody, as_person, problem, told

pytestmark = pytest.mark.django_db

POLICY = "/workflows/refund/policy/"
REASON = "because the test says so"


@pytest.fixture
def dora() -> Caller:
    cast.workflow()
    return as_person(cast.dora())


def patch(who: Caller, tag: str | None = '"1.1"', id: str = "p-1", **terms: Any) -> Response:
    return who.patch(POLICY, {"id": id, "reason": REASON, **terms}, tag=tag)


def test_a_policy_is_told_with_the_tag_of_its_version(dora: Caller) -> None:
    response = dora.get(POLICY)

    body = told(response)
    assert (body["workflow"], body["version"], body["quorum"], body["suspended"]) == ("refund", 1, 1, False)
    assert response.headers["ETag"] == '"1.1"'
    assert dora.get(POLICY, headers={"If-None-Match": '"1.1"'}).status_code == 304


def test_members_and_auditors_read_it_and_others_see_nothing(dora: Caller) -> None:
    for who in (cast.ada(), cast.ben(), cast.eli()):
        told(as_person(who).get(POLICY))
    told(as_agent(cast.agent()).get(POLICY))
    problem(as_person(cast.cy()).get(POLICY), 404, "not-found")
    problem(as_nobody().get(POLICY), 401, "unauthenticated")


def test_what_tightens_is_in_force_with_the_answer(dora: Caller) -> None:
    response = patch(dora, quorum=2)

    assert told(response)["quorum"] == 2
    assert response.headers["ETag"] == '"1.2"'
    assert told(dora.get("/workflows/refund/"))["policy"]["quorum"] == 2


def test_what_loosens_waits_and_another_admin_confirms_it(dora: Caller) -> None:
    body = told(patch(dora, separation="relaxed"), 202)

    assert set(body) == {"waiting", "because"}
    assert told(dora.get(POLICY))["separation"] == "strict"
    confirmation = {"id": "c-1", "reason": "I checked it."}
    problem(dora.post(f"/confirmations/{body['waiting']}/", confirmation), 403, "separation-of-duties")

    confirmed = told(as_person(dan()).post(f"/confirmations/{body['waiting']}/", confirmation), 201)

    assert (confirmed["state"], confirmed["result"]["separation"]) == ("confirmed", "relaxed")
    assert told(dora.get(POLICY))["separation"] == "relaxed"


def test_null_takes_a_term_away(dora: Caller) -> None:
    told(patch(dora, reauthenticate_within="10m"))

    body = told(patch(dora, tag='"1.2"', id="p-2", reauthenticate_within=None), 202)

    assert "less often" in body["because"]


@pytest.mark.parametrize(
    ("tag", "status", "code"),
    [
        (None, 428, "precondition-required"),
        ("*", 400, "malformed-precondition"),
        ("1.1", 400, "malformed-precondition"),
        ('"1.1", "1.2"', 400, "malformed-precondition"),
        ('W/"1.1"', 412, "weak-precondition"),
        ('"1.2"', 412, "version-conflict"),
        ('"9.1"', 412, "version-conflict"),
    ],
)
def test_a_change_names_exactly_the_version_that_was_read(
    dora: Caller, tag: str | None, status: int, code: str
) -> None:
    problem(patch(dora, tag=tag, quorum=2), status, code)

    assert told(dora.get(POLICY))["version"] == 1


def test_a_stale_change_is_told_the_policy_as_it_is(dora: Caller) -> None:
    told(patch(dora, quorum=2))

    body = problem(patch(dora, id="p-2", quorum=3), 412, "version-conflict")

    assert (body["current_version"], body["current_etag"], body["policy"]["quorum"]) == (2, '"1.2"', 2)


@pytest.mark.parametrize(
    ("body", "status", "code", "pointer"),
    [
        ({"quorum": 0}, 422, "invalid-params", "/quorum"),
        ({"quorum": True}, 422, "invalid-params", "/quorum"),
        ({"quorum": "2"}, 422, "invalid-params", "/quorum"),
        ({"limits": {"refund_amount": 5}}, 422, "invalid-params", "/limits/refund_amount"),
        ({"reason": " "}, 422, "invalid-params", "/reason"),
        ({"version": 2}, 400, "malformed", "/version"),
        ({"actor": "user:ben"}, 400, "malformed", "/actor"),
    ],
)
def test_a_change_that_is_not_acceptable_names_what_is_wrong(
    dora: Caller, body: dict[str, Any], status: int, code: str, pointer: str
) -> None:
    refusal = problem(patch(dora, **body), status, code)

    assert pointer in [error["pointer"] for error in refusal["errors"]]


def test_the_same_request_again_is_the_same_answer(dora: Caller) -> None:
    first = patch(dora, quorum=2)

    again = patch(dora, quorum=2)

    assert told(again) == told(first)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert "ETag" not in again.headers
    problem(patch(dora, quorum=3), 422, "command-id-reused")


def test_a_repeat_of_what_waited_tells_how_it_stands_now(dora: Caller) -> None:
    waiting = told(patch(dora, separation="relaxed"), 202)

    again = patch(dora, separation="relaxed")
    assert told(again, 202) == waiting

    as_person(dan()).post(f"/confirmations/{waiting['waiting']}/", {"id": "c-1", "reason": "I checked it."})
    later = told(patch(dora, separation="relaxed"))
    assert later == {**waiting, "state": "confirmed"}


@pytest.mark.parametrize("who", [cast.ada, cast.ben, cast.eli])
def test_only_admins_change_it(dora: Caller, who: Any) -> None:
    problem(patch(as_person(who()), quorum=2), 403, "forbidden")


def test_an_agent_never_changes_it(dora: Caller) -> None:
    problem(patch(as_agent(cast.agent()), quorum=2), 403, "agents-cannot-decide")
    problem(patch(as_person(cast.cy()), quorum=2), 404, "not-found")
