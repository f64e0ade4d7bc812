"""The commit was done and its answer lost: whoever asks again learns the outcome, and nothing happens twice."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from runs.actions import apply_command
from runs.cases import get_command
from runs.errors import Unavailable
from runs.models import LedgerEntry
from runs.outcomes import Outcome
from runs.transactions import COMMIT_UNKNOWN, TRIES
from runs.values import CommandRequest, Principal
from tests import cast
from tests.races.proxy import LossyLine
from tests.sync import run_apart

KEY = "R-42"


@pytest.fixture
def agent() -> Principal:
    cast.run_received(KEY)
    return cast.agent().principal


@pytest.fixture
def line(agent: Principal) -> Iterator[LossyLine]:
    """The line over which this process talks to the database from here on."""
    server = connection.settings_dict["HOST"]
    with tempfile.TemporaryDirectory() as folder:
        line = LossyLine(Path(folder), Path(server))
        connection.close()
        connection.settings_dict["HOST"] = folder
        yield line
        connection.close()
        connection.settings_dict["HOST"] = server
        line.close()


def assign(who: Principal) -> Outcome:
    return apply_command(who, KEY, 1, CommandRequest("c-1", "assign", {"assigned_owner": "mara"}, "she knows them"))


def entries() -> list[str]:
    return list(LedgerEntry.objects.filter(run__key=KEY).order_by("seq").values_list("kind", flat=True))


def test_a_command_whose_answer_never_reached_its_caller_is_told_by_its_id(agent: Principal) -> None:
    """Case 11: lost answer."""
    run_apart(lambda: assign(agent))  # whoever sent it died before it read the answer

    told = get_command(cast.reading(KEY).id, agent.actor, "c-1")
    again = assign(agent)

    assert (told.state, again.state, again.is_replay) == ("committed", "committed", True)
    assert entries() == ["run.created", "command.committed"]


def test_a_commit_whose_reply_is_lost_is_looked_up_and_answered(agent: Principal, line: LossyLine) -> None:
    line.lose_replies_to_commits()

    outcome = assign(agent)

    assert line.lost_count == 1
    assert (outcome.state, outcome.is_replay, outcome.answer["version"]) == ("committed", True, 2)
    assert entries() == ["run.created", "command.committed"]


def test_when_every_reply_is_lost_the_answer_says_that_nobody_knows(agent: Principal, line: LossyLine) -> None:
    line.lose_replies_to_commits(TRIES)

    with pytest.raises(Unavailable) as refusal:
        assign(agent)

    assert refusal.value.detail == COMMIT_UNKNOWN
    assert assign(agent).is_replay
    assert entries() == ["run.created", "command.committed"]
