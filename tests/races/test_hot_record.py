"""A record that moves faster than an agent decides: tries are counted, and when they are used up a person decides."""

from itertools import count

import pytest

from runs import store
from runs.models import Conflict, Escalation, LedgerEntry
from runs.outcomes import Outcome
from runs.values import Principal
from tests import cast
from tests.sync import Actor, rivals_before, stopped_after, wait_until_blocked

KEY = "R-42"
NUMBERS = count(1)


@pytest.fixture
def agent() -> Principal:
    cast.run_received(KEY)
    return cast.agent("slow").principal


def a_message_comes() -> None:
    message = {"id": f"m{next(NUMBERS)}", "from": "customer", "text": "hello?"}
    cast.command(cast.ada(), KEY, "add-message", message=message)


def classify(who: Principal, on: int, number: int) -> Outcome:
    return cast.command(who, KEY, "set-category", on=on, category="damage", id_=f"c-{number}")


def test_a_message_before_every_try_ends_with_a_person_after_the_budget(
    agent: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = []

    for number in (1, 2, 3):
        version = cast.reading(KEY).version
        rivals_before(monkeypatch, (store, "step"), a_message_comes)
        outcomes.append(classify(agent, version, number))

    assert [each.state for each in outcomes] == ["retry", "retry", "escalated"]
    assert [each.answer["attempts_left"] for each in outcomes] == [2, 1, 0]
    assert outcomes[-1].answer["rule"]["name"] == "budget-exhausted"
    assert Escalation.objects.filter(state="open", principal=agent.actor).count() == 1


def test_losers_touch_nothing_of_a_hot_record(agent: Principal) -> None:
    a_message_comes()
    before = cast.reading(KEY)

    classify(agent, 1, 1)
    classify(agent, 1, 2)

    assert cast.reading(KEY) == before
    assert Conflict.objects.filter(disposition="retry").count() == 2
    assert LedgerEntry.objects.filter(actor=agent.actor).count() == 0


def test_two_conflicts_of_one_intent_at_once_are_both_counted(
    agent: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_message_comes()
    first, second = Actor("first", lambda: classify(agent, 1, 1)), Actor("second", lambda: classify(agent, 1, 2))

    with stopped_after(monkeypatch, (store, "count_conflict"), first) as gate:
        first.start()
        gate.wait_until_reached()
        second.start()
        wait_until_blocked(second, by=first)

    assert [each.result().answer["attempts"] for each in (first, second)] == [1, 2]
