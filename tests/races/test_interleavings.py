"""Two, three and eight commands computed from one version: whatever becomes of each, nothing is lost."""

import json
from collections.abc import Sequence
from itertools import product
from random import Random
from typing import Any

import pytest

from runs import store
from runs.actions import apply_command
from runs.fields import identity
from runs.models import Episode, LedgerEntry
from runs.outcomes import Outcome
from runs.values import CommandRequest, Principal, RunReading
from runs.verify_chain import verify_chain
from tests import cast
from tests.runs.dispositions import Move, message, move, note
from tests.sync import Actor, rivals_before, stopped_after, wait_until_blocked

JSON = Any

MOVES = {
    "message": move("add-message", message=message("m1")),
    "tag": move("add-tag", tag="urgent"),
    "untag": move("remove-tag", tag="vip"),
    "contact": move("record-contact"),
    "category": move("set-category", category="damage"),
    "amount": move("set-refund-amount", amount="45.00", currency="EUR"),
    "close": move("close-case"),
    "cancel": move("cancel"),
}
SEED = 20260504
KEY = "R-42"


@pytest.fixture
def agents() -> list[Principal]:
    """Three agents that may do everything to refunds."""
    scopes = (*cast.REFUND_SCOPES, "refund:cancel")
    return [cast.agent(name, scopes).principal for name in ("first", "second", "third")]


def new_run(key: str) -> RunReading:
    return cast.run_received(key, tags=["vip"], recipient="Ana Lima")


def do(who: Principal, key: str, asked: Move) -> Outcome:
    """A command computed from version 1."""
    return apply_command(who, key, 1, CommandRequest(f"c-{who.name}", asked.name, asked.params, "It is so."))


# ---- what must hold afterwards ---------------------------------------------------------------------------


def assert_nothing_lost(begun: RunReading, outcomes: Sequence[Outcome]) -> None:
    """The ledger tells every applied change once, in a whole chain, and leads exactly to what the run holds."""
    run = cast.reading(begun.key)
    rows = list(LedgerEntry.objects.filter(run_id=run.id).order_by("seq"))
    told = [(row.version, json.loads(bytes(row.body or b"")).get("changes") or {}) for row in rows]
    done = [outcome.answer for outcome in outcomes if outcome.state in ("committed", "merged")]
    applied = {answer["version"]: answer["changed"] for answer in done}

    assert verify_chain(run).is_sound
    assert {version: changes for version, changes in told if changes} == applied
    assert sorted(answer["version"] for answer in done) == list(range(2, run.version + 1))
    assert meaning(run.state.fields) == meaning(replayed(begun.state.fields, [changes for _, changes in told]))


def replayed(fields: Any, history: Sequence[dict[str, JSON]]) -> dict[str, JSON]:
    """The fields after every change of a history."""
    after = dict(fields)
    for changes in history:
        for name, change in changes.items():
            if name in after:
                after[name] = _changed(after[name], change)
    return after


def _changed(value: JSON, change: dict[str, JSON]) -> JSON:
    if "to" in change:
        return change["to"]
    kept = [item for item in value if item not in change.get("removed", ())]
    return [*kept, *change.get("added", ()), *change.get("appended", ())]


def meaning(fields: Any) -> dict[str, JSON]:
    """Fields without the order of what came at the same time."""
    return {name: sorted(map(identity, value)) if isinstance(value, list) else value for name, value in fields.items()}


# ---- two -------------------------------------------------------------------------------------------------


def in_order(
    monkeypatch: pytest.MonkeyPatch, key: str, ahead: tuple[Principal, Move], *behind: tuple[Principal, Move]
) -> list[Outcome]:
    """One has written and not committed when the others, who read the same version, want to write."""
    first = Actor("ahead", lambda: do(ahead[0], key, ahead[1]))
    others = [_later(f"behind {number}", who, key, asked) for number, (who, asked) in enumerate(behind)]
    with monkeypatch.context() as seams, stopped_after(seams, (store, "step"), first) as gate:
        first.start()
        gate.wait_until_reached()
        for other in others:
            other.start()
            wait_until_blocked(other, by=first if other is others[0] else others[0])
    return [first.result(), *(other.result() for other in others)]


def _later(name: str, who: Principal, key: str, asked: Move) -> Actor[Outcome]:
    return Actor(name, lambda: do(who, key, asked))


def test_of_any_two_commands_in_either_order_nothing_is_lost(
    agents: list[Principal], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, _ = agents
    for ahead, behind in product(MOVES, repeat=2):
        begun = new_run(f"{ahead}-{behind}")

        outcomes = in_order(monkeypatch, begun.key, (first, MOVES[ahead]), (second, MOVES[behind]))

        assert outcomes[0].state == "committed"
        assert outcomes[1].state != "committed"
        assert_nothing_lost(begun, outcomes)


# ---- three -----------------------------------------------------------------------------------------------


def test_of_three_commands_that_queue_for_a_run_nothing_is_lost(
    agents: list[Principal], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = Random(SEED).sample(list(product(MOVES, repeat=3)), 24)
    for number, names in enumerate(chosen):
        begun = new_run(f"R-{number}")
        each = [(who, MOVES[name]) for who, name in zip(agents, names, strict=True)]

        outcomes = in_order(monkeypatch, begun.key, *each)

        assert outcomes[0].state == "committed", names
        assert_nothing_lost(begun, outcomes)


# ---- many ------------------------------------------------------------------------------------------------


def all_at_once(moves: Sequence[Move]) -> list[Outcome]:
    """Each command from version 1, by an agent of its own, all at once."""
    able = [cast.agent(f"agent-{number}").principal for number in range(len(moves))]
    actors = [_later(who.name, who, KEY, asked) for who, asked in zip(able, moves, strict=True)]
    for actor in actors:
        actor.start()
    return [actor.result() for actor in actors]


def test_eight_parallel_increments_all_count() -> None:
    begun = new_run(KEY)

    outcomes = all_at_once([MOVES["contact"]] * 8)

    assert cast.reading(KEY).state.fields["contact_attempts"] == 8
    assert sorted(outcome.state for outcome in outcomes) == ["committed"] + ["merged"] * 7
    assert_nothing_lost(begun, outcomes)


def test_parallel_additions_to_a_set_and_to_a_log_are_all_kept() -> None:
    begun = new_run(KEY)
    moves = [move("add-tag", tag=f"t{number}") for number in range(4)]
    moves += [move("add-note", note=note(f"n{number}")) for number in range(4)]

    outcomes = all_at_once(moves)

    fields = cast.reading(KEY).state.fields
    assert set(fields["tags"]) == {"vip", "t0", "t1", "t2", "t3"}
    assert {item["id"] for item in fields["notes"]} == {"n0", "n1", "n2", "n3"}
    assert_nothing_lost(begun, outcomes)


def test_of_eight_parallel_decisions_one_is_taken_and_none_is_overwritten() -> None:
    begun = new_run(KEY)

    outcomes = all_at_once([move("assign", assigned_owner=f"owner-{number}") for number in range(8)])

    assert sorted(outcome.state for outcome in outcomes) == ["committed"] + ["escalated"] * 7
    assert_nothing_lost(begun, outcomes)


# ---- counting conflicts ----------------------------------------------------------------------------------


def stale(who: Principal, id: str) -> Outcome:
    """A category computed before a message came."""
    return apply_command(who, KEY, 1, CommandRequest(id, "set-category", {"category": "damage"}, "The photos."))


def _stale_at_once(who: Principal, id: str) -> Actor[Outcome]:
    return Actor(id, lambda: stale(who, id))


@pytest.fixture
def bot() -> Principal:
    """An agent, and a refund to which a message came after version 1."""
    new_run(KEY)
    cast.command(cast.ada(), KEY, "add-message", message=message("m1"))
    return cast.agent().principal


def test_parallel_conflicts_of_one_intent_are_each_counted_once(bot: Principal) -> None:
    actors = [_stale_at_once(bot, f"c-{number}") for number in range(5)]

    outcomes = [actor.result() for actor in [actor.start() for actor in actors]]

    assert sorted(outcome.answer["attempts"] for outcome in outcomes) == [1, 2, 3, 4, 5]
    assert sorted(outcome.state for outcome in outcomes) == ["escalated"] * 3 + ["retry"] * 2
    assert Episode.objects.get().counted == 5


def test_a_conflict_judged_twice_because_of_a_rival_is_counted_once(
    bot: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2):
        stale(bot, f"c-{number}")
    rivals_before(monkeypatch, (store, "step"), lambda: cast.command(cast.ada(), KEY, "record-contact"))

    outcome = stale(bot, "c-3")

    answer = outcome.answer
    assert (outcome.state, answer["rule"]["name"], answer["current_version"]) == ("escalated", "budget-exhausted", 3)
    assert (answer["attempts"], answer["attempts_left"], Episode.objects.get().counted) == (3, 0, 3)


def test_a_conflict_that_is_none_any_more_under_the_lock_is_not_counted(
    bot: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2):
        stale(bot, f"c-{number}")
    decide = lambda: cast.command(cast.ada(), KEY, "set-category", category="damage")  # noqa: E731
    rivals_before(monkeypatch, (store, "step"), decide)

    outcome = stale(bot, "c-3")

    assert (outcome.state, outcome.answer["rule"]["name"]) == ("rejected", "already-so")
    assert Episode.objects.get().counted == 2
