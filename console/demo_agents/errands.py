"""How an agent goes about its work: read, think, ask on the version it read, and take every answer for what it is.

Thinking takes time, and meanwhile others write. So a decision is sent with the tag of the version it was made
on, and the answer says what becomes of it:

- committed, merged, unchanged: done.
- `retry`: read again and decide anew, after the time that the answer names.
- `reject`: give up; the record says why.
- `escalate`: an operator decides. Wait for their word and write nothing of this intent meanwhile.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from console.demo_agents.desk import Answer, Desk, DeskClosed
from console.demo_agents.pace import Pace

JSON = Any

#: Statuses in which somebody still works on a run.
OPEN = frozenset({"received", "working", "ready_for_review"})
#: Runs that are looked at in one go: more are never open at a time.
LOOKED_AT = 100
LOOK_EVERY_SECONDS = 1.0
ASK_AGAIN_SECONDS = 3.0
#: What the record does not allow now, it may allow a little later: a case settled as `keep` moves no version.
TRY_LATER_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Run:
    """A run as it was read, with the tag of that version."""

    tag: str
    body: Mapping[str, JSON]

    @property
    def key(self) -> str:
        return str(self.body["key"])

    @property
    def workflow(self) -> str:
        return str(self.body["workflow"])

    @property
    def status(self) -> str:
        return str(self.body["status"])

    @property
    def fields(self) -> Mapping[str, JSON]:
        fields: Mapping[str, JSON] = self.body["fields"]
        return fields


@dataclass(frozen=True, slots=True)
class Proposal:
    """What an agent wants to do about a run, as decided on one reading of it.

    `build` gives the request when the time has come, or None while something is still missing.
    """

    intent: str
    path: str
    build: Callable[[Desk], Mapping[str, JSON] | None]
    think_seconds: float = 0
    names_version: bool = True


def command(name: str, params: Mapping[str, JSON], reason: str, think_seconds: float, **members: JSON) -> Proposal:
    """A proposal to apply one command. `about` tells apart what may be done once each, such as two tags."""
    about = members.pop("about", None)
    body = {"name": name, "params": params, "reason": reason, **members}
    intent = name if about is None else f"{name}:{about}"
    return Proposal(intent, "commands/", lambda desk: body, think_seconds)


@dataclass(slots=True)
class Errand:
    """One intention about one run on its way, from the reading it was decided on to its end."""

    run: Run
    proposal: Proposal
    due: float
    id: str = ""
    sent: Mapping[str, JSON] | None = None
    waits_for_operator: bool = False


@dataclass
class Worker:
    """An agent at work: what it would do about a run is given by `consider`, a function of what it read."""

    name: str
    desk: Desk
    pace: Pace
    consider: Callable[[Run], Iterable[Proposal]]
    on_refusal: Callable[[Run, Proposal, Answer], Iterable[Proposal]] = lambda run, proposal, answer: ()
    errands: dict[tuple[str, str], Errand] = field(default_factory=dict)
    done: set[tuple[str, str]] = field(default_factory=set)
    seen: dict[str, int] = field(default_factory=dict)

    def work(self) -> None:
        """Work until told to stop."""
        while True:
            try:
                self.look()
                self.act()
            except DeskClosed as closed:
                self.pace.say(f"{self.name}: the desk is closed ({closed})")
            self.pace.wait(LOOK_EVERY_SECONDS)

    # ---- noticing --------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Read every open run that moved since the last look, and begin whatever it asks for."""
        rows = self.desk.get("/runs/", limit=str(LOOKED_AT)).body.get("items", [])
        for row in rows:
            if row["status"] in OPEN and self.seen.get(row["key"]) != row["version"]:
                self.seen[row["key"]] = row["version"]
                if run := self.read(row["key"]):
                    self._begin(run, self.consider(run))
        self._forget_all_but({row["key"] for row in rows})

    def read(self, key: str) -> Run | None:
        """A run as it is now; None where it may not be seen."""
        answer = self.desk.get(f"/runs/{key}/")
        return Run(answer.tag, answer.body) if answer.is_done and answer.tag else None

    def _begin(self, run: Run, proposals: Iterable[Proposal]) -> None:
        for proposal in proposals:
            name = (run.key, proposal.intent)
            if name not in self.errands and name not in self.done:
                self.errands[name] = Errand(run, proposal, self.pace.in_(proposal.think_seconds))

    def _forget_all_but(self, keys: set[str]) -> None:
        """What is out of sight needs no memory."""
        self.seen = {key: version for key, version in self.seen.items() if key in keys}
        self.done = {name for name in self.done if name[0] in keys}
        self.errands = {name: errand for name, errand in self.errands.items() if name[0] in keys}

    # ---- acting ----------------------------------------------------------------------------------------------

    def act(self) -> None:
        """Go on with every errand whose time has come."""
        for name, errand in self._due():
            if errand.waits_for_operator:
                self._ask_for_word(name, errand)
            else:
                self._send(name, errand)

    def _due(self) -> Iterator[tuple[tuple[str, str], Errand]]:
        now = self.pace.now()
        yield from [(name, errand) for name, errand in self.errands.items() if errand.due <= now]

    def _send(self, name: tuple[str, str], errand: Errand) -> None:
        run, proposal = errand.run, errand.proposal
        body = proposal.build(self.desk)
        if body is None:
            self._decide_anew(name, errand, ASK_AGAIN_SECONDS)
            return
        if body != errand.sent:  # an id stands for one request for ever; another decision needs another one
            errand.id, errand.sent = f"{proposal.intent.split(':')[0]}-{uuid.uuid4().hex[:12]}", body
        tag = run.tag if proposal.names_version else None
        answer = self.desk.post(f"/runs/{run.key}/{proposal.path}", {"id": errand.id, **body}, tag)
        self.pace.say(f"{self.name}: {run.key} {proposal.intent}: {_in_words(answer)}")
        self._take(name, errand, answer)

    def _take(self, name: tuple[str, str], errand: Errand, answer: Answer) -> None:
        match answer.disposition:
            case "retry":
                pause = answer.body.get("retry_after_ms", 0) / 1000
                self._decide_anew(name, errand, pause + errand.proposal.think_seconds / 2)
            case "escalate":
                errand.waits_for_operator = True
                errand.due = self.pace.in_(ASK_AGAIN_SECONDS)
            case "reject":
                del self.errands[name]
            case _:
                self._end(name, errand, answer)

    def _end(self, name: tuple[str, str], errand: Errand, answer: Answer) -> None:
        """Done; or refused as the record is now, which may change; or refused for good."""
        if answer.status == 409:
            self._decide_anew(name, errand, TRY_LATER_SECONDS)
            return
        del self.errands[name]
        self.done.add(name)
        if not answer.is_done:
            self._begin(errand.run, self.on_refusal(errand.run, errand.proposal, answer))

    def _decide_anew(self, name: tuple[str, str], errand: Errand, seconds: float) -> None:
        """Read again and decide on what is there now; drop it where there is nothing to do any more."""
        run = self.read(errand.run.key)
        proposals = self.consider(run) if run and run.status in OPEN else ()
        again = next((item for item in proposals if item.intent == errand.proposal.intent), None)
        if run is None or again is None:
            del self.errands[name]
            return
        errand.run, errand.proposal, errand.due = run, again, self.pace.in_(seconds)

    def _ask_for_word(self, name: tuple[str, str], errand: Errand) -> None:
        """What has the operator made of the command?"""
        record = self.desk.get(f"/runs/{errand.run.key}/commands/{errand.id}/").body
        state = record.get("state", "")
        if state == "escalated":
            errand.due = self.pace.in_(ASK_AGAIN_SECONDS)
            return
        self.pace.say(f"{self.name}: {errand.run.key} {errand.proposal.intent}: an operator made it {state}")
        errand.waits_for_operator = False
        if state == "retry":
            self._decide_anew(name, errand, errand.proposal.think_seconds)
        else:
            del self.errands[name]
            self.done.add(name)


def _in_words(answer: Answer) -> str:
    told = answer.disposition or answer.body.get("outcome") or answer.code or "done"
    detail = answer.body.get("detail", "")
    return f"{told} ({detail})" if detail else str(told)
