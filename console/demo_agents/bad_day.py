"""A bad day at the provider, and a scripted reviewer who lets a report out into it.

Two things that agents cannot bring about by themselves and that everybody should have seen: a payment that the
provider told to wait, and a report of which nobody knows whether it arrived. The second stays until a person
finds out.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from console.demo_agents.desk import Desk, DeskClosed
from console.demo_agents.pace import Pace

JSON = Any

REPORTS = "customer-reports"
#: Reports that are let out at most: the others wait for whoever looks at the demo.
MOST_REPORTS = 2
#: What the provider tells the first payment to wait.
WAIT_SECONDS = 30
LOOK_EVERY_SECONDS = 2.0
TIMEOUT_SECONDS = 5

ON_THE_WAY = frozenset({"pending", "dispatching"})
UNKNOWN = "needs_reconciliation"


@dataclass
class BadDay:
    """The reviewer at the desk, and the control of the sandbox provider at the address `provider`."""

    name: str
    desk: Desk
    pace: Pace
    provider: str

    def work(self) -> None:
        """Let the provider be busy once, and let reports out until the answer to one was lost."""
        while True:
            try:
                self._go_on()
            except (DeskClosed, httpx.HTTPError) as closed:
                self.pace.say(f"{self.name}: nobody answers ({closed})")
            self.pace.wait(LOOK_EVERY_SECONDS)

    def _go_on(self) -> None:
        if not self._has_been_asked():
            self._misbehave(mode="throttle", retry_after=WAIT_SECONDS)
            return
        states = [row["state"] for row in self.desk.get("/effects/", destination=REPORTS).body.get("items", ())]
        if UNKNOWN in states or len(states) >= MOST_REPORTS or not ON_THE_WAY.isdisjoint(states):
            return
        rows = self.desk.get("/runs/", workflow="report", status="ready_for_review", limit="1").body.get("items", ())
        if rows:
            self._approve(self.desk.get(f"/runs/{rows[0]['key']}/").body)

    def _approve(self, run: Mapping[str, JSON]) -> None:
        """Approve what is under review, and let the answer to what goes out by it be lost."""
        snapshot = run.get("active_snapshot")
        shown = self.desk.get(f"/snapshots/{snapshot}/").body
        if shown.get("state") != "active" or shown["approvals_active"] >= shown["approvals_needed"]:
            return
        decision = {
            "id": f"approve-{uuid.uuid4().hex[:12]}",
            "verdict": "approve",
            "manifest_sha256": shown["manifest_sha256"],
            "run_version": run["version"],
            "authority_epoch": shown["authority_epoch"],
            "reason": "Read in full; the figures fit the research.",
        }
        self._misbehave(mode="apply-then-drop")
        answer = self.desk.post(f"/snapshots/{snapshot}/decisions/", decision)
        self.pace.say(f"{self.name}: {snapshot} approve: {answer.code or 'done'}")

    def _has_been_asked(self) -> bool:
        """Whether anything was ever delivered to the provider."""
        answer = httpx.get(f"{self.provider}/ledger", timeout=TIMEOUT_SECONDS).raise_for_status()
        return bool(answer.json()["requests"])

    def _misbehave(self, **how: JSON) -> None:
        """Let the next delivery meet a fault, whichever it is: what meets the wrong one recovers by itself."""
        httpx.post(f"{self.provider}/control", json={**how, "count": 1}, timeout=TIMEOUT_SECONDS).raise_for_status()
