"""A lock that is not to be had, a deadlock, a lost connection: all is written or nothing, and it is said which."""

import psycopg
import pytest
from django.db import connection

from runs import actions, store
from runs.errors import Unavailable
from runs.locks import hold_run
from runs.models import Command, LedgerEntry
from runs.outcomes import Outcome
from runs.transactions import durable, execute
from runs.values import Principal
from tests import cast
from tests.sync import Actor, Gate, stopped_after, wait_until_blocked

KEY = "R-42"


@pytest.fixture
def agents() -> tuple[Principal, Principal]:
    cast.run_received(KEY)
    return cast.agent("first").principal, cast.agent("second").principal


def add_tag(who: Principal) -> Outcome:
    return cast.command(who, KEY, "add-tag", on=1, tag=who.name, id_="c-1")


def impatient(who: Principal) -> Outcome:
    execute("SET lock_timeout = '50ms'")
    return add_tag(who)


def test_a_command_that_does_not_get_the_run_in_time_writes_nothing_and_leaves_its_id_free(
    agents: tuple[Principal, Principal], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case 15: lock not to be had."""
    first, second = agents
    holder, late = Actor("holder", lambda: add_tag(first)), Actor("late", lambda: impatient(second))

    with stopped_after(monkeypatch, (store, "step"), holder) as gate:
        holder.start()
        gate.wait_until_reached()
        refusal = late.start().error()
        written = Command.objects.filter(principal=second.actor).count()

    assert isinstance(refusal, Unavailable)
    assert (written, holder.result().state) == (0, "committed")
    assert add_tag(second).state == "merged"


def test_a_deadlock_is_tried_again_whole_and_both_get_through() -> None:
    cast.run_received("R-1")
    cast.run_received("R-2")
    tries: list[str] = []
    gates = {"R-1": Gate(), "R-2": Gate()}

    @durable
    def lock_both(first: str, second: str) -> str:
        tries.append(first)
        hold_run(first)
        gates[first].stop_here()
        hold_run(second)
        return first

    forth, back = Actor("forth", lambda: lock_both("R-1", "R-2")), Actor("back", lambda: lock_both("R-2", "R-1"))
    for actor, key in ((forth, "R-1"), (back, "R-2")):
        actor.start()
        gates[key].wait_until_reached()
    gates["R-1"].open()
    wait_until_blocked(forth, by=back)
    gates["R-2"].open()

    assert (forth.result(), back.result()) == ("R-1", "R-2")
    assert len(tries) > 2  # one of them came again, and may have met the other once more before it got through


def lose_connection(
    monkeypatch: pytest.MonkeyPatch, seam: tuple[object, str], who: Principal, killer: psycopg.Connection
) -> Actor[Outcome]:
    """Send a command whose connection dies just after it passed `seam`."""
    victim = Actor("victim", lambda: add_tag(who))
    with stopped_after(monkeypatch, seam, victim) as gate:
        victim.start()
        gate.wait_until_reached()
        killer.execute("SELECT pg_terminate_backend(%s, 5000)", [victim.pid])
    return victim


def test_a_connection_lost_under_way_leaves_no_trace(
    agents: tuple[Principal, Principal], monkeypatch: pytest.MonkeyPatch, app_connection: psycopg.Connection
) -> None:
    first, _ = agents

    victim = lose_connection(monkeypatch, (actions, "claim_id"), first, app_connection)

    assert isinstance(victim.error(), Unavailable)
    assert Command.objects.filter(principal=first.actor).count() == 0
    assert add_tag(first).state == "committed"


def test_a_connection_lost_at_the_commit_itself_is_looked_into_and_the_command_carried_out(
    agents: tuple[Principal, Principal], monkeypatch: pytest.MonkeyPatch, app_connection: psycopg.Connection
) -> None:
    first, _ = agents

    victim = lose_connection(monkeypatch, (store, "step"), first, app_connection)

    assert (victim.result().state, victim.result().is_replay) == ("committed", False)
    assert LedgerEntry.objects.filter(run__key=KEY).count() == 2


def test_a_reader_never_waits_for_a_writer(
    agents: tuple[Principal, Principal], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = agents
    writer = Actor("writer", lambda: add_tag(first))

    with stopped_after(monkeypatch, (store, "step"), writer) as gate:
        writer.start()
        gate.wait_until_reached()
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '50ms'")
        seen = cast.reading(KEY).version

    assert seen == 1
