"""The one conditional step, and what is read beside it."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from runs import store
from runs.digest import tagged
from runs.models import Command, Episode, LedgerEntry, Run
from runs.states import RunStatus
from runs.store import Found, Record
from runs.values import Held, NewEntry, RunReading, RunState, UnderReview
from tests import cast

pytestmark = pytest.mark.django_db

KEY = "R-42"
AGENT = "agent:classifier"


@pytest.fixture
def found() -> Found:
    """A new run as one statement reads it."""
    cast.run_received(KEY)
    return store.read(KEY)


def run_of(found: Found) -> RunReading:
    assert found.run is not None
    return found.run


def entry(version: int, *touched: str, kind: str = "command.committed") -> NewEntry:
    return NewEntry(kind, AGENT, "c-1", {"changes": dict.fromkeys(touched)}, version, touched)


def record(state: str = "committed") -> Record:
    return Record(AGENT, "c-1", "add-tag", "ab" * 32, state, {"id": "c-1", "note": "“é”"})


def tagged_vip(run: RunReading) -> RunReading:
    """The run one version further, with a tag."""
    fields = {**run.state.fields, "tags": ["vip"]}
    return replace(run, version=run.version + 1, state=replace(run.state, fields=fields))


def everything() -> list[Any]:
    return [list(model.objects.order_by("pk").values()) for model in (Run, LedgerEntry, Command)]


# ---- the step ------------------------------------------------------------------------------------------------


def test_a_step_writes_run_entry_and_record_together(found: Found) -> None:
    before = run_of(found)

    assert store.step(before, tagged_vip(before), [entry(2, "tags")], record(), found.now)

    after = store.read(KEY, AGENT, "c-1")
    assert (run_of(after).version, run_of(after).state.fields["tags"]) == (2, ["vip"])
    assert after.recorded is not None
    assert (after.recorded.state, after.recorded.at) == ("committed", found.now)
    told = LedgerEntry.objects.get(seq=2)
    assert (told.version, told.kind, told.actor, told.command_id, told.touched, told.at) == (
        2, "command.committed", AGENT, "c-1", ["tags"], found.now,
    )  # fmt: skip
    assert (run_of(after).head_seq, run_of(after).head_hash) == (2, told.hash)
    assert told.prev_hash == before.head_hash
    assert told.body_sha256 == tagged(bytes(told.body or b""))


@pytest.mark.parametrize(("version", "head"), [(7, 1), (1, 7)])
def test_a_step_from_what_the_run_no_longer_is_writes_nothing(found: Found, version: int, head: int) -> None:
    before = replace(run_of(found), version=version, head_seq=head)
    stored = everything()

    assert not store.step(before, tagged_vip(before), [entry(2, "tags")], record(), found.now)
    assert everything() == stored


def test_an_entry_without_a_version_moves_the_head_alone_and_outdates_older_readings(found: Found) -> None:
    before = run_of(found)

    assert store.step(before, before, [entry(1, kind="command.rejected")], None, found.now)

    assert (cast.reading(KEY).version, cast.reading(KEY).head_seq) == (1, 2)
    assert not store.step(before, tagged_vip(before), [entry(2, "tags")], None, found.now)


def test_several_entries_of_one_step_are_chained_in_their_order(found: Found) -> None:
    before = run_of(found)
    kinds = ["command.committed", "escalation.superseded", "escalation.resolved"]

    store.step(before, tagged_vip(before), [entry(2, "tags", kind=kind) for kind in kinds], record(), found.now)

    told = list(LedgerEntry.objects.order_by("seq"))
    assert [each.kind for each in told[1:]] == kinds
    assert [each.prev_hash for each in told[1:]] == [each.hash for each in told[:-1]]
    assert Command.objects.get(command_id="c-1").seq == 4


def test_two_bodies_alike_are_salted_apart(found: Found) -> None:
    run = run_of(found)

    store.step(run, run, [entry(1, kind="command.rejected"), entry(1, kind="command.rejected")], None, found.now)

    assert len(set(LedgerEntry.objects.filter(seq__gt=1).values_list("body_sha256", flat=True))) == 2


def test_everything_of_a_run_is_read_back_as_it_was_written(found: Found) -> None:
    before = run_of(found)
    after = replace(
        tagged_vip(before),
        input_version=2,
        state=RunState(
            RunStatus.READY_FOR_REVIEW, {"tags": ["é", "\u2028"], "nested": {"b": 1, "a": [None, 1.5]}}, "s"
        ),
        under_review=UnderReview("until_changed", frozenset({"refund_amount", "currency"})),
        held=(Held("es-1", AGENT, "classify", {"category": None, "tags": ('"vip"',)}),),
        candidate_count=3,
        effect="R-42:pay:v1",
        updated_at=found.now,
        cycle_started_at=found.now,
    )

    store.step(before, after, [entry(2, "status")], None, found.now)

    read = cast.reading(KEY)
    assert read == replace(after, head_seq=read.head_seq, head_hash=read.head_hash)
    assert store.read_by_id(before.id) == read


# ---- creation ------------------------------------------------------------------------------------------------


def test_a_key_is_given_once(found: Found) -> None:
    first = NewEntry("run.created", "user:cy", "new-2", {"fields": {}, "given": []}, 1)
    stored = everything()

    assert not store.insert_run(KEY, "refund", 1, {}, first, "ab" * 32, found.now)
    assert everything() == stored


def test_what_was_given_at_creation_is_told_from_the_first_entry() -> None:
    run = cast.run_received(KEY, recipient="Ana Lima")

    assert store.fields_given_at_creation(run.id) == {"recipient": "Ana Lima"}


# ---- records -------------------------------------------------------------------------------------------------


def test_an_id_nobody_used_stands_for_nothing(found: Found) -> None:
    assert found.recorded is None
    assert store.read("no such run").run is None


def test_a_record_alone_touches_nothing_of_the_run(found: Found) -> None:
    store.record_only(run_of(found).id, record("unchanged"), found.now)

    after = store.read(KEY, AGENT, "c-1")
    assert after.run == found.run
    assert after.recorded is not None
    assert (after.recorded.name, after.recorded.state) == ("add-tag", "unchanged")


def test_only_what_waits_can_be_resolved(found: Found) -> None:
    store.record_only(run_of(found).id, record("unchanged"), found.now)

    store.resolve_command(run_of(found).id, AGENT, "c-1", "committed", {"verb": "apply"})

    recorded = store.read(KEY, AGENT, "c-1").recorded
    assert recorded is not None
    assert (recorded.state, recorded.resolution) == ("unchanged", None)


# ---- what happened between -----------------------------------------------------------------------------------


def test_entries_between_are_those_that_changed_something_after_the_base() -> None:
    agent = cast.agent().principal
    cast.run_working(KEY)
    cast.command(agent, KEY, "set-category", on=1, category="billing")  # rejected: an entry and no change
    cast.command(agent, KEY, "add-tag", tag="vip")

    between = store.entries_between(cast.reading(KEY), 1)

    assert between is not None
    assert [(each.version, sorted(each.changes)) for each in between] == [(2, ["category", "status"]), (3, ["tags"])]
    assert store.entries_between(cast.reading(KEY), 3) == ()


def test_what_was_erased_cannot_be_compared_any_more() -> None:
    cast.run_working(KEY)
    cast.command(cast.ada(), KEY, "cancel")
    LedgerEntry.objects.filter(seq=2).update(body=None)

    assert store.entries_between(cast.reading(KEY), 1) is None
    assert store.entries_between(cast.reading(KEY), 2) is not None


# ---- counting conflicts --------------------------------------------------------------------------------------


def count(found: Found, hours: float = 0) -> tuple[int, float]:
    """Count one conflict `hours` from now; how many there are, and hours since the first."""
    now = found.now + timedelta(hours=hours)
    episode = store.count_conflict(run_of(found).id, AGENT, "classify", now)
    assert episode.first_at is not None
    return episode.counted, (now - episode.first_at).total_seconds() / 3600


def test_conflicts_of_one_intent_are_counted_from_the_first(found: Found) -> None:
    assert [count(found, hours) for hours in (0, 1, 2)] == [(1, 0), (2, 1), (3, 2)]


def test_a_day_without_a_conflict_begins_a_new_episode(found: Found) -> None:
    count(found)

    assert [count(found, hours) for hours in (23, 46.9, 70.9)] == [(2, 23), (3, 46.9), (1, 0)]


def test_an_ended_episode_counts_anew(found: Found) -> None:
    count(found), count(found)

    store.end_episode(run_of(found).id, AGENT, "classify")

    assert count(found, 1) == (1, 0)


def test_what_was_counted_for_nothing_is_taken_back(found: Found) -> None:
    count(found), count(found)

    store.uncount_conflict(run_of(found).id, AGENT, "classify")

    assert Episode.objects.get().counted == 1


def test_a_read_sees_the_episode_of_the_intent_alone(found: Found) -> None:
    count(found)

    assert store.read(KEY, AGENT, "c-1", "classify").episode.counted == 1
    assert store.read(KEY, AGENT, "c-1", "another").episode.counted == 0
    assert store.read(KEY, "agent:other", "c-1", "classify").episode.counted == 0


def test_an_episode_that_is_over_is_not_read(found: Found) -> None:
    count(found, -25)

    assert store.read(KEY, AGENT, "c-1", "classify").episode.counted == 0
