"""`/repair-plans/`: planning one repair of several effects, looking at it, and applying it row by row."""

from typing import Any

import pytest

from outbox.models import Effect, Repair, RepairPlan
from tests import cast
from tests.console.api.caller import Caller, Response, as_agent, as_person, problem, told
from tests.outbox import settling
from tests.outbox.test_plans import HARD, found_not, unknown

pytestmark = pytest.mark.django_db

JSON = Any


@pytest.fixture
def dora() -> Caller:
    """An admin."""
    return as_person(cast.dora())


def plan(who: Caller, *effects: Effect, **changed: JSON) -> Response:
    body = {"id": "p-1", "effects": [effect.pk for effect in effects], "repair": "resend", "reason": "Last night's."}
    return who.post("/repair-plans/", body | changed)


def apply(who: Caller, ref: str, **changed: JSON) -> Response:
    return who.post(f"/repair-plans/{ref}/applications/", {"id": "a-1"} | changed)


def test_a_plan_is_told_row_by_row_and_applied_row_by_row(dora: Caller) -> None:
    safe, hard, open_one = found_not("R-1"), found_not("R-2", **HARD), unknown("R-3")
    made = told(plan(dora, safe, hard, open_one), 201)

    applied = told(apply(dora, made["id"]), 201)

    assert [(row["effect"], row["state"]) for row in made["rows"]] == [
        ("R-1:pay:v4", "settled"), ("R-2:pay:v4", "still-unknown"), ("R-3:pay:v4", "still-unknown"),
    ]  # fmt: skip
    assert made["rows"][0]["version"] == safe.version
    assert told(dora.get(f"/repair-plans/{made['id']}/")) == made
    assert [(row["state"], bool(row["because"]), bool(row["waiting"])) for row in applied["rows"]] == [
        ("settled", False, False), ("still-unknown", True, True), ("still-unknown", True, False),
    ]  # fmt: skip
    assert told(dora.get("/effects/R-1:pay:v4/"))["state"] == "dispatching"


def test_repeats_plan_and_apply_nothing_twice(dora: Caller) -> None:
    effect = found_not("R-1")
    first, again = plan(dora, effect), plan(dora, effect)
    ref = told(first, 201)["id"]
    once, twice = apply(dora, ref), apply(dora, ref)

    assert (told(again), again.headers["Idempotent-Replayed"]) == (told(first, 201), "true")
    assert (told(twice), twice.headers["Idempotent-Replayed"]) == (told(once, 201), "true")
    assert (RepairPlan.objects.count(), Repair.objects.count()) == (1, 1)
    problem(plan(dora, effect, repair="mark_failed"), 422, "command-id-reused")
    problem(apply(dora, ref, reason="Again."), 422, "command-id-reused")


def test_what_moved_since_the_plan_is_refused_with_its_reason(dora: Caller) -> None:
    moved = found_not("R-1")
    ref = told(plan(dora, moved), 201)["id"]
    settling.change(moved)

    (row,) = told(apply(dora, ref), 201)["rows"]

    assert (row["state"], row["waiting"]) == ("refused", None)
    assert row["because"].startswith("The effect moved since you looked")


def test_the_references_of_a_plan_reach_the_ledger_of_every_run(dora: Caller) -> None:
    effect = found_not("R-1")
    ref = told(plan(dora, effect, evidence=["incident:17"]), 201)["id"]

    told(apply(dora, ref, reason="Seen.", evidence=["call:3"]), 201)

    entries = told(dora.get("/runs/R-1/ledger/", {"limit": 200}))["items"]
    (body,) = [entry["body"] for entry in entries if entry["kind"] == "repair.ordered"]
    assert (body["evidence"], body["reason"]) == (["incident:17"], "Last night's.")


@pytest.mark.parametrize(
    ("changed", "pointer"),
    [
        ({"effects": []}, "/effects"),
        ({"effects": ["R-9:pay:v4"]}, "/effects/0"),
        ({"effects": "R-1:pay:v4"}, "/effects"),
        ({"repair": "undo"}, "/repair"),
        ({"reason": " "}, "/reason"),
    ],
)
def test_a_plan_that_cannot_be_meant_is_refused_by_pointer(
    dora: Caller, changed: dict[str, JSON], pointer: str
) -> None:  # fmt: skip
    refused = problem(plan(dora, found_not("R-1"), **changed), 422, "invalid-params")

    assert [fault["pointer"] for fault in refused["errors"]] == [pointer]
    assert not RepairPlan.objects.exists()


def test_a_plan_that_never_was_is_not_found(dora: Caller) -> None:
    problem(dora.get("/repair-plans/rp-1/"), 404, "not-found")
    problem(apply(dora, "rp-1"), 404, "not-found")


def test_only_admins_plan_and_apply_and_auditors_look_on(dora: Caller) -> None:
    effect = found_not("R-1")
    ref = told(plan(dora, effect), 201)["id"]
    agent, auditor, reviewer = as_agent(cast.agent()), as_person(cast.eli()), as_person(cast.ben())

    for who, code in ((agent, "agents-cannot-decide"), (auditor, "forbidden"), (reviewer, "forbidden")):
        problem(plan(who, effect, id="p-2"), 403, code)
        problem(apply(who, ref), 403, code)
    told(auditor.get(f"/repair-plans/{ref}/"))
    problem(reviewer.get(f"/repair-plans/{ref}/"), 403, "forbidden")
    assert not Repair.objects.exists()
