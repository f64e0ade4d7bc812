"""`/confirmations/`: one list of everything that waits, and a second admin who confirms."""

from typing import Any

import pytest

from tests import cast
from tests.admins import dan, new_person, policy_change
from tests.console.api.caller import Caller, Response, as_agent, as_nobody, as_person, problem, told

pytestmark = pytest.mark.django_db


@pytest.fixture
def waiting() -> str:
    """A looser policy that Dora asked for."""
    cast.workflow()
    ref = policy_change(cast.dora(), separation="relaxed").waiting
    assert ref is not None
    return ref


def confirm(who: Caller, ref: str, id: str = "c-1") -> Response:
    return who.post(f"/confirmations/{ref}/", {"id": id, "reason": "I checked it."})


def listed(who: Caller, **query: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = told(who.get("/confirmations/", query))["items"]
    return items


def test_everything_that_waits_is_in_one_list(waiting: str) -> None:
    other = new_person(cast.dora(), "gil", "reviewer").waiting

    newest, oldest = listed(as_person(dan()))

    assert (oldest["waiting"], oldest["kind"], oldest["subject"]) == (waiting, "policy", "refund")
    assert (newest["waiting"], newest["kind"], newest["subject"]) == (other, "person.create", "gil")
    assert (oldest["state"], oldest["proposed_by"]) == ("open", "user:dora")
    assert oldest["arguments"] == {"changes": {"separation": "relaxed"}}
    assert "md5$" not in str(newest)


def test_a_step_that_was_overtaken_says_so_before_anybody_tries(waiting: str) -> None:
    policy_change(cast.dora(), quorum=2)

    (item,) = listed(as_person(dan()))

    assert (item["state"], item["because"]) == ("void", "refund has changed since this was asked for.")
    assert problem(confirm(as_person(dan()), waiting), 409, "already-decided")["actual"] == "void"


def test_open_and_settled_ones_are_told_apart(waiting: str) -> None:
    admin = as_person(dan())
    assert [len(listed(admin, state=state)) for state in ("open", "settled")] == [1, 0]

    confirm(admin, waiting)

    assert [len(listed(admin, state=state)) for state in ("open", "settled")] == [0, 1]
    (item,) = listed(admin)
    assert (item["state"], item["settled_by"], item["settled_reason"]) == ("confirmed", "user:dan", "I checked it.")


def test_pages_lead_through_the_whole_list_once(waiting: str) -> None:
    new_person(cast.dora(), "gil", "reviewer")
    admin = as_person(dan())

    first = told(admin.get("/confirmations/", {"limit": "1"}))
    second = told(admin.get("/confirmations/", {"limit": "1", "cursor": first["next"]}))

    assert [item["subject"] for item in first["items"] + second["items"]] == ["gil", "refund"]
    assert second["next"] is None


def test_the_same_confirmation_again_is_the_same_answer(waiting: str) -> None:
    admin = as_person(dan())
    first = confirm(admin, waiting)

    again = confirm(admin, waiting)

    assert told(again) == told(first, 201)
    assert again.headers["Idempotent-Replayed"] == "true"


def test_a_step_is_confirmed_once(waiting: str) -> None:
    confirm(as_person(dan()), waiting)

    assert problem(confirm(as_person(dan()), waiting, "c-2"), 409, "already-decided")["actual"] == "confirmed"


def test_nobody_but_another_admin_confirms(waiting: str) -> None:
    problem(confirm(as_person(cast.dora()), waiting), 403, "separation-of-duties")
    problem(confirm(as_person(cast.ada()), waiting), 403, "forbidden")
    problem(confirm(as_person(cast.eli()), waiting), 403, "forbidden")
    problem(confirm(as_agent(cast.agent()), waiting), 403, "agents-cannot-decide")
    problem(confirm(as_nobody(), waiting), 401, "unauthenticated")


def test_admins_and_auditors_read_the_list(waiting: str) -> None:
    assert len(listed(as_person(cast.eli()))) == 1
    problem(as_person(cast.ada()).get("/confirmations/"), 403, "forbidden")
    problem(as_agent(cast.agent()).get("/confirmations/"), 403, "forbidden")


@pytest.mark.parametrize("ref", ["w-1", "w-" + "0" * 32, "x"])
def test_what_is_no_step_is_not_found(ref: str) -> None:
    problem(confirm(as_person(dan()), ref), 404, "not-found")


def test_a_confirmation_needs_an_id_and_a_reason(waiting: str) -> None:
    admin = as_person(dan())

    problem(admin.post(f"/confirmations/{waiting}/", {"id": "c-1"}), 422, "invalid-params")
    problem(admin.post(f"/confirmations/{waiting}/", {"reason": "x"}), 422, "invalid-params")
    problem(admin.post(f"/confirmations/{waiting}/", {"id": "c-1", "reason": "x", "on": 1}), 400, "malformed")
