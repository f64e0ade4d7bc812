"""Agents that hurry: they work on few runs at once, on old versions, twice, and hang up before the answer comes."""

import http.client
import json
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.stress.history import Call

JSON = Any

#: Every second command goes to one of these few runs.
HOT_RUNS = 5
CALLS_AT_LEAST = 12
CATEGORIES = ("billing", "damage", "delay", "other")


@dataclass(frozen=True, slots=True)
class Command:
    """A command as it is sent, however often."""

    run: str
    tag: str
    body: Mapping[str, JSON]


class HurriedAgent:
    """One agent in a thread of its own, with a log of everything it asked and heard."""

    def __init__(self, name: str, token: str, port: int, runs: Sequence[str], seed: int) -> None:
        self.actor = f"agent:{name}"
        self.calls: list[Call] = []
        self._lost: list[Command] = []
        self._runs = runs
        self._tags: dict[str, str] = {}
        self._random = Random(f"{name} {seed}")
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._port = port

    def work(self, until: float) -> None:
        """Send commands until the clock shows `until`, and some anyhow, however slow the machine is."""
        while time.monotonic() < until or len(self.calls) < CALLS_AT_LEAST:
            run = self._choose_run()
            if run not in self._tags or self._random.random() < 0.3:
                self._read(run)
            command = Command(run, self._tags[run], self._think(len(self.calls)))
            if self._random.random() < 0.05:
                self._send_and_hang_up(command)
            else:
                self._send(command)
            if self._random.random() < 0.05:
                self._send(command)

    def ask_what_became(self) -> None:
        """Learn what became of everything whose answer was lost: ask, send again, ask."""
        for command in self._lost:
            self._ask(command)
            self._send(command)
            self._ask(command)

    # ---- what it wants ---------------------------------------------------------------------------------------

    def _choose_run(self) -> str:
        runs = self._runs[:HOT_RUNS] if self._random.random() < 0.5 else self._runs
        return self._random.choice(runs)

    def _think(self, number: int) -> Mapping[str, JSON]:
        name, params = self._random.choice(
            [
                ("add-tag", {"tag": f"t{self._random.randrange(20)}"}),
                ("remove-tag", {"tag": f"t{self._random.randrange(20)}"}),
                ("add-note", {"note": {"id": f"{self.actor} {number}", "text": "seen"}}),
                ("record-contact", {}),
                ("set-category", {"category": self._random.choice(CATEGORIES)}),
                ("assign", {"assigned_owner": f"{self.actor} {number}"}),
            ]
        )
        return {"id": f"c-{number}", "name": name, "params": params, "reason": "It is so."}

    # ---- how it asks -----------------------------------------------------------------------------------------

    def _read(self, run: str) -> None:
        call = Call(self.actor, run, time.monotonic())
        self._exchange(call, "GET", f"/api/v1/runs/{run}/")

    def _ask(self, command: Command) -> None:
        call = Call(self.actor, command.run, time.monotonic(), command.body["id"], asks=True)
        self._exchange(call, "GET", f"/api/v1/runs/{command.run}/commands/{command.body['id']}/")

    def _send(self, command: Command) -> None:
        call = Call(self.actor, command.run, time.monotonic(), command.body["id"])
        self._exchange(call, "POST", f"/api/v1/runs/{command.run}/commands/", command)

    def _send_and_hang_up(self, command: Command) -> None:
        """Send a command and never hear the answer."""
        self.calls.append(Call(self.actor, command.run, time.monotonic(), command.body["id"]))
        self._lost.append(command)
        self._request("POST", f"/api/v1/runs/{command.run}/commands/", command).close()

    def _exchange(self, call: Call, method: str, path: str, command: Command | None = None) -> None:
        self.calls.append(call)
        with closing(self._request(method, path, command)) as connection:
            answer = connection.getresponse()
            body = json.loads(answer.read() or b"{}")
        call.answered, call.status = time.monotonic(), answer.status
        replayed = answer.headers.get("Idempotent-Replayed") == "true"
        call.body = {**body, "replayed": True} if replayed else body
        if tag := answer.headers.get("ETag") or body.get("current_etag"):
            self._tags[call.run] = tag

    def _request(self, method: str, path: str, command: Command | None) -> http.client.HTTPConnection:
        """Send a request on a connection of its own, and do not wait."""
        headers = self._headers if command is None else {**self._headers, "If-Match": command.tag}
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        connection.request(method, path, json.dumps(command.body) if command else None, headers)
        return connection


def let_loose(agents: Sequence[HurriedAgent], seconds: float) -> None:
    """Let all agents work at once for a while. Raises what one of them raised."""
    failures: list[BaseException] = []
    until = time.monotonic() + seconds

    def work(agent: HurriedAgent) -> None:
        try:
            agent.work(until)
        except BaseException as failure:  # told by the thread that waits
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(agent,), name=agent.actor) for agent in agents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
