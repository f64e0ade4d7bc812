"""Cases that a commit ends: the proposal already holds now, or the run has."""

import json
from typing import Any

import pytest

from runs import actions
from runs.escalations import ResolutionRequest, resolve
from runs.models import Command, Conflict, Escalation, LedgerEntry
from runs.refusals import escalation_ref
from runs.values import CommandRequest, Principal
from runs.verbs import Verb
from tests import cast

pytestmark = pytest.mark.django_db

JSON = Any
KEY = "R-42"


@pytest.fixture
def bot() -> Principal:
    """An agent that proposes another category than Ada has set; the record stands at version 2."""
    classifier = cast.agent().principal
    cast.run_with_open_case(KEY, classifier)
    return classifier


def last_entries(count: int) -> list[tuple[int, int, str, str, str | None]]:
    rows = LedgerEntry.objects.filter(run__key=KEY).order_by("-seq")[:count]
    return [(row.seq, row.version, row.kind, row.actor, row.command_id) for row in reversed(rows)]


def command_state(principal: str, id: str) -> tuple[str, JSON]:
    row = Command.objects.get(principal=principal, command_id=id)
    return row.state, json.loads(row.resolution or "null")


def state_of(case: Escalation) -> tuple[str, str]:
    case.refresh_from_db()
    return case.state, json.loads(case.resolution or "{}").get("verb", "")


def test_a_person_who_writes_what_was_proposed_supersedes_the_case_in_the_same_commit(bot: Principal) -> None:
    mara = cast.person_operating("mara")
    case = Escalation.objects.get()

    cast.command(mara, KEY, "set-category", category="damage", id_="c-mara")

    assert cast.reading(KEY).held == ()
    assert state_of(case) == ("settled", "superseded")
    assert last_entries(2) == [
        (4, 3, "command.committed", "user:mara", "c-mara"),
        (5, 3, "escalation.superseded", "user:mara", "c-mara"),
    ]
    assert command_state(bot.actor, "c-stale") == (
        "superseded",
        {
            "verb": "superseded",
            "by": "user:mara",
            "note": "What it proposed holds now.",
            "command_id": "c-mara",
            "version": 3,
        },
    )


def test_the_entry_names_the_case_and_the_proposal(bot: Principal) -> None:
    case = Escalation.objects.get()

    cast.command(cast.ada(), KEY, "set-category", category="damage")

    body = json.loads(bytes(LedgerEntry.objects.get(run__key=KEY, kind="escalation.superseded").body or b""))
    assert (body["escalation"], body["proposal"], body["verb"]) == (escalation_ref(case.pk), "c-stale", "superseded")


def test_the_agent_is_told_when_it_sends_its_command_again(bot: Principal) -> None:
    cast.command(cast.ada(), KEY, "set-category", category="damage", id_="c-ada")

    again = cast.command(bot, KEY, "set-category", category="damage", id_="c-stale")

    assert (again.state, again.is_replay) == ("superseded", True)
    assert again.resolution is not None
    assert again.resolution["command_id"] == "c-ada"


@pytest.mark.parametrize(
    ("name", "params"),
    [("set-category", {"category": "delay"}), ("add-tag", {"tag": "vip"}), ("close-case", {})],
)
def test_any_other_write_leaves_the_case_open(bot: Principal, name: str, params: dict[str, JSON]) -> None:
    cast.command(cast.ada(), KEY, name, **params)

    assert state_of(Escalation.objects.get()) == ("open", "")
    assert [item.principal for item in cast.reading(KEY).held] == [bot.actor]


@pytest.mark.parametrize(
    ("who", "name"), [(cast.ada, "cancel"), (lambda: Principal("system", "clock"), "expire")], ids=["cancel", "expire"]
)
def test_the_end_of_a_run_settles_every_case_of_it_as_keep(bot: Principal, who: Any, name: str) -> None:
    cast.command(cast.agent("other").principal, KEY, "set-category", category="delay", id_="c-other")
    first, second = Escalation.objects.order_by("opened_at")

    cast.command(who(), KEY, name, id_="c-end")

    assert state_of(first) == state_of(second) == ("settled", "keep")
    assert [entry[2] for entry in last_entries(3)] == [f"run.{name}{'led' if name == 'cancel' else 'd'}"] + [
        "escalation.resolved"
    ] * 2
    assert {entry[1] for entry in last_entries(3)} == {3}
    for principal, id in ((bot.actor, "c-stale"), ("agent:other", "c-other")):
        state, resolution = command_state(principal, id)
        assert (state, resolution["verb"], resolution["command_id"]) == ("rejected", "keep", "c-end")
        assert resolution["note"].startswith("The run was")


def test_of_two_cases_only_the_one_whose_proposal_holds_is_superseded(bot: Principal) -> None:
    cast.command(cast.agent("other").principal, KEY, "set-category", category="delay", id_="c-other")
    first, second = Escalation.objects.order_by("opened_at")

    cast.command(cast.ada(), KEY, "set-category", category="delay")

    assert (state_of(first)[0], state_of(second)[0]) == ("open", "settled")
    assert [item.principal for item in cast.reading(KEY).held] == [bot.actor]


def test_a_merge_overtakes_as_a_commit_does(bot: Principal) -> None:
    cast.command(cast.ada(), KEY, "add-tag", tag="vip")

    outcome = cast.command(cast.person_operating("mara"), KEY, "set-category", on=2, category="damage")

    assert outcome.state == "merged"
    assert [entry[2] for entry in last_entries(2)] == ["command.merged", "escalation.superseded"]
    assert command_state(bot.actor, "c-stale")[0] == "superseded"


def test_a_resolution_overtakes_the_cases_that_propose_the_same(bot: Principal) -> None:
    cast.command(cast.agent("other").principal, KEY, "set-category", category="delay", id_="c-other")
    first, second = Escalation.objects.order_by("opened_at")
    request = ResolutionRequest("r-1", Verb.AMEND, "It came late.", 2, first.version, {"category": "delay"})

    resolve(cast.person_operating("mara"), escalation_ref(first.pk), request)

    assert state_of(first) == ("settled", "amend")
    assert state_of(second) == ("settled", "superseded")
    assert [entry[2] for entry in last_entries(2)] == ["escalation.resolved", "escalation.superseded"]
    assert cast.reading(KEY).held == ()


def test_a_proposal_of_several_fields_holds_only_when_all_of_them_do() -> None:
    bot = cast.agent().principal
    cast.run_with_open_amount(KEY, bot)

    cast.command(cast.ada(), KEY, "set-refund-amount", amount="45.00", currency="USD")
    assert state_of(Escalation.objects.get())[0] == "open"

    cast.command(cast.ada(), KEY, "set-refund-amount", amount="45.00", currency="EUR")
    assert state_of(Escalation.objects.get()) == ("settled", "superseded")


def test_a_step_without_fields_is_overtaken_by_the_same_step() -> None:
    cast.run_received(KEY, slug="report")
    starter = cast.agent("starter", scopes=cast.REPORT_SCOPES, workflows=("report",)).principal
    for number in range(3):
        cast.command(cast.ada(), KEY, "add-tag", tag=f"t{number}")
        start = CommandRequest(f"c-{number}", "start", {}, "Let us begin.")
        last = actions.apply_command(starter, KEY, number + 1, start)
    assert last.state == "escalated"

    cast.command(cast.ada(), KEY, "start")

    assert state_of(Escalation.objects.get()) == ("settled", "superseded")


def test_an_erased_proposal_overtakes_nothing_and_stops_nobody(bot: Principal) -> None:
    Conflict.objects.update(problem="", base=None, proposal=None)

    assert cast.command(cast.ada(), KEY, "set-category", category="damage").state == "committed"
    assert state_of(Escalation.objects.get())[0] == "open"
