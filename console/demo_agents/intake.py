"""The intake webhook: what customers and colleagues send in, and what they withdraw.

Keeps the demo within bounds: at most so many runs are open at a time, and what nobody has finished after a
while is withdrawn.
"""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from random import Random
from typing import Any

from console.demo_agents.desk import Answer, Desk, DeskClosed
from console.demo_agents.pace import Pace
from console.demo_agents.stories import FOLLOW_UPS, Story, Topic, stories, topics

JSON = Any

#: At most so many runs are open, by workflow.
MOST_OPEN = {"refund": 14, "report": 4}
#: What is open longer than this is withdrawn, in the demo's seconds.
LONGEST_OPEN_SECONDS = 25 * 60
#: A case with so many messages gets no more.
MOST_MESSAGES = 6

FIRST_CASES = 7
CASE_EVERY_SECONDS, CASE_SLOWLY_SECONDS = 5, 60
REPORT_EVERY_SECONDS = 150
FOLLOW_UP_EVERY_SECONDS = 25
TIDY_EVERY_SECONDS = 20

STATUSES = ("received", "working", "ready_for_review")
REASONS = {"refund": "The customer withdrew the request.", "report": "The report is no longer needed."}
PREFIXES = {"refund": "R", "report": "Q"}


@dataclass
class Intake:
    """What comes in from outside, by its own timetable."""

    desk: Desk
    pace: Pace
    chance: Random = field(default_factory=Random)
    timetable: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    cases: int = 0

    def work(self) -> None:
        """Send in what is due until told to stop."""
        self._stories, self._topics = stories(self.chance), topics()
        self._plan(0, self._case)
        self._plan(0, self._report)
        self._plan(FOLLOW_UP_EVERY_SECONDS, self._follow_up)
        self._plan(TIDY_EVERY_SECONDS, self._tidy)
        while True:
            try:
                self._do_what_is_due()
            except DeskClosed as closed:
                self.pace.say(f"intake: the desk is closed ({closed})")
            self.pace.wait(0.5)

    def _plan(self, seconds: float, what: Callable[[], None]) -> None:
        self.timetable.append((self.pace.in_(seconds), what))

    def _do_what_is_due(self) -> None:
        now = self.pace.now()
        due = [entry for entry in self.timetable if entry[0] <= now]
        self.timetable = [entry for entry in self.timetable if entry[0] > now]
        for _, what in sorted(due, key=lambda entry: entry[0]):
            what()

    # ---- what comes in ---------------------------------------------------------------------------------------

    def _case(self) -> None:
        """A customer writes; later messages and notes follow by themselves."""
        self.cases += 1
        self._plan(CASE_EVERY_SECONDS if self.cases < FIRST_CASES else CASE_SLOWLY_SECONDS, self._case)
        if len(self._open("refund")) >= MOST_OPEN["refund"]:
            return
        story: Story = next(self._stories)
        message = {"id": "m1", "from": "customer", "text": story.opening}
        key = self._create("refund", {"recipient": story.customer, "messages": [message]}, "A customer wrote.")
        if key is None:
            return
        for number, (seconds, text) in enumerate(story.later, start=2):
            self._plan(seconds, partial(self._message, key, f"story-{number}", text))
        if story.note:
            self._plan(3, partial(self._note, key, story.note))

    def _report(self) -> None:
        """Somebody wants a report, and may find out later for whom."""
        self._plan(REPORT_EVERY_SECONDS, self._report)
        if len(self._open("report")) >= MOST_OPEN["report"]:
            return
        topic: Topic = next(self._topics)
        fields = {"question": topic.question, "audience": topic.audience}
        key = self._create("report", fields, "The weekly round asked for it.")
        if key is not None and topic.changed_audience:
            self._plan(9, partial(self._audience, key, topic.changed_audience))

    def _create(self, workflow: str, fields: Mapping[str, JSON], reason: str) -> str | None:
        """A new run under the next free key; None where it was refused."""
        number = self._next_number(PREFIXES[workflow])
        while True:
            key = f"{PREFIXES[workflow]}-{number}"
            body = {"id": f"new-{key}", "workflow": workflow, "key": key, "fields": fields, "reason": reason}
            answer = self.desk.post("/runs/", body)
            if answer.code == "run-exists":
                number += 1
                continue
            self._say(key, "created", answer)
            return key if answer.is_done else None

    def _next_number(self, prefix: str) -> int:
        rows = self.desk.get("/runs/", q=f"{prefix}-", limit="1").body.get("items", [])
        last = rows[0]["key"].removeprefix(f"{prefix}-") if rows else ""
        return int(last) + 1 if last.isdecimal() else 1001

    def _message(self, key: str, id: str, text: str) -> None:
        message = {"id": id, "from": "customer", "text": text}
        self._command(key, "add-message", {"message": message}, "The customer wrote again.")

    def _note(self, key: str, text: str) -> None:
        self._command(key, "add-note", {"note": {"id": "shop", "text": text}}, "From the shop's records.")
        self._command(key, "record-contact", {}, "An automatic answer went out.")

    def _audience(self, key: str, audience: str) -> None:
        self._command(key, "set-audience", {"audience": audience}, "The round changed its mind.")

    def _follow_up(self) -> None:
        """Somebody asks how it is going."""
        self._plan(FOLLOW_UP_EVERY_SECONDS, self._follow_up)
        rows = self._open("refund")
        if not rows:
            return
        run = self.desk.get(f"/runs/{self.chance.choice(rows)['key']}/").body
        messages = run["fields"]["messages"]
        if run["fields"]["case_state"] == "open" and len(messages) < MOST_MESSAGES:
            self._message(run["key"], f"m{len(messages) + 1}", self.chance.choice(FOLLOW_UPS))

    # ---- bounds ----------------------------------------------------------------------------------------------

    def _tidy(self) -> None:
        """Withdraw what is open for too long."""
        self._plan(TIDY_EVERY_SECONDS, self._tidy)
        for workflow, reason in REASONS.items():
            for row in self._open(workflow):
                if self._age(row) > LONGEST_OPEN_SECONDS:
                    self._command(row["key"], "cancel", {}, reason)

    def _open(self, workflow: str) -> list[Mapping[str, JSON]]:
        asked = [self.desk.get("/runs/", workflow=workflow, status=status, limit="100") for status in STATUSES]
        return [row for answer in asked for row in answer.body.get("items", [])]

    def _age(self, row: Mapping[str, JSON]) -> float:
        """For how long a run is there, in the demo's seconds."""
        began = datetime.fromisoformat(row["created_at"])
        return (datetime.now(UTC) - began).total_seconds() * self.pace.speed

    # ---- asking ----------------------------------------------------------------------------------------------

    def _command(self, key: str, name: str, params: Mapping[str, JSON], reason: str) -> None:
        """Apply a command on the current version; what becomes stale meanwhile is sent again on the newer one."""
        body = {"id": f"{name}-{uuid.uuid4().hex[:12]}", "name": name, "params": params, "reason": reason}
        for _ in range(3):
            run = self.desk.get(f"/runs/{key}/")
            answer = self.desk.post(f"/runs/{key}/commands/", body, run.tag)
            self._say(key, name, answer)
            if answer.disposition != "retry":
                return

    def _say(self, key: str, what: str, answer: Answer) -> None:
        told = answer.disposition or answer.body.get("outcome") or answer.code or "done"
        self.pace.say(f"intake: {key} {what}: {told}")
