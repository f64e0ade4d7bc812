"""What is told of stale commands: their records, the conflicts kept of them, the queue of open cases."""

import json
from typing import Any
from uuid import uuid4

import pytest

from runs import cases
from runs.cases import QueuePlace
from runs.errors import NotFound
from runs.escalations import ResolutionRequest, resolve
from runs.models import Conflict, Escalation
from runs.refusals import conflict_ref, escalation_ref
from runs.values import Principal
from runs.verbs import Case, Verb, load_case
from tests import cast

pytestmark = pytest.mark.django_db


def only_case(who: Principal | None = None) -> Case:
    """The one open case, as somebody sees it."""
    return load_case(who or cast.ada(), escalation_ref(Escalation.objects.get(state="open").pk))


def first_fields() -> dict[str, Any]:
    """The fields of a new refund."""
    return {name: item.first_value for name, item in cast.definition().fields.items()}


# ---- records of commands ---------------------------------------------------------------------------------


def test_a_record_tells_what_became_of_an_id() -> None:
    run = cast.run_received()
    outcome = cast.command(cast.ada(), run.key, "set-category", category="billing", id_="c-1")

    record = cases.get_command(run.id, "user:ada", "c-1")

    assert record.as_json() == {
        "id": "c-1",
        "principal": "user:ada",
        "state": "committed",
        "outcome": outcome.answer,
        "resolution": None,
    }
    assert not record.is_waiting


def test_a_record_waits_while_its_case_is_open_and_tells_how_it_was_settled() -> None:
    run = cast.run_with_open_case()
    assert cases.get_command(run.id, "agent:classifier", "c-stale").is_waiting

    request = ResolutionRequest("r-1", Verb.KEEP, "Billing is right.", run.version, 1)
    resolve(cast.ada(), only_case().ref, request)

    record = cases.get_command(run.id, "agent:classifier", "c-stale")
    assert record.state == "rejected"
    assert record.resolution == {
        "verb": "keep",
        "by": "user:ada",
        "note": "Billing is right.",
        "command_id": "r-1",
        "version": 2,
    }


@pytest.mark.parametrize(
    ("verb", "state", "told"),
    [
        (Verb.APPLY, "committed", {"outcome": "committed", "version": 3, "base_version": 1}),
        (Verb.KEEP, "rejected", {"disposition": "reject", "base_version": 1}),
        (Verb.SEND_BACK, "retry", {"disposition": "retry", "base_version": 1}),
    ],
)
def test_an_outcome_is_told_as_its_resolution_left_it(verb: Verb, state: str, told: dict[str, Any]) -> None:
    run = cast.run_with_open_case()
    mara = cast.person_operating("mara")
    resolve(mara, only_case(mara).ref, ResolutionRequest("r-1", verb, "So it is.", run.version, 1))

    record = cases.get_command(run.id, "agent:classifier", "c-stale")

    outcome = record.as_json()["outcome"]
    assert record.state == state
    assert outcome | told == outcome
    assert outcome["resolution"]["verb"] == verb.value
    assert ("disposition" in outcome) != ("outcome" in outcome)


@pytest.mark.parametrize(("principal", "command_id"), [("user:ada", "c-2"), ("user:ben", "c-1")])
def test_an_id_never_seen_has_no_record(principal: str, command_id: str) -> None:
    run = cast.run_received()
    cast.command(cast.ada(), run.key, "set-category", category="billing", id_="c-1")

    with pytest.raises(NotFound, match="never seen"):
        cases.get_command(run.id, principal, command_id)


def test_an_id_that_was_sent_for_something_else_has_a_record_too() -> None:
    run = cast.run_received()

    record = cases.get_command(run.id, "user:ada", "new-R-42")

    assert (record.name, record.state) == ("create", "committed")
    assert record.as_json()["outcome"] == {"id": "new-R-42", "outcome": "committed"}


# ---- conflicts -------------------------------------------------------------------------------------------


def test_a_conflict_is_told_as_the_answer_that_was_given_with_both_sides() -> None:
    cast.run_with_open_case()
    conflict = Conflict.objects.select_related("run").get()

    told = cases.tell_both_sides(conflict)

    assert told | json.loads(conflict.problem) == told
    assert told["id"] == told["conflict"] == conflict_ref(conflict.pk)
    assert (told["run"], told["principal"], told["disposition"]) == ("R-42", "agent:classifier", "escalate")
    assert told["base"] == {"version": 1, "fields": first_fields()}
    assert told["proposal"]["params"] == {"category": "damage"}


def test_an_erased_conflict_still_tells_that_there_was_one() -> None:
    cast.run_with_open_case()
    Conflict.objects.update(problem="", base=None, proposal=None)

    told = cases.tell_both_sides(Conflict.objects.select_related("run").get())

    assert (told["disposition"], told["base"], told["proposal"]) == ("escalate", None, None)
    assert "changed_fields" not in told


def test_conflicts_are_listed_newest_first_by_run_and_by_disposition() -> None:
    bot = cast.agent().principal
    for key in ("R-1", "R-2"):
        cast.run_with_open_case(key, bot)
    cast.command(bot, "R-2", "set-category", on=1, category="billing")  # already so

    listed = cases.list_conflicts(["refund"], 50)
    assert [(item.run.key, item.disposition) for item in listed] == [
        ("R-2", "reject"),
        ("R-2", "escalate"),
        ("R-1", "escalate"),
    ]
    assert [item.run.key for item in cases.list_conflicts(["refund"], 50, run="R-1")] == ["R-1"]
    assert [item.run.key for item in cases.list_conflicts(["refund"], 50, disposition="reject")] == ["R-2"]
    assert [item.pk for item in cases.list_conflicts(["refund"], 50, before=listed[0].pk)] == [
        item.pk for item in listed[1:]
    ]
    assert cases.list_conflicts(["report"], 50) == []


@pytest.mark.parametrize("ref", ["cf-", "cf-1", "es-" + "0" * 32, "cf-" + "0" * 31 + "g", "cf-{" + "0" * 32 + "}"])
def test_what_is_no_id_of_a_conflict_names_none(ref: str) -> None:
    with pytest.raises(NotFound):
        cases.conflict_number(ref)


def test_a_conflict_that_was_never_stored_is_not_found() -> None:
    with pytest.raises(NotFound):
        cases.get_conflict(uuid4())


# ---- cases -----------------------------------------------------------------------------------------------


def test_a_case_shows_both_sides_what_moved_between_and_what_may_be_done() -> None:
    run = cast.run_with_open_case()

    told = cases.tell_case(only_case(cast.person_operating("mara")))

    assert told["base"]["version"] == 1
    assert told["base"]["fields"]["category"] is None
    assert told["current"]["version"] == 2
    assert told["current"]["fields"]["category"] == "billing"
    assert told["proposal"]["params"] == {"category": "damage"}
    assert told["proposal"]["id"] == told["command_id"] == "c-stale"
    changed = {item["field"]: (item["base"], item["current"], item["changed_by"]) for item in told["changed_fields"]}
    assert changed["category"] == (None, "billing", "user:ada")
    assert told["because"] == "Somebody else has set the category since."
    assert [(verb["verb"], verb["legal"]) for verb in told["verbs"]] == [
        ("apply", True),
        ("amend", True),
        ("keep", True),
        ("send-back", True),
    ]
    assert (told["held_by"], told["resolution"], told["run"]) == (None, None, run.key)


def test_what_moves_after_a_case_was_opened_is_shown_on_it() -> None:
    run = cast.run_with_open_case()
    cast.command(cast.ada(), run.key, "add-tag", tag="vip")

    changed = {item["field"] for item in cases.tell_case(only_case())["changed_fields"]}

    assert changed == {"category", "status", "tags"}


def test_a_newer_proposal_of_the_case_keeps_the_earlier_ones_in_sight() -> None:
    bot = cast.agent().principal
    cast.run_with_open_case(who=bot)
    cast.command(bot, "R-42", "set-category", on=1, category="delay", id_="c-newer")

    told = cases.tell_case(only_case())

    assert told["proposal"]["id"] == "c-newer"
    assert [item["proposal"]["id"] for item in told["earlier_proposals"]] == ["c-stale"]
    assert told["version"] == 2


def test_the_queue_shows_material_cases_first_and_then_the_oldest() -> None:
    bot = cast.agent().principal
    for key in ("R-1", "R-2"):
        cast.run_with_open_case(key, bot)
    cast.run_with_open_amount("R-3", bot)

    queue = cases.list_open_cases(["refund"], 50)

    assert [(row.run.key, row.is_material) for row in queue] == [("R-3", True), ("R-1", False), ("R-2", False)]


@pytest.mark.parametrize("limit", [1, 2])
def test_the_queue_goes_on_after_a_place_whatever_its_weight(limit: int) -> None:
    bot = cast.agent().principal
    for key in ("R-1", "R-2"):
        cast.run_with_open_case(key, bot)
    for key in ("R-3", "R-4"):
        cast.run_with_open_amount(key, bot)

    found: list[str] = []
    after = None
    while page := cases.list_open_cases(["refund"], limit, after=after):
        found += [row.run.key for row in page]
        after = QueuePlace.of(page[-1])

    assert found == ["R-3", "R-4", "R-1", "R-2"]


def test_cases_are_listed_by_state_and_by_who_proposed() -> None:
    one, two = cast.agent("one").principal, cast.agent("two").principal
    cast.run_with_open_case("R-1", one)
    cast.run_with_open_case("R-2", two)
    request = ResolutionRequest("r-1", Verb.KEEP, "Billing is right.", 2, 1)
    resolve(cast.ada(), escalation_ref(Escalation.objects.get(run__key="R-1").pk), request)

    def keys(**wanted: Any) -> list[str]:
        return [row.run.key for row in cases.list_cases(["refund"], 50, **wanted)]

    assert keys() == ["R-2", "R-1"]
    assert keys(state="settled") == ["R-1"]
    assert keys(principal="agent:two") == ["R-2"]
    assert [row.run.key for row in cases.list_open_cases(["refund"], 50, principal="agent:one")] == []
