"""Thirty-two hurried agents on two hundred runs of a real server: nothing is lost, and everybody was told the truth."""

import os
import time
from collections import Counter
from pathlib import Path

import psycopg
import pytest

from runs.models import LedgerEntry
from runs.verify import INVARIANTS
from runs.verify.checks import frozen_view
from tests import cast
from tests.processes import wait_until
from tests.stress.agents import HurriedAgent, let_loose
from tests.stress.history import Entry, History
from tests.stress.server import Server

#: How long the agents work. Longer finds more.
SECONDS = float(os.environ.get("STRESS_SECONDS", "5"))
SEED = int(os.environ.get("STRESS_SEED", time.time_ns()))
AGENTS, RUNS = 32, 200

pytestmark = [pytest.mark.stress, pytest.mark.timeout(SECONDS * 3 + 120)]


def test_nothing_is_lost_and_everybody_was_told_the_truth(
    as_application: None, process_environment: dict[str, str], owner_dsn: str, tmp_path: Path
) -> None:
    runs = [cast.run_received(f"R-{number}").key for number in range(RUNS)]
    tokens = {f"agent-{number}": cast.agent(f"agent-{number}").token for number in range(AGENTS)}

    with Server(process_environment, tmp_path / "server.log") as server:
        agents = [HurriedAgent(name, token, server.port, runs, SEED) for name, token in tokens.items()]
        let_loose(agents, SECONDS)
        wait_until(lambda: is_idle(owner_dsn), "the server doing nothing")
        for agent in agents:
            agent.ask_what_became()

    calls = [call for agent in agents for call in agent.calls]
    outcomes = Counter(call.outcome or str(call.status) for call in calls)
    print(f"seed {SEED}: {len(calls)} calls, {dict(outcomes)}")
    assert not list(History(calls, read_entries()).faults()), f"seed {SEED}; the server said {tmp_path}/server.log"
    assert not violations(), f"seed {SEED}"
    assert {"committed", "merged"} <= outcomes.keys() and outcomes.keys() & {"retry", "rejected", "escalated"}


def is_idle(dsn: str) -> bool:
    """Whether no transaction of the application is open."""
    with psycopg.connect(dsn, autocommit=True) as watcher:
        busy = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'clearance' AND xact_start IS NOT NULL"
        return watcher.execute(busy).fetchone() == (0,)


def read_entries() -> list[Entry]:
    columns = ("run__key", "seq", "version", "kind", "actor", "command_id")
    return [Entry(*row) for row in LedgerEntry.objects.order_by("run", "seq").values_list(*columns)]


def violations() -> list[str]:
    with frozen_view():
        return [str(violation) for check in INVARIANTS for violation in check.find(Counter())]
