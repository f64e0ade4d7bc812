"""Answers that wait: until there is something to say, no longer than asked, no more at once than there are places."""

import time
from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any

import psycopg
import pytest
from django.db import connection

from console.api.waiting import PLACE_LOCK, PLACES, read_wait, wait_for
from runs.errors import Malformed
from runs.escalations import ResolutionRequest, resolve
from runs.models import Escalation
from runs.refusals import escalation_ref
from runs.verbs import Verb
from tests import cast
from tests.console.api.caller import Response, as_agent, told

pytestmark = pytest.mark.django_db(transaction=True)

_WAITING = """
SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database AND d.datname = current_database()
WHERE l.locktype = 'advisory' AND l.classid = %s AND l.granted
"""


def places_taken(observer: psycopg.Connection) -> int:
    row = observer.execute(_WAITING, [PLACE_LOCK]).fetchone()
    assert row is not None
    return int(row[0])


class Waiter:
    """A request that waits in a thread of its own, seen to have taken its place."""

    def __init__(self, ask: Callable[[], Response], observer: psycopg.Connection) -> None:
        self._answers: list[Response] = []
        self._thread = Thread(target=self._run, args=[ask])
        self._thread.start()
        deadline = time.monotonic() + 10
        while places_taken(observer) == 0:
            assert time.monotonic() < deadline, "the request never took a place"

    def _run(self, ask: Callable[[], Response]) -> None:
        try:
            self._answers.append(ask())
        finally:
            connection.close()

    def answer(self) -> Response:
        self._thread.join(15)
        (found,) = self._answers
        return found


@pytest.fixture
def bot() -> cast.Agent:
    """An agent whose command c-stale on R-42 waits for an operator."""
    agent = cast.agent()
    cast.run_with_open_case(who=agent.principal)
    return agent


@pytest.fixture
def taken(app_dsn: str) -> Iterator[None]:
    """All places are taken by others."""
    with psycopg.connect(app_dsn, autocommit=True) as other:
        for number in range(PLACES):
            other.execute("SELECT pg_advisory_lock(%s, %s)", [PLACE_LOCK, number])
        yield


def settle() -> None:
    mara = cast.person_operating("mara")
    ref = escalation_ref(Escalation.objects.get().pk)
    resolve(mara, ref, ResolutionRequest("r-1", Verb.KEEP, "Billing is right.", 2, 1))


def test_asking_for_an_escalated_command_is_answered_when_it_is_settled(
    bot: cast.Agent, app_connection: psycopg.Connection
) -> None:
    waiter = Waiter(lambda: as_agent(bot).get("/runs/R-42/commands/c-stale/", {"wait": "20"}), app_connection)

    settle()

    body = told(waiter.answer())
    assert (body["state"], body["resolution"]["verb"]) == ("rejected", "keep")
    assert places_taken(app_connection) == 0


def test_asking_for_a_case_is_answered_when_it_is_settled(bot: cast.Agent, app_connection: psycopg.Connection) -> None:
    ref = escalation_ref(Escalation.objects.get().pk)
    waiter = Waiter(lambda: as_agent(bot).get(f"/escalations/{ref}/", {"wait": "20"}), app_connection)

    settle()

    body = told(waiter.answer())
    assert (body["state"], body["resolution"]["verb"]) == ("settled", "keep")
    assert places_taken(app_connection) == 0


@pytest.mark.usefixtures("taken")
@pytest.mark.parametrize("case", [False, True])
def test_without_a_place_the_answer_comes_at_once_and_says_when_to_ask_again(bot: cast.Agent, case: bool) -> None:
    ref = escalation_ref(Escalation.objects.get().pk)
    path = f"/escalations/{ref}/" if case else "/runs/R-42/commands/c-stale/"

    response = as_agent(bot).get(path, {"wait": "20"})

    assert told(response)["state"] == ("open" if case else "escalated")
    assert int(response.headers["Retry-After"]) >= 1


def test_what_is_settled_already_waits_for_nothing_and_takes_no_place(bot: cast.Agent, taken: None) -> None:
    settle()

    response = as_agent(bot).get("/runs/R-42/commands/c-stale/", {"wait": "20"})

    assert told(response)["state"] == "rejected"
    assert "Retry-After" not in response.headers


def test_a_wait_ends_after_the_seconds_asked_for(app_connection: psycopg.Connection) -> None:
    looks: list[int] = []

    waited = wait_for(lambda: looks.append(places_taken(app_connection)), lambda _: False, seconds=1)

    assert not waited.is_turned_away
    assert looks[0] == 0 and set(looks[1:]) == {1}
    assert places_taken(app_connection) == 0


def test_a_place_is_given_back_when_looking_fails(app_connection: psycopg.Connection) -> None:
    answers: Iterator[Any] = iter([False])

    with pytest.raises(StopIteration):
        wait_for(lambda: next(answers), bool, seconds=20)

    assert places_taken(app_connection) == 0


@pytest.mark.parametrize(("text", "seconds"), [(None, 0), ("0", 0), ("7", 7), ("20", 20), ("21", 20), ("9" * 500, 20)])
def test_a_wait_is_at_most_twenty_seconds(text: str | None, seconds: int) -> None:
    assert read_wait(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-1", "1.5", "1e3", "２"])
def test_what_is_no_number_of_seconds_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        read_wait(text)
