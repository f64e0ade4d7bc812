"""What is written when a stale or held command is not applied, and what an agent is left of its budget."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from runs import actions, store
from runs.conflicts import MAX_VERSIONS_BACK
from runs.escalations import ResolutionRequest, resolve
from runs.models import Command, Conflict, Episode, Escalation, Installation, LedgerEntry
from runs.outcomes import Outcome
from runs.refusals import RETRY_JITTER_MS, conflict_ref, escalation_ref
from runs.values import UNKNOWN_BASE, CommandRequest, Principal
from runs.verbs import Verb
from tests import cast

pytestmark = pytest.mark.django_db

JSON = Any
KEY = "R-42"


@pytest.fixture
def bot() -> Principal:
    """An agent that classifies, on a refund at version 2 to which a message came after version 1."""
    classifier = cast.agent().principal
    cast.run_received(KEY)
    say("m1")
    return classifier


def say(id: str) -> None:
    """A new message, which asks whoever would set the category to read first."""
    message = {"id": id, "from": "customer", "text": "Where is it?"}
    cast.command(cast.ada(), KEY, "add-message", message=message)


def classify(who: Principal, id: str, on: int = 1, category: str = "damage", **members: Any) -> Outcome:
    """Set the category from a version, by default from one before the message."""
    request = CommandRequest(id, "set-category", {"category": category}, "Photos show a broken lid.", **members)
    return actions.apply_command(who, KEY, on, request)


def told(outcome: Outcome) -> tuple[str, JSON, JSON, JSON]:
    """State, rule, conflicts counted and conflicts left."""
    answer = outcome.answer
    return outcome.state, answer["rule"]["name"], answer["attempts"], answer["attempts_left"]


def entries() -> list[tuple[int, int, str, str | None]]:
    rows = LedgerEntry.objects.filter(run__key=KEY).order_by("seq")
    return list(rows.values_list("seq", "version", "kind", "command_id"))


def open_case() -> Escalation:
    return Escalation.objects.select_related("conflict").get(state="open")


def settle(verb: Verb, by: str = "mara") -> None:
    """Settle the one open case as another operator."""
    case, version = open_case(), cast.reading(KEY).version
    request = ResolutionRequest(f"r-{case.pk}", verb, "So it is.", version, case.version)
    resolve(cast.person_operating(by), escalation_ref(case.pk), request)


# ---- retry -----------------------------------------------------------------------------------------------


def test_a_retry_touches_nothing_of_the_run(bot: Principal) -> None:
    before, written = cast.reading(KEY), entries()

    outcome = classify(bot, "c-1")

    assert outcome.state == "retry"
    assert cast.reading(KEY) == before
    assert entries() == written


def test_a_retry_tells_what_changed_and_what_is_left(bot: Principal) -> None:
    answer = dict(classify(bot, "c-1").answer)

    assert answer.pop("conflict") == conflict_ref(Conflict.objects.get().pk)
    assert RETRY_JITTER_MS[0] <= answer.pop("retry_after_ms") <= RETRY_JITTER_MS[1]
    assert answer.pop("changed_fields") == [
        {
            "field": "messages",
            "base": [],
            "current": [{"id": "m1", "from": "customer", "text": "Where is it?"}],
            "restored": False,
            "version": 2,
            "changed_by": "user:ada",
            "command_id": entries()[1][3],
        },
        {
            "field": "status",
            "base": "received",
            "current": "working",
            "restored": False,
            "version": 2,
            "changed_by": "user:ada",
            "command_id": entries()[1][3],
        },
    ]
    words = "A new message may change the category: read it first."
    assert answer == {
        "detail": words,
        "run": KEY,
        "command_id": "c-1",
        "base_version": 1,
        "current_version": 2,
        "current_etag": '"1.2"',
        "disposition": "retry",
        "rule": {"command": "set-category", "name": "on_conflict[2]", "because": words},
        "attempts": 1,
        "attempts_left": 2,
        "seconds_left": 600,
        "escalation": None,
    }


def test_a_conflict_is_kept_with_its_base_and_its_proposal(bot: Principal) -> None:
    outcome = classify(bot, "c-1", evidence=("message:m1",), branch="b", intent="sort")

    kept = Conflict.objects.get()
    assert (kept.principal, kept.command_id, kept.name, kept.intent) == (bot.actor, "c-1", "set-category", "sort")
    assert (kept.base_version, kept.current_version, kept.disposition) == (1, 2, "retry")
    assert (kept.rule, kept.fields_touched) == ("on_conflict[2]", ["messages", "status"])
    assert json.loads(kept.problem) == outcome.answer
    assert json.loads(kept.base or "")["messages"] == []
    assert json.loads(kept.proposal or "") == {
        "id": "c-1",
        "name": "set-category",
        "params": {"category": "damage"},
        "reason": "Photos show a broken lid.",
        "evidence": ["message:m1"],
        "intent": "sort",
        "branch": "b",
        "on_behalf_of": None,
    }


def test_every_further_conflict_asks_to_wait_longer(bot: Principal) -> None:
    classify(bot, "c-1")

    waits = classify(bot, "c-2").answer["retry_after_ms"]

    assert 2 * RETRY_JITTER_MS[0] <= waits <= 2 * RETRY_JITTER_MS[1]


# ---- versions that cannot be compared --------------------------------------------------------------------


@pytest.mark.parametrize("expected", [3, 1000])
def test_a_version_ahead_of_the_record_is_a_conflict_to_retry_without_a_base(bot: Principal, expected: int) -> None:
    outcome = classify(bot, "c-1", on=expected)

    assert told(outcome) == ("retry", "default", 1, 2)
    assert outcome.answer["changed_fields"] == []
    assert Conflict.objects.get().base is None


def test_a_version_of_another_ledger_epoch_is_a_conflict_to_retry(bot: Principal) -> None:
    Installation.objects.update(ledger_epoch=2)
    request = CommandRequest("c-1", "set-category", {"category": "damage"}, "Photos show a broken lid.")

    outcome = actions.apply_command(bot, KEY, 2, request, epoch=1)

    assert told(outcome) == ("retry", "default", 1, 2)
    assert (outcome.answer["base_version"], outcome.answer["current_etag"]) == (UNKNOWN_BASE, '"2.2"')


def test_a_base_more_than_500_versions_back_is_not_compared(bot: Principal) -> None:
    ada = cast.ada()
    while cast.reading(KEY).version < 2 + MAX_VERSIONS_BACK:
        cast.command(ada, KEY, "record-contact")

    near, far = classify(bot, "c-near", on=2), classify(bot, "c-far", on=1)

    assert near.state == "merged"
    assert told(far)[:2] == ("retry", "default")
    assert far.answer["changed_fields"] == []


# ---- the budget ------------------------------------------------------------------------------------------


def test_a_budget_of_three_gives_retry_retry_escalate(bot: Principal) -> None:
    outcomes = [classify(bot, f"c-{number}") for number in (1, 2, 3)]

    assert [told(outcome) for outcome in outcomes] == [
        ("retry", "on_conflict[2]", 1, 2),
        ("retry", "on_conflict[2]", 2, 1),
        ("escalated", "budget-exhausted", 3, 0),
    ]
    assert outcomes[2].answer["escalation"]["id"] == escalation_ref(open_case().pk)
    assert outcomes[2].answer["disposition"] == "escalate"


def test_a_conflict_that_comes_too_late_after_the_first_escalates(bot: Principal) -> None:
    classify(bot, "c-1")
    Episode.objects.update(first_at=F("first_at") - timedelta(minutes=10))

    outcome = classify(bot, "c-2")

    assert told(outcome) == ("escalated", "budget-exhausted", 2, 1)
    assert outcome.answer["seconds_left"] == 0


def test_each_intent_each_principal_and_each_run_has_a_budget_of_its_own(bot: Principal) -> None:
    other = cast.agent("other").principal
    for number in (1, 2):
        classify(bot, f"c-{number}")

    assert told(classify(bot, "c-3", intent="sort"))[2:] == (1, 2)
    assert told(classify(other, "c-3"))[2:] == (1, 2)
    cast.run_received("R-43")
    cast.command(cast.ada(), "R-43", "add-message", message={"id": "m1", "from": "customer", "text": "?"})
    assert told(cast.command(bot, "R-43", "set-category", on=1, category="damage"))[2:] == (1, 2)


def test_a_commit_of_the_intent_ends_its_episode_and_no_other_commit_does(bot: Principal) -> None:
    classify(bot, "c-1")
    cast.command(bot, KEY, "add-tag", tag="photo")
    assert told(classify(bot, "c-2"))[2] == 2

    classify(bot, "c-3", on=3)
    say("m2")

    assert told(classify(bot, "c-4", on=4, category="delay"))[2:] == (1, 2)


def test_a_merge_of_the_intent_ends_its_episode_too(bot: Principal) -> None:
    classify(bot, "c-1")
    cast.command(cast.ada(), KEY, "add-tag", tag="photo")

    assert classify(bot, "c-2", on=2).state == "merged"

    say("m2")
    assert told(classify(bot, "c-3", on=4, category="delay"))[2:] == (1, 2)


def test_what_changes_nothing_ends_no_episode(bot: Principal) -> None:
    cast.command(cast.ada(), KEY, "set-category", category="damage")
    say("m2")
    classify(bot, "c-1", on=3, category="delay")

    assert classify(bot, "c-2", on=4).state == "unchanged"

    assert told(classify(bot, "c-3", on=3, category="delay"))[2] == 2


@pytest.mark.parametrize("verb", [Verb.KEEP, Verb.SEND_BACK])
def test_settling_its_case_ends_an_episode(bot: Principal, verb: Verb) -> None:
    for number in (1, 2, 3):
        classify(bot, f"c-{number}")

    settle(verb)

    assert told(classify(bot, "c-4"))[2:] == (1, 2)


def test_an_overtaken_case_ends_the_episode_as_a_settled_one_does(bot: Principal) -> None:
    for number in (1, 2, 3):
        classify(bot, f"c-{number}")
    cast.command(cast.ada(), KEY, "set-category", category="damage")
    say("m2")

    outcome = classify(bot, "c-4", on=3, category="delay")

    assert told(outcome) == ("retry", "on_conflict[2]", 1, 2)


def test_a_day_without_a_conflict_ends_an_episode(bot: Principal) -> None:
    for number in (1, 2):
        classify(bot, f"c-{number}")
    day = timedelta(hours=24)
    Episode.objects.update(first_at=F("first_at") - day, last_at=F("last_at") - day)

    outcome = classify(bot, "c-3")

    assert told(outcome) == ("retry", "on_conflict[2]", 1, 2)
    assert outcome.answer["seconds_left"] == 600


def test_conflicts_with_oneself_are_never_counted_and_never_escalate(bot: Principal) -> None:
    cast.command(bot, KEY, "set-category", category="damage")

    outcomes = [classify(bot, f"c-{number}", on=2, category="delay") for number in range(5)]

    assert {told(outcome) for outcome in outcomes} == {("retry", "on_conflict[1]", 0, 3)}
    assert not Escalation.objects.exists()
    assert "Your own command" in outcomes[0].answer["detail"]


def test_only_agents_have_a_budget(bot: Principal) -> None:
    clock = Principal("system", "clock")

    outcomes = [cast.command(clock, KEY, "expire", on=1) for _ in range(4)]

    assert {told(outcome) for outcome in outcomes} == {("retry", "default", 0, 3)}


# ---- repeats of a refusal --------------------------------------------------------------------------------


def test_a_repeat_on_the_same_version_is_the_same_refusal_and_is_not_counted(bot: Principal) -> None:
    first = classify(bot, "c-1")

    again = [classify(bot, "c-1") for _ in range(4)]

    assert [(outcome.is_replay, outcome.answer) for outcome in again] == [(True, first.answer)] * 4
    assert Conflict.objects.count() == Episode.objects.get().counted == 1


def test_a_repeat_on_another_version_is_evaluated_anew_and_counted(bot: Principal) -> None:
    classify(bot, "c-1")
    say("m2")

    again = classify(bot, "c-1", on=2)

    assert not again.is_replay
    assert told(again) == ("retry", "on_conflict[2]", 2, 1)
    assert classify(bot, "c-1", on=1).answer["attempts"] == 1  # each version keeps its own refusal


def test_a_repeat_on_the_current_version_commits(bot: Principal) -> None:
    classify(bot, "c-1")

    again = classify(bot, "c-1", on=2)

    assert (again.state, again.answer["version"]) == ("committed", 3)
    assert classify(bot, "c-1", on=1).state == "committed"  # now the id stands for what it did


def test_a_rejected_id_never_takes_effect(bot: Principal) -> None:
    cast.command(cast.ada(), KEY, "close-case")
    first = classify(bot, "c-1", on=2)
    cast.command(cast.ada(), KEY, "reopen-case")

    again = classify(bot, "c-1", on=cast.reading(KEY).version)

    assert told(first)[:2] == ("rejected", "on_conflict[0]")
    assert (again.is_replay, again.answer) == (True, first.answer)
    assert cast.reading(KEY).state.fields["category"] is None
    assert entries()[3] == (4, 3, "command.rejected", "c-1")


# ---- people ----------------------------------------------------------------------------------------------


def test_a_stale_form_of_a_person_is_shown_the_difference_and_never_queued(bot: Principal) -> None:
    mara = cast.person_operating("mara")
    cast.command(cast.ada(), KEY, "set-category", category="billing")
    before = entries()

    outcomes = [classify(mara, f"c-{number}", on=2) for number in range(4)]

    assert {told(outcome) for outcome in outcomes} == {("retry", "on_conflict[1]", 0, 3)}
    assert not Escalation.objects.exists()
    assert entries() == before


def test_a_person_may_hand_a_stale_form_to_another_operator(bot: Principal) -> None:
    mara = cast.person_operating("mara")
    cast.command(cast.ada(), KEY, "set-category", category="billing")

    outcome = classify(mara, "c-1", on=2, hand_over=True)

    assert told(outcome)[:2] == ("escalated", "on_conflict[1]")
    assert open_case().principal == "user:mara"


def test_what_only_wants_reading_again_is_never_handed_over(bot: Principal) -> None:
    outcome = classify(cast.person_operating("mara"), "c-1", hand_over=True)

    assert told(outcome)[:2] == ("retry", "on_conflict[2]")


def test_a_stale_form_against_ones_own_write_is_never_handed_over(bot: Principal) -> None:
    mara = cast.person_operating("mara")
    cast.command(mara, KEY, "set-category", category="billing")

    assert classify(mara, "c-1", on=2, hand_over=True).state == "retry"


# ---- what an open case holds -----------------------------------------------------------------------------


@pytest.fixture
def held(bot: Principal) -> Principal:
    """The same agent, whose proposal for the category waits for an operator; the record stands at version 3."""
    cast.command(cast.ada(), KEY, "set-category", category="billing")
    assert classify(bot, "c-stale", on=2).state == "escalated"
    return bot


def test_an_escalation_leaves_the_record_as_it_is_and_tells_the_ledger(held: Principal) -> None:
    run = cast.reading(KEY)

    assert (run.version, run.state.fields["category"]) == (3, "billing")
    assert entries()[-1] == (4, 3, "command.escalated", "c-stale")
    assert [(item.principal, item.intent, dict(item.elements)) for item in run.held] == [
        (held.actor, "set-category", {"category": None})
    ]


def test_an_escalated_intention_tried_again_on_a_fresh_version_stays_held_and_joins_its_case(held: Principal) -> None:
    opened = open_case()

    outcome = classify(held, "c-fresh", on=3, category="delay")

    joined = open_case()
    assert told(outcome)[:2] == ("escalated", "held")
    assert cast.reading(KEY).state.fields["category"] == "billing"
    assert (joined.pk, joined.version, joined.command_id) == (opened.pk, opened.version + 1, "c-fresh")
    assert joined.earlier_conflicts == [opened.conflict_id]
    assert entries()[-1] == (5, 3, "command.escalated", "c-fresh")


def test_a_proposal_that_a_newer_one_of_its_case_outdates_is_superseded(held: Principal) -> None:
    classify(held, "c-fresh", on=3, category="delay")

    states = dict(Command.objects.filter(principal=held.actor).values_list("command_id", "state"))
    assert states == {"c-stale": "superseded", "c-fresh": "escalated"}
    again = classify(held, "c-stale", on=3)
    assert (again.state, again.is_replay, again.resolution) == (
        "superseded",
        True,
        {
            "verb": "superseded",
            "by": held.actor,
            "note": "A newer proposal of the same case took its place.",
            "command_id": "c-fresh",
            "version": None,
        },
    )


def test_a_held_command_of_another_intent_joins_the_case_of_its_principal(held: Principal) -> None:
    outcome = classify(held, "c-fresh", on=3, category="delay", intent="sort again")

    assert told(outcome)[:2] == ("escalated", "held")
    assert (open_case().intent, open_case().command_id) == ("set-category", "c-fresh")


def test_another_agent_that_would_change_what_is_held_opens_a_case_of_its_own(held: Principal) -> None:
    other = cast.agent("other").principal

    outcome = classify(other, "c-1", on=3, category="delay")

    assert told(outcome)[:2] == ("escalated", "held")
    assert f"settles what {held.actor} proposed" in outcome.answer["detail"]
    assert set(Escalation.objects.filter(state="open").values_list("principal", flat=True)) == {
        held.actor,
        other.actor,
    }


def test_an_agent_whose_command_changes_nothing_held_goes_on(held: Principal) -> None:
    other = cast.agent("other").principal

    assert classify(other, "c-same", on=3, category="billing").state == "unchanged"
    assert cast.command(other, KEY, "assign", assigned_owner="lena").state == "committed"
    assert cast.command(held, KEY, "assign", on=3, assigned_owner="lena").state == "rejected"  # and judged as ever


def test_people_may_write_what_is_held_and_the_case_stays_open(held: Principal) -> None:
    outcome = cast.command(cast.person_operating("mara"), KEY, "set-category", category="delay")

    assert outcome.state == "committed"
    assert open_case().command_id == "c-stale"
    assert cast.reading(KEY).held != ()


def test_of_a_set_only_the_proposed_element_is_held(bot: Principal) -> None:
    cast.command(cast.ada(), KEY, "add-tag", tag="vip")
    cast.command(cast.ada(), KEY, "remove-tag", tag="vip")
    assert told(cast.command(bot, KEY, "add-tag", on=2, tag="vip"))[:2] == ("escalated", "unsafe-merge")
    other = cast.agent("other").principal

    free = cast.command(other, KEY, "add-tag", tag="photo")
    merged = cast.command(other, KEY, "add-tag", on=4, tag="urgent")
    fresh = cast.command(other, KEY, "add-tag", tag="vip")
    stale = cast.command(other, KEY, "add-tag", on=5, tag="vip")

    assert (free.state, merged.state) == ("committed", "merged")
    assert told(fresh)[:2] == told(stale)[:2] == ("escalated", "held")


def test_a_settled_case_holds_nothing_any_more(held: Principal) -> None:
    settle(Verb.KEEP)

    assert cast.reading(KEY).held == ()
    assert classify(held, "c-fresh", on=3, category="delay").state == "committed"


def test_the_newest_proposal_of_a_case_decides_what_it_holds(bot: Principal) -> None:
    cast.command(cast.ada(), KEY, "set-refund-amount", amount="30.00", currency="EUR")
    amount = CommandRequest("c-1", "set-refund-amount", {"amount": "45.00", "currency": "EUR"}, "Policy.", intent="pay")
    recipient = CommandRequest("c-2", "set-recipient", {"recipient": "Ana Lima"}, "Her name.", intent="pay")

    for request in (amount, recipient):
        assert actions.apply_command(bot, KEY, 2, request).state == "escalated"

    assert [dict(item.elements) for item in cast.reading(KEY).held] == [{"recipient": None}]
    assert open_case().is_material


def test_the_recorded_refusals_are_what_the_store_gives_back(bot: Principal) -> None:
    outcome = classify(bot, "c-1")

    assert store.refusal_at(cast.reading(KEY).id, bot.actor, "c-1", 1) == outcome.answer
    assert store.refusal_at(cast.reading(KEY).id, bot.actor, "c-1", 2) is None
