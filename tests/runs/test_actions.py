"""Commands through the one mutation boundary: outcomes, authority, limits, steps of their own, and creating runs."""

import json
from typing import Any

import pytest

from runs import actions, catalog
from runs.actions import RunRequest
from runs.administration import set_agent_active, set_halt, set_person_active, set_workflow_suspended
from runs.errors import (
    AgentsCannotDecide,
    AuthorityRevoked,
    CommandIdReused,
    FieldsTooLarge,
    Forbidden,
    Halted,
    InvalidParams,
    InvalidTransition,
    ItemIdReused,
    LimitExceeded,
    NotFound,
    RunExists,
    ScopeMissing,
    Unauthenticated,
    WorkflowSuspended,
)
from runs.models import Agent, Command, Conflict, LedgerEntry, Run
from runs.outcomes import Outcome
from runs.states import RunStatus
from runs.transitions import MAX_FIELDS_BYTES
from runs.values import CommandRequest, Principal
from tests import cast

pytestmark = pytest.mark.django_db

JSON = Any
KEY = "R-42"


@pytest.fixture
def bot() -> Principal:
    """An agent that may do everything to refunds, and a new refund."""
    cast.run_received(KEY)
    return cast.agent().principal


def send(who: Principal, id: str = "c-1", on: int = 1, name: str = "set-category", **members: Any) -> Outcome:
    """One delivery of a command; by default of one that sets the category to damage."""
    params = members.pop("params", {"category": "damage"})
    return actions.apply_command(who, KEY, on, CommandRequest(id, name, params, "The lid is broken.", **members))


def entries() -> list[tuple[int, int, str, str, str | None]]:
    rows = LedgerEntry.objects.filter(run__key=KEY).order_by("seq")
    return list(rows.values_list("seq", "version", "kind", "actor", "command_id"))


def nothing_recorded(id: str = "c-1") -> bool:
    """Whether the id is free and neither the ledger nor the conflicts tell of anything."""
    return not Command.objects.filter(command_id=id).exists() and len(entries()) == 1 and not Conflict.objects.exists()


# ---- what becomes of a command; repeats are in `test_outcomes.py` ----------------------------------------


def test_a_fresh_command_is_committed_one_version_further_with_its_entry(bot: Principal) -> None:
    outcome = send(bot, evidence=("message:m1",), branch="b", intent="sort")

    assert outcome.answer == {
        "id": "c-1",
        "outcome": "committed",
        "base_version": 1,
        "version": 2,
        "changed": {
            "category": {"from": None, "to": "damage"},
            "status": {"from": "received", "to": "working"},
        },
        "consent": None,
    }
    assert outcome.run is not None
    assert (outcome.run.version, outcome.run.state) == (2, cast.reading(KEY).state)
    assert entries()[1] == (2, 2, "command.committed", "agent:classifier", "c-1")
    body = json.loads(bytes(LedgerEntry.objects.get(run__key=KEY, seq=2).body or b""))
    assert (body["evidence"], body["branch"], body["intent"]) == (["message:m1"], "b", "sort")
    assert (body["base_version"], body["changes"]) == (1, outcome.answer["changed"])


@pytest.mark.parametrize(
    "other",
    [
        {"params": {"category": "delay"}},
        {"name": "close-case", "params": {}},
        {"evidence": ("message:m1",)},
        {"intent": "sort"},
        {"branch": "b"},
        {"on_behalf_of": "ada"},
    ],
)
def test_an_id_is_refused_for_another_request(bot: Principal, other: dict[str, Any]) -> None:
    send(bot)

    with pytest.raises(CommandIdReused):
        send(bot, on=2, **other)

    assert cast.reading(KEY).version == 2


def test_an_id_belongs_to_one_principal_on_one_run(bot: Principal) -> None:
    send(bot)
    cast.run_received("R-43")

    others = cast.command(cast.ada(), KEY, "add-tag", tag="vip", id_="c-1")
    elsewhere = cast.command(bot, "R-43", "add-tag", tag="vip", id_="c-1")

    assert (others.state, elsewhere.state) == ("committed", "committed")


def test_a_stale_command_is_judged_against_what_came_between(bot: Principal) -> None:
    cast.command(cast.ada(), KEY, "add-tag", tag="vip")

    outcome = send(bot)

    assert outcome.state == "merged"
    assert (outcome.answer["base_version"], outcome.answer["merged_onto"], outcome.answer["version"]) == (1, 2, 3)
    assert [item["field"] for item in outcome.answer["changed_since_base"]] == ["status", "tags"]
    assert entries()[2] == (3, 3, "command.merged", "agent:classifier", "c-1")
    assert Conflict.objects.get().disposition == "merge"


def test_an_illegal_command_is_refused_with_what_is_legal_and_leaves_its_id_free(bot: Principal) -> None:
    with pytest.raises(InvalidTransition) as refusal:
        send(bot, name="reopen-case", params={})

    assert refusal.value.members["status"] == "received"
    assert "set-category" in refusal.value.members["next"]
    assert "expire" not in refusal.value.members["next"]
    assert nothing_recorded()


def test_a_command_that_changes_nothing_takes_no_version_and_no_entry(bot: Principal) -> None:
    cast.command(cast.ada(), KEY, "set-category", category="damage")

    outcome = send(bot, on=2)

    assert (outcome.state, outcome.answer["changed"], outcome.answer["version"]) == ("unchanged", {}, 2)
    assert len(entries()) == 2
    assert send(bot, on=2).is_replay


# ---- items of a log --------------------------------------------------------------------------------------


def say(who: Principal, id: str, on: int, text: str = "Where is it?", item: str = "m1") -> Outcome:
    message = {"id": item, "from": "customer", "text": text}
    return send(who, id, on, "add-message", params={"message": message})


def test_an_item_already_in_the_log_is_unchanged_and_no_conflict(bot: Principal) -> None:
    say(bot, "c-1", on=1)

    again, stale = say(bot, "c-2", on=2), say(bot, "c-3", on=1)

    assert (again.state, stale.state) == ("unchanged", "unchanged")
    assert not Conflict.objects.exists()
    assert len(entries()) == 2


@pytest.mark.parametrize("version", [1, 2])
def test_an_item_id_with_other_content_is_refused_and_leaves_the_id_free(bot: Principal, version: int) -> None:
    say(cast.ada(), "c-1", on=1)

    with pytest.raises(ItemIdReused) as refusal:
        say(bot, "c-2", on=version, text="Forget it.")

    assert refusal.value.errors[0].pointer == "/params/message/id"
    assert not Command.objects.filter(command_id="c-2").exists()
    assert say(bot, "c-2", on=2, item="m2").state == "committed"


# ---- authority -------------------------------------------------------------------------------------------


def test_a_missing_scope_is_named(bot: Principal) -> None:
    narrow = cast.agent("narrow", scopes=("refund:note",)).principal

    with pytest.raises(ScopeMissing) as refusal:
        send(narrow)

    assert refusal.value.members["missing"] == "refund:classify"
    assert nothing_recorded()


@pytest.mark.parametrize("who", [cast.ben, cast.dora, cast.eli])
def test_only_operators_hold_scopes_among_people(bot: Principal, who: Any) -> None:
    with pytest.raises(ScopeMissing):
        send(who())


def test_a_run_of_a_workflow_one_may_not_see_is_not_found(bot: Principal) -> None:
    elsewhere = cast.agent("elsewhere", workflows=("report",)).principal

    for stranger in (cast.cy(), elsewhere):
        with pytest.raises(NotFound):
            send(stranger)


def test_a_suspended_agent_changes_nothing_any_more(bot: Principal) -> None:
    set_agent_active(bot.name, False, cast.SETUP)

    with pytest.raises(AuthorityRevoked):
        send(bot)


def test_a_suspended_person_changes_nothing_any_more(bot: Principal) -> None:
    ada = cast.ada()
    set_person_active("ada", False, cast.SETUP)

    with pytest.raises(AuthorityRevoked):
        send(ada)


def test_an_agent_whose_token_ran_out_is_nobody(bot: Principal) -> None:
    Agent.objects.update(expires_at="2020-01-01T00:00:00Z")
    set_halt(False, cast.SETUP)  # a new epoch, as every change of a token makes one

    with pytest.raises(Unauthenticated):
        send(bot)


def test_a_halt_and_a_suspension_stop_agents_and_not_people(bot: Principal) -> None:
    set_workflow_suspended("refund", True, cast.SETUP)
    with pytest.raises(WorkflowSuspended):
        send(bot)
    set_halt(True, cast.SETUP)
    with pytest.raises(Halted):
        send(bot)

    assert send(cast.ada()).state == "committed"


def test_what_was_recorded_is_told_even_to_an_agent_that_is_stopped(bot: Principal) -> None:
    send(bot)
    set_halt(True, cast.SETUP)

    assert send(bot).is_replay


@pytest.mark.parametrize("name", ["reopen", "move-to-revision"])
def test_no_agent_takes_the_steps_of_people(bot: Principal, name: str) -> None:
    params = {"revision": 1} if name == "move-to-revision" else {}

    with pytest.raises(AgentsCannotDecide):
        send(bot, name=name, params=params)


def test_only_admins_move_a_run_to_a_revision_and_only_the_clock_expires_it(bot: Principal) -> None:
    with pytest.raises(Forbidden):
        send(cast.ada(), name="move-to-revision", params={"revision": 1})
    for who in (cast.ada(), cast.dora()):
        with pytest.raises(Forbidden):
            send(who, name="expire", params={})


def test_cancelling_needs_its_scope_of_an_agent(bot: Principal) -> None:
    with pytest.raises(ScopeMissing):
        send(bot, name="cancel", params={})

    able = cast.agent("able", scopes=("refund:cancel",)).principal
    assert send(able, name="cancel", params={}).state == "committed"
    assert entries()[1][2] == "run.cancelled"


def test_an_agent_acts_for_those_it_is_granted_and_for_nobody_else(bot: Principal) -> None:
    granted = cast.agent("granted", grants=("ada",)).principal

    with pytest.raises(Forbidden):
        send(bot, on_behalf_of="ada")
    with pytest.raises(Forbidden):
        send(granted, on_behalf_of="mara")
    with pytest.raises(Forbidden):
        send(cast.ada(), on_behalf_of="ada")

    assert send(granted, on_behalf_of="ada").state == "committed"
    body = json.loads(bytes(LedgerEntry.objects.get(run__key=KEY, seq=2).body or b""))
    assert body["on_behalf_of"] == "ada"


@pytest.mark.parametrize("version", [1, 2])
def test_a_limit_stops_agents_and_not_people_whatever_the_version(bot: Principal, version: int) -> None:
    cast.command(cast.ada(), KEY, "add-tag", tag="vip")
    params = {"amount": "500.01", "currency": "EUR"}

    with pytest.raises(LimitExceeded) as refusal:
        send(bot, on=version, name="set-refund-amount", params=params)
    assert (refusal.value.members["expected"], refusal.value.members["actual"]) == ("500.00", "500.01")

    assert send(cast.ada(), on=version, name="set-refund-amount", params=params).state in ("committed", "merged")


def test_the_limit_itself_is_within_it(bot: Principal) -> None:
    params = {"amount": "500.00", "currency": "EUR"}

    assert send(bot, name="set-refund-amount", params=params).state == "committed"


# ---- form ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "params", "pointer"),
    [
        ("set-mood", {}, "/name"),
        ("set-category", {}, "/params"),
        ("set-category", {"category": "lost"}, "/params/category"),
        ("set-category", {"category": "damage", "more": 1}, "/params"),
        ("set-refund-amount", {"amount": "0.00", "currency": "EUR"}, "/params/amount"),
        ("set-refund-amount", {"amount": "30.00\n", "currency": "EUR"}, "/params/amount"),
        ("freeze:pay", {}, "/name"),
    ],
)
def test_what_does_not_fit_is_named_by_its_place(bot: Principal, name: str, params: JSON, pointer: str) -> None:
    with pytest.raises(InvalidParams) as refusal:
        send(bot, name=name, params=params)

    assert refusal.value.errors[0].pointer == pointer
    assert nothing_recorded()


def test_the_fields_of_a_run_hold_256_kib_and_not_more(bot: Principal) -> None:
    room = 20_000
    for number in range(MAX_FIELDS_BYTES // room):
        note = {"id": f"n{number}", "text": "x" * (room - 200)}
        send(bot, f"c-{number}", on=1 + number, name="add-note", params={"note": note})
    version = cast.reading(KEY).version
    one_too_many = {"note": {"id": "last", "text": "x" * room}}

    for stale in (version, version - 1):
        with pytest.raises(FieldsTooLarge) as refusal:
            send(bot, "c-last", on=stale, name="add-note", params=one_too_many)
        assert refusal.value.errors[0].pointer == "/fields/notes"

    assert cast.reading(KEY).version == version
    assert not Command.objects.filter(command_id="c-last").exists()


# ---- steps of their own ----------------------------------------------------------------------------------


def second_revision(more: str = "") -> None:
    """A second revision of the refund workflow, with some text more."""
    text = (cast.DEFINITIONS / "refund.toml").read_text()
    catalog.store_workflow(f"{text}\n{more}\n# revised\n", cast.SETUP.actor)


def test_a_run_keeps_its_revision_until_an_admin_moves_it(bot: Principal) -> None:
    second_revision('[fields.photo]\nkind = "exclusive"\nschema = { type = "string" }')
    send(bot)
    assert cast.reading(KEY).revision == 1

    outcome = cast.command(cast.dora(), KEY, "move-to-revision", revision=2)

    run = cast.reading(KEY)
    assert (run.revision, run.version, run.state.fields["photo"]) == (2, 3, None)
    assert outcome.answer["changed"] == {
        "revision": {"from": 1, "to": 2},
        "photo": {"from": None, "to": None},
    }
    assert entries()[2][2] == "run.moved"


def test_moving_to_the_revision_a_run_has_changes_nothing(bot: Principal) -> None:
    outcome = cast.command(cast.dora(), KEY, "move-to-revision", revision=1)

    assert outcome.state == "unchanged"
    assert len(entries()) == 1


def test_moving_to_a_revision_that_is_not_there_is_refused(bot: Principal) -> None:
    with pytest.raises(InvalidParams) as refusal:
        cast.command(cast.dora(), KEY, "move-to-revision", revision=9)

    assert refusal.value.errors[0].pointer == "/params/revision"


def test_a_command_computed_before_a_move_is_judged_by_the_new_revision(bot: Principal) -> None:
    second_revision()
    cast.command(cast.dora(), KEY, "move-to-revision", revision=2)

    assert send(bot, on=1).state == "merged"


def test_an_expired_run_ends_by_the_clock(bot: Principal) -> None:
    outcome = cast.command(Principal("system", "clock"), KEY, "expire")

    assert outcome.state == "committed"
    assert cast.reading(KEY).state.status is RunStatus.EXPIRED
    assert entries()[1][2:4] == ("run.expired", "system:clock")
    with pytest.raises(InvalidTransition):
        send(bot, on=2)


def test_a_material_change_moves_the_input_version_and_no_other_does(bot: Principal) -> None:
    send(bot)
    assert cast.reading(KEY).input_version == 1

    cast.command(bot, KEY, "set-refund-amount", amount="30.00", currency="EUR")
    cast.command(bot, KEY, "add-tag", tag="vip")

    run = cast.reading(KEY)
    assert (run.version, run.input_version) == (4, 3)


# ---- creating runs ---------------------------------------------------------------------------------------


def create(who: Principal, key: str = "R-1", id: str = "new", **fields: JSON) -> actions.Created:
    return actions.create_run(who, RunRequest(id, "refund", key, fields, "A case came in."))


def test_a_new_run_begins_as_received_at_version_1_with_the_first_values() -> None:
    cast.workflow()

    created = create(cast.ada(), recipient="Ana Lima")

    run = created.run
    assert (run.version, run.input_version, run.state.status, created.is_replay) == (1, 1, RunStatus.RECEIVED, False)
    assert (run.state.fields["recipient"], run.state.fields["currency"], run.state.fields["tags"]) == (
        "Ana Lima",
        "EUR",
        [],
    )


@pytest.mark.parametrize("id", ["new", "another"])
def test_the_same_run_again_is_found_as_it_is_now_whatever_the_id(id: str) -> None:
    cast.workflow()
    create(cast.ada(), recipient="Ana Lima")
    cast.command(cast.ada(), "R-1", "set-category", category="damage")

    again = create(cast.ada(), id=id, recipient="Ana Lima")

    assert (again.is_replay, again.run.version, Run.objects.count()) == (True, 2, 1)


def test_a_key_taken_by_other_content_is_refused() -> None:
    cast.workflow()
    create(cast.ada(), recipient="Ana Lima")

    with pytest.raises(RunExists):
        create(cast.ada(), recipient="Rui Lima")


def test_a_creator_sets_what_its_scope_allows_and_what_its_other_scopes_write() -> None:
    cast.workflow()
    intake = cast.agent("intake", scopes=("refund:intake",)).principal
    pricing = cast.agent("pricing", scopes=("refund:intake", "refund:amount")).principal

    create(intake, "R-1", recipient="Ana Lima")
    with pytest.raises(ScopeMissing) as refusal:
        create(intake, "R-2", refund_amount="30.00")
    assert refusal.value.members["missing"] == "refund:amount"

    assert create(pricing, "R-2", refund_amount="30.00").run.state.fields["refund_amount"] == "30.00"
    with pytest.raises(LimitExceeded):
        create(pricing, "R-3", refund_amount="501.00")


def test_first_values_that_do_not_fit_are_each_named() -> None:
    cast.workflow()
    message = {"id": "m1", "from": "customer", "text": "?"}

    with pytest.raises(InvalidParams) as refusal:
        create(cast.ada(), recipient="", mood="cross")
    assert {fault.pointer for fault in refusal.value.errors} == {"/fields/recipient", "/fields/mood"}

    with pytest.raises(InvalidParams) as refusal:
        create(cast.ada(), messages=[message, message])
    assert refusal.value.errors[0].code == "item-id-reused"
