"""`/standing-approvals/`: giving, listing, spending and revoking over HTTP."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from approvals.models import StandingApproval
from runs.models import Request
from tests import cast, review
from tests.console.api.caller import Caller, Response, as_agent, as_nobody, as_person, problem, told
from tests.review import REFUND

pytestmark = pytest.mark.django_db

JSON = Any
PATH = "/standing-approvals/"


@pytest.fixture
def bea() -> Caller:
    cast.workflow("refund")
    return as_person(review.bea())


def give(caller: Caller, **changed: JSON) -> Response:
    body = {
        "id": "s-1", "workflow": "refund", "action": "pay", "currency": "EUR", "limit": "30", "total": "60.0",
        "uses": 2, "expires_at": datetime(2126, 1, 1, tzinfo=UTC).isoformat(), "reason": "Small refunds of the season.",
    }  # fmt: skip
    return caller.post(PATH, body | changed)


def revoke(caller: Caller, number: str, **changed: JSON) -> Response:
    return caller.post(f"{PATH}{number}/revocations/", {"id": "sr-1", "reason": "It is over."} | changed)


def test_what_is_given_is_told_the_same_at_once_and_in_the_list(bea: Caller) -> None:
    body = told(give(bea), 201)

    assert (body["limit"], body["total"], body["spent"]) == ("30.00", "60.00", "0.00")
    assert (body["uses"], body["used"], body["by"], body["revoked_at"]) == (2, 0, "user:bea", None)
    assert told(bea.get(PATH)) == {"items": [body], "next": None}


def test_a_repeat_gives_nothing_more_and_another_request_needs_another_id(bea: Caller) -> None:
    first = told(give(bea), 201)

    again = give(bea)

    assert (told(again), again.headers["Idempotent-Replayed"]) == (first, "true")
    problem(give(bea, uses=3), 422, "command-id-reused")
    problem(give(bea, evidence=["message:m4"]), 422, "command-id-reused")
    assert StandingApproval.objects.count() == 1


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("limit", "-1"), ("limit", "0.001"), ("limit", "NaN"), ("limit", "1e1"), ("limit", 30), ("limit", "90"),
        ("total", "0"), ("uses", 0), ("uses", 1.5), ("expires_at", "2020-01-01T00:00:00Z"),
        ("expires_at", "2126-01-01T00:00:00"), ("currency", "eur"), ("action", "recall"), ("reason", ""),
    ],
)  # fmt: skip
def test_terms_that_make_no_sense_are_named(bea: Caller, member: str, value: JSON) -> None:
    body = problem(give(bea, **{member: value}), 422, "invalid-params")

    assert f"/{member}" in [error["pointer"] for error in body["errors"]]


def test_a_freeze_that_spends_it_says_so_and_so_does_its_repeat(bea: Caller) -> None:
    given = told(give(bea), 201)["id"]
    review.refund_working()
    cashier = as_agent(cast.agent("payer"))
    body = {"id": "f-1", "action": "pay", "reason": "It is complete."}

    frozen = cashier.post(f"/runs/{REFUND}/snapshots/", body, tag='"1.2"')
    again = cashier.post(f"/runs/{REFUND}/snapshots/", body, tag='"1.2"')

    answer = told(frozen, 201)
    assert (answer["effect"], answer["standing"]["standing_approval"]) == ("R-7:pay:v4", given)
    assert (answer["run"]["version"], frozen.headers["ETag"]) == (4, '"1.4"')
    assert told(again) == {name: answer[name] for name in answer.keys() - {"run"}}
    record = told(cashier.get(f"/runs/{REFUND}/commands/f-1/"))["outcome"]
    assert (record["effect"], record["standing"]) == (answer["effect"], answer["standing"])
    [left] = told(bea.get(PATH))["items"]
    assert (left["spent"], left["used"]) == ("25.00", 1)


def test_a_revocation_is_told_and_comes_once(bea: Caller) -> None:
    given = told(give(bea), 201)["id"]

    body = told(revoke(bea, given), 201)

    assert (body["revoked_by"], told(revoke(bea, given))) == ("user:bea", body)
    refused = problem(revoke(bea, given, id="sr-2"), 409, "already-decided")
    assert (refused["expected"], refused["actual"]) == ("not revoked", "revoked")
    problem(revoke(bea, given, id="sr-3", reason=" "), 422, "invalid-params")


def test_pages_follow_each_other_and_a_forged_cursor_is_refused(bea: Caller) -> None:
    given = [told(give(bea, id=f"s-{number}"), 201)["id"] for number in range(3)]

    first = told(bea.get(PATH, {"limit": "2"}))
    second = told(bea.get(PATH, {"limit": "2", "cursor": first["next"]}))

    assert [one["id"] for one in first["items"] + second["items"]] == given[::-1]
    assert second["next"] is None
    problem(bea.get(PATH, {"cursor": "forged"}), 400, "malformed")


def test_who_may_give_see_and_revoke_one(bea: Caller) -> None:
    given = told(give(bea), 201)["id"]
    agent, cy = as_agent(cast.agent()), as_person(cast.cy())

    for caller, status, code in (
        (agent, 403, "agents-cannot-decide"),
        (as_person(cast.ada()), 403, "forbidden"),
        (as_person(cast.eli()), 403, "forbidden"),
        (cy, 404, "not-found"),
        (as_nobody(), 401, "unauthenticated"),
    ):
        problem(give(caller, id="s-9"), status, code)
        problem(revoke(caller, given), status, code)
    problem(give(as_person(cast.dora()), id="s-9"), 403, "forbidden")
    assert (len(told(agent.get(PATH))["items"]), told(cy.get(PATH))["items"]) == (1, [])
    told(revoke(as_person(cast.dora()), given), 201)


def test_references_are_kept_with_what_was_asked(bea: Caller) -> None:
    cited = {"evidence": ["message:m4"]}
    given = told(give(bea, **cited), 201)["id"]
    told(revoke(bea, given, **cited), 201)

    kept = [json.loads(row.answer)["evidence"] for row in Request.objects.filter(principal="user:bea")]

    assert kept == [["message:m4"], ["message:m4"]]
