"""`/workflows/`: the rules as they are in force, and trying a command on two versions."""

from typing import Any

import pytest

from runs.administration import set_workflow_suspended
from runs.models import LedgerEntry
from tests import cast
from tests.console.api.caller import Caller, Response, as_agent, as_nobody, as_person, problem, told

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> Caller:
    """The operator of both shipped workflows."""
    cast.workflow("refund")
    cast.workflow("report")
    return as_person(cast.ada())


def test_workflows_are_listed_by_slug_to_those_who_see_their_runs(ada: Caller) -> None:
    def slugs(caller: Caller) -> list[str]:
        return [item["slug"] for item in told(caller.get("/workflows/"))["items"]]

    assert slugs(ada) == ["refund", "report"]
    assert slugs(as_agent(cast.agent())) == ["refund"]
    assert slugs(as_person(cast.eli())) == ["refund", "report"]
    assert slugs(as_person(cast.cy())) == []
    problem(as_nobody().get("/workflows/"), 401, "unauthenticated")


def test_pages_lead_through_the_whole_list_once(ada: Caller) -> None:
    first = told(ada.get("/workflows/", {"limit": "1"}))
    second = told(ada.get("/workflows/", {"limit": "1", "cursor": first["next"]}))

    assert [item["slug"] for item in first["items"] + second["items"]] == ["refund", "report"]
    assert second["next"] is None


def test_a_workflow_tells_everything_that_a_program_needs(ada: Caller) -> None:
    body = told(ada.get("/workflows/refund/"))

    assert (body["slug"], body["title"], body["revision"]) == ("refund", "Customer refund", 1)
    assert body["sha256"] == f"sha256:{cast.definition().sha256}"
    assert body["labels"]["sent"] == "refund paid"
    assert body["create"] == {"scope": "refund:intake", "fields": ["currency", "messages", "recipient"]}
    fields = {item["name"]: item for item in body["fields"]}
    assert (fields["tags"]["kind"], fields["refund_amount"]["material"], fields["currency"]["initial"]) == (
        "set",
        True,
        "EUR",
    )
    commands = {item["name"]: item for item in body["commands"]}
    assert commands["set-category"]["params_schema"]["properties"]["category"] == {
        "enum": ["billing", "damage", "delay", "other"]
    }
    assert commands["set-category"]["on_conflict"][0] == {
        "when_changed": ["case_state"],
        "to": ["closed"],
        "then": "reject",
        "because": "The case was closed; its category no longer matters.",
    }
    assert commands["cancel"]["scope"] == "refund:cancel"
    actions = {item["name"]: item for item in body["actions"]}
    assert actions["pay"]["facts_of_consent"] == ["case_state", "currency", "recipient", "refund_amount"]
    assert actions["recall"]["compensates"] == "pay"
    assert told(ada.get("/workflows/report/"))["actions"][0]["payload"] == "request"


def test_a_workflow_tells_the_policy_in_force(ada: Caller) -> None:
    before = told(ada.get("/workflows/refund/"))["policy"]
    set_workflow_suspended("refund", True, cast.SETUP)

    after = told(ada.get("/workflows/refund/"))

    assert (before["version"], before["authority_version"], before["suspended"]) == (1, 1, False)
    assert (before["quorum"], before["separation"], before["limits"]) == (1, "strict", {"refund_amount": "500.00"})
    assert before["budget"] == {"attempts": 3, "elapsed": 600}
    assert (after["policy"]["version"], after["policy"]["authority_version"]) == (2, 2)
    assert after["suspended"] and after["policy"]["suspended"]


@pytest.mark.parametrize("slug", ["nonsense", "Refund", "x" * 65, "-"])
def test_a_workflow_that_may_not_be_seen_does_not_exist(ada: Caller, slug: str) -> None:
    problem(ada.get(f"/workflows/{slug}/"), 404, "not-found")
    problem(as_person(cast.cy()).get("/workflows/refund/"), 404, "not-found")
    problem(as_nobody().get("/workflows/refund/"), 401, "unauthenticated")


# ---- dry runs --------------------------------------------------------------------------------------------

TRIAL = {
    "run": "R-42",
    "base_version": 1,
    "current_version": 2,
    "command": "set-category",
    "params": {"category": "damage"},
}


def dry_run(caller: Caller, **changed: Any) -> Response:
    return caller.post("/workflows/refund/dry-runs/", TRIAL | changed)


def test_a_dry_run_tells_what_would_become_of_a_command_and_writes_nothing(ada: Caller) -> None:
    cast.run_working()
    before = LedgerEntry.objects.count()

    body = told(dry_run(as_person(cast.person_operating("mara"))))

    assert body == {
        "disposition": "escalate",
        "rule": "on_conflict[1]",
        "because": "Somebody else has set the category since.",
    }
    assert LedgerEntry.objects.count() == before


@pytest.mark.parametrize(
    ("changed", "status", "code", "pointer"),
    [
        ({"command": "paint"}, 422, "invalid-params", "/command"),
        ({"params": {"category": "red"}}, 422, "invalid-params", "/params/category"),
        ({"base_version": 0}, 422, "invalid-params", "/base_version"),
        ({"base_version": "1"}, 422, "invalid-params", "/base_version"),
        ({"current_version": 3}, 422, "invalid-params", "/current_version"),
        ({"base_version": 2, "current_version": 1}, 422, "invalid-params", "/base_version"),
        ({"reason": "curious"}, 400, "malformed", "/reason"),
    ],
)
def test_a_dry_run_names_what_is_wrong(
    ada: Caller, changed: dict[str, Any], status: int, code: str, pointer: str
) -> None:
    cast.run_working()

    assert problem(dry_run(ada, **changed), status, code)["errors"][0]["pointer"] == pointer


def test_a_dry_run_is_for_those_who_see_the_workflow_and_on_its_runs(ada: Caller) -> None:
    cast.run_working()
    cast.run_received("P-1", "report", question="q", audience="a")

    problem(dry_run(ada, run="P-1"), 404, "not-found")
    problem(dry_run(ada, run="R-43"), 404, "not-found")
    problem(as_person(cast.cy()).post("/workflows/refund/dry-runs/", {"nonsense": 1}), 404, "not-found")
    problem(dry_run(as_nobody()), 401, "unauthenticated")
