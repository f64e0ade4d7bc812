"""Settling cases: what each verb writes, what refuses it, and how everybody learns of it."""

import json
from typing import Any

import pytest

from approvals.values import FreezeRequest
from outbox.authorization import freeze_snapshot
from runs import actions, cases, catalog
from runs.administration import set_agent_active, set_halt, set_person, set_person_active
from runs.errors import (
    AgentsCannotDecide,
    AlreadyDecided,
    AuthorityRevoked,
    CommandIdReused,
    EscalationClaimed,
    Forbidden,
    Halted,
    InvalidParams,
    InvalidTransition,
    SeparationOfDuties,
    VersionConflict,
)
from runs.escalations import Resolution, ResolutionRequest, moved_since, resolve
from runs.models import Episode, Escalation, LedgerEntry, Run
from runs.refusals import escalation_ref
from runs.states import Role
from runs.values import CommandRequest, Principal
from runs.verbs import Verb, load_case
from tests import cast

pytestmark = pytest.mark.django_db

JSON = Any
KEY = "R-42"


@pytest.fixture
def bot() -> Principal:
    """An agent whose amount waits for an operator: Ada has set another. The record stands at version 2."""
    pricing = cast.agent("pricing").principal
    cast.run_with_open_amount(KEY, pricing)
    return pricing


def mara() -> Principal:
    """An operator who has written nothing yet."""
    return cast.person_operating("mara")


def settle(verb: Verb, who: Principal | None = None, **members: Any) -> Resolution:
    """Settle the one case, by default on what stands there now."""
    row = Escalation.objects.get()
    given: dict[str, Any] = {
        "id": "r-1",
        "reason": "The invoice says so.",
        "run_version": cast.reading(KEY).version,
        "escalation_version": row.version,
        "params": {"amount": "35.00", "currency": "EUR"} if verb is Verb.AMEND else None,
    }
    return resolve(who or mara(), escalation_ref(row.pk), ResolutionRequest(verb=verb, **given | members))


def entry(seq: int) -> dict[str, JSON]:
    """A ledger entry with its body."""
    row = LedgerEntry.objects.get(run__key=KEY, seq=seq)
    body = json.loads(bytes(row.body or b""))
    return {"version": row.version, "kind": row.kind, "actor": row.actor, "command_id": row.command_id, **body}


def nothing_settled() -> bool:
    """Whether the case is open, the record untouched and the id of the resolution free."""
    run = cast.reading(KEY)
    untouched = run.state.fields["refund_amount"] == "30.00" and len(run.held) == 1
    return untouched and Escalation.objects.get().state == "open" and not _recorded("user:mara", "r-1")


def _recorded(principal: str, id: str) -> bool:
    return Run.objects.filter(key=KEY, commands__principal=principal, commands__command_id=id).exists()


def record() -> dict[str, JSON]:
    """What the agent is told of its command."""
    return cases.get_command(cast.reading(KEY).id, "agent:pricing", "c-stale").as_json()


# ---- the four verbs --------------------------------------------------------------------------------------


def test_applying_commits_the_proposal_on_the_current_record_by_the_operator(bot: Principal) -> None:
    cast.command(cast.ada(), KEY, "add-tag", tag="vip")

    resolution = settle(Verb.APPLY, evidence=("invoice:7",))

    run = cast.reading(KEY)
    assert (run.version, run.state.fields["refund_amount"], run.state.fields["tags"]) == (4, "45.00", ["vip"])
    assert (run.held, run.input_version) == ((), 4)
    assert resolution.run.state == run.state
    assert resolution.answer == {
        "verb": "apply",
        "command": {
            "id": "r-1",
            "outcome": "committed",
            "base_version": 3,
            "version": 4,
            "changed": {"refund_amount": {"from": "30.00", "to": "45.00"}},
            "consent": None,
        },
    }


def test_a_resolution_is_told_in_the_ledger_with_its_own_id_and_the_proposal_in_its_body(bot: Principal) -> None:
    settle(Verb.APPLY, evidence=("invoice:7",))

    told = entry(4)
    assert (told["version"], told["kind"], told["actor"], told["command_id"]) == (
        3,
        "escalation.resolved",
        "user:mara",
        "r-1",
    )
    assert (told["verb"], told["reason"], told["evidence"]) == ("apply", "The invoice says so.", ["invoice:7"])
    assert told["proposal"] == {
        "principal": "agent:pricing",
        "command_id": "c-stale",
        "params": {"amount": "45.00", "currency": "EUR"},
    }
    assert told["changes"] == {"refund_amount": {"from": "30.00", "to": "45.00"}}
    assert told["escalation"] == escalation_ref(Escalation.objects.get().pk)


def test_amending_commits_other_parameters_and_supersedes_the_proposal(bot: Principal) -> None:
    resolution = settle(Verb.AMEND)

    assert cast.reading(KEY).state.fields["refund_amount"] == "35.00"
    assert resolution.answer["command"]["changed"] == {"refund_amount": {"from": "30.00", "to": "35.00"}}
    assert (entry(4)["params"], entry(4)["proposal"]["params"]) == (
        {"amount": "35.00", "currency": "EUR"},
        {"amount": "45.00", "currency": "EUR"},
    )


def test_amending_to_what_is_there_ends_the_case_without_a_version(bot: Principal) -> None:
    resolution = settle(Verb.AMEND, params={"amount": "30.00", "currency": "EUR"})

    assert resolution.answer["command"]["outcome"] == "unchanged"
    assert cast.reading(KEY).version == 2
    assert entry(4)["kind"] == "escalation.resolved"


@pytest.mark.parametrize("verb", [Verb.KEEP, Verb.SEND_BACK])
def test_keeping_and_sending_back_leave_the_record_and_end_the_case(bot: Principal, verb: Verb) -> None:
    before = cast.reading(KEY)

    settle(verb)

    run = cast.reading(KEY)
    assert (run.version, run.state, run.held) == (before.version, before.state, ())
    assert (entry(4)["version"], entry(4)["kind"], entry(4)["verb"]) == (2, "escalation.resolved", verb.value)
    assert Escalation.objects.get().state == "settled"


@pytest.mark.parametrize(
    ("verb", "state", "version"),
    [
        (Verb.APPLY, "committed", 3),
        (Verb.AMEND, "superseded", 3),
        (Verb.KEEP, "rejected", 2),
        (Verb.SEND_BACK, "retry", 2),
    ],
)
def test_asking_for_the_proposal_tells_how_it_ended_by_whom_and_why(
    bot: Principal, verb: Verb, state: str, version: int
) -> None:
    settle(verb)

    told = record()
    assert told["state"] == state
    assert told["resolution"] == {
        "verb": verb.value,
        "by": "user:mara",
        "note": "The invoice says so.",
        "command_id": "r-1",
        "version": version,
    }


@pytest.mark.parametrize("verb", Verb)
def test_every_verb_ends_the_episode(verb: Verb) -> None:
    bot = cast.agent("pricing").principal
    cast.run_received(KEY)
    for number in range(3):
        cast.command(cast.ada(), KEY, "add-message", message={"id": f"m{number}", "from": "customer", "text": "?"})
        cast.command(bot, KEY, "set-category", on=number + 1, category="damage", id_=f"c-{number}")
    assert Episode.objects.get().counted == 3

    settle(verb, params={"category": "delay"} if verb is Verb.AMEND else None)

    assert Episode.objects.get().counted == 0


def test_the_whole_story_is_in_the_ledger_in_its_order(bot: Principal) -> None:
    settle(Verb.SEND_BACK)
    cast.command(bot, KEY, "set-refund-amount", amount="45.00", currency="EUR", id_="c-new")

    rows = LedgerEntry.objects.filter(run__key=KEY).order_by("seq").values_list("seq", "version", "kind", "actor")
    assert list(rows) == [
        (1, 1, "run.created", "user:ada"),
        (2, 2, "command.committed", "user:ada"),
        (3, 2, "command.escalated", "agent:pricing"),
        (4, 2, "escalation.resolved", "user:mara"),
        (5, 3, "command.committed", "agent:pricing"),
    ]


# ---- the proposal afterwards -----------------------------------------------------------------------------


def again(who: Principal, on: int) -> Any:
    return cast.command(who, KEY, "set-refund-amount", on=on, amount="45.00", currency="EUR", id_="c-stale")


def test_after_send_back_the_same_id_is_evaluated_anew_on_a_newer_version(bot: Principal) -> None:
    settle(Verb.SEND_BACK)

    outcome = again(bot, on=2)

    assert (outcome.state, outcome.is_replay, outcome.answer["version"]) == ("committed", False, 3)
    assert record()["state"] == "committed"
    assert record()["resolution"] is None


def test_after_send_back_the_same_id_on_the_old_version_is_sent_back_still(bot: Principal) -> None:
    settle(Verb.SEND_BACK)

    outcome = again(bot, on=1)

    assert (outcome.state, outcome.is_replay) == ("retry", True)
    assert outcome.resolution is not None
    assert outcome.resolution["note"] == "The invoice says so."


def test_after_send_back_a_new_conflict_opens_a_new_case(bot: Principal) -> None:
    settle(Verb.SEND_BACK)
    cast.command(cast.ada(), KEY, "set-refund-amount", amount="32.00", currency="EUR")

    outcome = again(bot, on=2)

    assert (outcome.state, outcome.is_replay) == ("escalated", False)
    assert Escalation.objects.filter(state="open").get().command_id == "c-stale"
    assert Escalation.objects.count() == 2


@pytest.mark.parametrize(
    ("verb", "state"), [(Verb.APPLY, "committed"), (Verb.AMEND, "superseded"), (Verb.KEEP, "rejected")]
)
def test_after_any_other_verb_the_id_stands_for_what_became_of_it(bot: Principal, verb: Verb, state: str) -> None:
    settle(verb)
    version = cast.reading(KEY).version

    outcome = again(bot, on=version)

    assert (outcome.state, outcome.is_replay) == (state, True)
    assert cast.reading(KEY).version == version


# ---- repeats of a resolution -----------------------------------------------------------------------------


def test_a_resolution_sent_again_answers_as_before(bot: Principal) -> None:
    first = settle(Verb.APPLY)

    repeat = settle(Verb.APPLY, run_version=2)

    assert (repeat.is_replay, repeat.answer) == (True, json.loads(json.dumps(first.answer)))
    assert cast.reading(KEY).version == 3


def test_the_id_of_a_resolution_is_refused_for_another_one(bot: Principal) -> None:
    settle(Verb.KEEP)

    with pytest.raises(CommandIdReused):
        settle(Verb.SEND_BACK)


def test_the_id_of_a_command_is_refused_for_a_resolution(bot: Principal) -> None:
    cast.command(mara(), KEY, "add-tag", tag="vip", id_="r-1")

    with pytest.raises(CommandIdReused):
        settle(Verb.KEEP)


# ---- what moved since the operator looked ----------------------------------------------------------------


@pytest.mark.parametrize("verb", Verb)
@pytest.mark.parametrize(
    ("name", "params", "field"),
    [
        ("set-refund-amount", {"amount": "31.00", "currency": "EUR"}, "refund_amount"),
        ("set-refund-amount", {"amount": "30.00", "currency": "USD"}, "currency"),
    ],
)
def test_a_field_that_the_proposal_writes_has_to_be_seen(
    bot: Principal, verb: Verb, name: str, params: dict[str, JSON], field: str
) -> None:
    cast.command(cast.ada(), KEY, name, **params)
    moved_at = cast.reading(KEY).state

    with pytest.raises(VersionConflict) as refusal:
        settle(verb, run_version=2)

    told = refusal.value.members
    assert (told["disposition"], told["base_version"], told["current_version"]) == ("retry", 2, 3)
    assert told.keys() >= {"run", "command_id", "conflict", "current_etag", "rule", "attempts", "retry_after_ms"}
    assert [(item["field"], item["changed_by"]) for item in told["changed_fields"]] == [(field, "user:ada")]
    assert told["changed_fields"][0]["current"] == params["amount" if field == "refund_amount" else "currency"]
    assert told["escalation"]["version"] == 1
    assert (cast.reading(KEY).state, Escalation.objects.get().state) == (moved_at, "open")


def test_a_field_that_the_proposal_reads_has_to_be_seen() -> None:
    cast.run_with_open_case(KEY)
    cast.command(cast.ada(), KEY, "add-message", message={"id": "m1", "from": "customer", "text": "It is fine."})

    with pytest.raises(VersionConflict, match="messages"):
        settle(Verb.APPLY, run_version=2)


def test_a_field_that_was_not_shown_as_changed_and_moved_since_refuses_nothing(bot: Principal) -> None:
    cast.command(cast.ada(), KEY, "add-tag", tag="vip")

    assert settle(Verb.KEEP, run_version=2).answer["verb"] == "keep"


def test_a_field_shown_as_changed_that_moved_again_has_to_be_seen(bot: Principal) -> None:
    cast.command(cast.ada(), KEY, "add-tag", tag="vip")
    cast.command(cast.ada(), KEY, "add-tag", tag="photo")

    with pytest.raises(VersionConflict, match="tags"):
        settle(Verb.KEEP, run_version=3)


def test_a_moved_status_has_to_be_seen_before_it_is_told_as_illegal() -> None:
    cast.run_received(KEY, slug="report")
    coordinator = cast.agent("coordinator", scopes=cast.REPORT_SCOPES, workflows=("report",)).principal
    cast.command(cast.ada(), KEY, "set-question", question="Why?")
    cast.command(coordinator, KEY, "set-question", on=1, question="How?")
    cast.command(cast.ada(), KEY, "start")

    with pytest.raises(VersionConflict, match="status"):
        settle(Verb.APPLY, run_version=2)


def test_a_moved_revision_has_to_be_seen(bot: Principal) -> None:
    catalog.store_workflow((cast.DEFINITIONS / "refund.toml").read_text() + "\n# revised\n", cast.SETUP.actor)
    cast.command(cast.dora(), KEY, "move-to-revision", revision=2)

    with pytest.raises(VersionConflict, match="revision"):
        settle(Verb.APPLY, run_version=2)

    assert settle(Verb.APPLY).answer["command"]["outcome"] == "committed"


def test_unrelated_traffic_refuses_nothing(bot: Principal) -> None:
    for number in range(5):
        cast.command(cast.ada(), KEY, "add-note", note={"id": f"n{number}", "text": "…"})
        cast.command(bot, KEY, "record-contact")

    resolution = settle(Verb.APPLY, run_version=2)

    assert resolution.answer["command"]["version"] == 13


def test_of_a_freeze_everything_that_it_would_put_under_review_has_to_be_seen() -> None:
    bot = cast.agent("pricing").principal
    cast.run_received(KEY, recipient="Ana Lima", refund_amount="30.00")
    cast.command(cast.ada(), KEY, "set-category", category="billing")
    cast.command(cast.ada(), KEY, "set-refund-amount", amount="31.00", currency="EUR")
    freeze_snapshot(bot, KEY, 2, FreezeRequest("f-1", "pay", "It is complete."))
    cast.command(cast.ada(), KEY, "set-recipient", recipient="Rui Lima")
    cast.command(cast.ada(), KEY, "add-note", note={"id": "n1", "text": "…"})

    case = load_case(mara(), escalation_ref(Escalation.objects.get().pk))

    assert moved_since(case, 3) == ["recipient"]
    assert moved_since(case, 4) == []


def test_a_version_that_the_record_never_had_was_not_seen(bot: Principal) -> None:
    for version in (0, 99):
        with pytest.raises(VersionConflict):
            settle(Verb.KEEP, run_version=version)


def test_a_newer_proposal_of_the_case_has_to_be_seen(bot: Principal) -> None:
    cast.command(bot, KEY, "set-refund-amount", amount="60.00", currency="EUR")

    with pytest.raises(VersionConflict, match="a newer proposal joined this case") as refusal:
        settle(Verb.APPLY, escalation_version=1)

    assert refusal.value.members["escalation"]["version"] == 2
    assert settle(Verb.APPLY).run.state.fields["refund_amount"] == "60.00"


# ---- who may not, and what is not possible ---------------------------------------------------------------


def test_two_operators_cannot_both_settle_a_case(bot: Principal) -> None:
    settle(Verb.KEEP)

    with pytest.raises(AlreadyDecided) as refusal:
        settle(Verb.APPLY, cast.person_operating("lena"), id="r-2")

    assert (refusal.value.members["verb"], refusal.value.members["by"]) == ("keep", "user:mara")
    assert cast.reading(KEY).state.fields["refund_amount"] == "30.00"


@pytest.mark.parametrize(
    ("who", "refusal"),
    [
        (cast.ben, Forbidden),
        (cast.dora, Forbidden),
        (lambda: Principal("agent", "pricing"), AgentsCannotDecide),
    ],
    ids=["reviewer", "admin", "agent"],
)
def test_only_operators_settle(bot: Principal, who: Any, refusal: type[Exception]) -> None:
    with pytest.raises(refusal):
        settle(Verb.KEEP, who())

    assert nothing_settled()


def test_a_suspended_operator_settles_nothing(bot: Principal) -> None:
    suspended = mara()
    set_person_active("mara", False, cast.SETUP)

    with pytest.raises(AuthorityRevoked):
        settle(Verb.KEEP, suspended)


def test_whoever_wrote_the_current_amount_does_not_keep_it(bot: Principal) -> None:
    for verb in (Verb.KEEP, Verb.AMEND):
        with pytest.raises(SeparationOfDuties):
            settle(verb, cast.ada())
    assert nothing_settled()

    assert settle(Verb.APPLY, cast.ada()).run.state.fields["refund_amount"] == "45.00"


def test_whoever_handed_a_form_over_settles_it_by_taking_it_back() -> None:
    cast.run_received(KEY)
    cast.command(cast.ada(), KEY, "set-category", category="billing")
    request = CommandRequest("c-1", "set-category", {"category": "damage"}, "The photos.", hand_over=True)
    actions.apply_command(mara(), KEY, 1, request)

    for verb in (Verb.APPLY, Verb.AMEND, Verb.KEEP):
        with pytest.raises(SeparationOfDuties):
            settle(verb, params={"category": "delay"} if verb is Verb.AMEND else None)

    assert settle(Verb.SEND_BACK).answer["command"]["outcome"] == "retry"


def test_a_proposal_is_not_applied_once_its_agent_is_suspended(bot: Principal) -> None:
    set_agent_active("pricing", False, cast.SETUP)

    with pytest.raises(AuthorityRevoked):
        settle(Verb.APPLY)
    assert nothing_settled()

    assert settle(Verb.AMEND).run.state.fields["refund_amount"] == "35.00"


def test_a_halt_stops_applying_and_not_keeping(bot: Principal) -> None:
    set_halt(True, cast.SETUP)

    for verb in (Verb.APPLY, Verb.AMEND):
        with pytest.raises(Halted):
            settle(verb)
    assert nothing_settled()

    settle(Verb.KEEP)


def test_what_the_record_no_longer_allows_is_not_applied(bot: Principal) -> None:
    cast.command(cast.ada(), KEY, "close-case")

    with pytest.raises(InvalidTransition):
        settle(Verb.APPLY)
    assert nothing_settled()


@pytest.mark.parametrize(
    ("verb", "params"),
    [(verb, {"amount": "35.00", "currency": "EUR"}) for verb in (Verb.APPLY, Verb.KEEP, Verb.SEND_BACK)]
    + [(Verb.AMEND, None), (Verb.AMEND, {}), (Verb.AMEND, {"amount": "0.00", "currency": "EUR"})],
)
def test_parameters_belong_to_amend_and_have_to_fit(bot: Principal, verb: Verb, params: JSON) -> None:
    with pytest.raises(InvalidParams):
        settle(verb, params=params)

    assert nothing_settled()


def test_an_amount_above_the_limit_of_agents_may_be_set_by_the_operator(bot: Principal) -> None:
    settle(Verb.AMEND, params={"amount": "900.00", "currency": "EUR"})

    assert cast.reading(KEY).state.fields["refund_amount"] == "900.00"


# ---- claims ----------------------------------------------------------------------------------------------


def claimed(by: str, until: str) -> None:
    Escalation.objects.update(claimed_by=by, claimed_until=until)


def test_a_case_that_another_operator_holds_is_not_settled(bot: Principal) -> None:
    claimed("user:lena", "2999-01-01T00:00:00Z")

    with pytest.raises(EscalationClaimed) as refusal:
        settle(Verb.KEEP)

    assert refusal.value.members["held_by"] == "user:lena"
    assert nothing_settled()


@pytest.mark.parametrize(
    ("by", "until"), [("user:mara", "2999-01-01T00:00:00Z"), ("user:lena", "2020-01-01T00:00:00Z")]
)
def test_ones_own_claim_and_one_that_ran_out_stop_nobody(bot: Principal, by: str, until: str) -> None:
    claimed(by, until)

    assert settle(Verb.KEEP).answer["verb"] == "keep"


def test_a_claim_does_not_stop_an_admin_who_operates(bot: Principal) -> None:
    claimed("user:lena", "2999-01-01T00:00:00Z")
    mara()
    set_person("mara", cast.SETUP, roles=[Role.OPERATOR, Role.ADMIN])

    assert settle(Verb.KEEP).answer["verb"] == "keep"
