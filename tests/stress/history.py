"""Whether what many callers were told, and when, agrees with what the ledgers say: the history checker. Pure.

The log of the callers is a list of calls with the moments at which each was sent and answered, by one clock. The
checker assumes nothing about who raced whom; it knows only what a correct server can never have answered.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

JSON = Any

#: Outcomes that change a run, and those that only end a command, with the entry that tells each.
APPLIED = {"committed": "command.committed", "merged": "command.merged"}
ENDED = {"rejected": "command.rejected", "escalated": "command.escalated"}
#: What may be answered; anything else, such as a 500, is a fault by itself.
ACCEPTABLE = {200, 201, 404, 409, 412, 503}


@dataclass(slots=True)
class Call:
    """One request of one caller. What was never answered keeps None."""

    caller: str
    run: str
    sent: float
    id: str | None = None  # of the command that was sent or asked for; None for reading the run
    asks: bool = False  # asks what became of the id, and sends nothing
    answered: float | None = None
    status: int | None = None
    body: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def outcome(self) -> str | None:
        """What the answer says became of the command."""
        if self.asks:
            return self.body.get("state")
        if "disposition" in self.body:
            return {"retry": "retry", "reject": "rejected", "escalate": "escalated"}[self.body["disposition"]]
        return self.body.get("outcome")

    @property
    def version(self) -> int | None:
        """The version that the answer says the command made, or that was read."""
        return (self.body.get("outcome") or {}).get("version") if self.asks else self.body.get("version")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a ledger."""

    run: str
    seq: int
    version: int
    kind: str
    actor: str
    id: str | None


class History:
    """The log of the callers beside the ledgers."""

    def __init__(self, calls: Sequence[Call], entries: Sequence[Entry]) -> None:
        self.calls = calls
        self.commands: dict[tuple[str, str, str | None], list[Call]] = defaultdict(list)
        self.told: dict[tuple[str, str, str | None], list[Entry]] = defaultdict(list)
        self.ledgers: dict[str, list[Entry]] = defaultdict(list)
        for call in calls:
            if call.id is not None:
                self.commands[call.run, call.caller, call.id].append(call)
        for entry in sorted(entries, key=lambda entry: (entry.run, entry.seq)):
            self.ledgers[entry.run].append(entry)
            self.told[entry.run, entry.actor, entry.id].append(entry)

    def faults(self) -> Iterator[str]:
        """Everything that a correct server could not have answered, given these ledgers."""
        yield from self._unacceptable()
        for run, ledger in self.ledgers.items():
            yield from self._gaps(run, ledger)
        for (run, caller, number), calls in self.commands.items():
            for fault in self._disagreements(calls, self.told[run, caller, number]):
                yield f"{run} {number} of {caller}: {fault}"
        yield from self._unsent()
        yield from self._out_of_order()

    def _unacceptable(self) -> Iterator[str]:
        for call in self.calls:
            if call.status is not None and call.status not in ACCEPTABLE:
                yield f"{call.run} {call.id} of {call.caller}: answered {call.status} {call.body.get('code')}"

    def _gaps(self, run: str, ledger: Sequence[Entry]) -> Iterator[str]:
        if [entry.seq for entry in ledger] != list(range(1, len(ledger) + 1)):
            yield f"{run}: an entry is missing or given twice"
        versions = [entry.version for entry in ledger]
        if any(later - earlier not in (0, 1) for earlier, later in zip([0, *versions], versions, strict=False)):
            yield f"{run}: a version is missing"

    def _disagreements(self, calls: Sequence[Call], told: Sequence[Entry]) -> Iterator[str]:
        """What callers heard of one id, against what the ledger tells of it."""
        applied = [entry for entry in told if entry.kind in APPLIED.values()]
        heard = {(call.outcome, call.version) for call in calls if call.outcome in APPLIED}
        if len(applied) > 1:
            yield f"took effect {len(applied)} times"
        if heard - {(_outcome_of(entry), entry.version) for entry in applied}:
            yield f"was answered {sorted(map(str, heard))}, and the ledger tells {applied}"
        for ended, kind in ENDED.items():
            if any(call.outcome == ended for call in calls) and not any(entry.kind == kind for entry in told):
                yield f"was answered {ended}, and the ledger does not tell it"
        if applied and not heard and all(call.answered is not None for call in calls):
            yield "took effect, and nobody was told"
        if any(call.asks and call.status == 404 for call in calls) and told:
            yield "was never seen, says the answer, and the ledger tells it"

    def _unsent(self) -> Iterator[str]:
        for (run, actor, number), entries in self.told.items():
            if actor.startswith("agent:") and (run, actor, number) not in self.commands:
                yield f"{run} {number} of {actor}: nobody sent what the ledger tells {len(entries)} times"

    def _out_of_order(self) -> Iterator[str]:
        """A version acknowledged before something was sent is lower than what that made, and no read is older."""
        by_run: dict[str, list[Call]] = defaultdict(list)
        for call in self.calls:
            if not call.asks and call.version is not None and not call.body.get("replayed"):
                by_run[call.run].append(call)
        for run, calls in by_run.items():
            known_since = sorted((call.answered or inf, call.version or 0) for call in calls)
            seen, position = 0, 0
            for call in sorted(calls, key=lambda call: call.sent):
                while position < len(known_since) and known_since[position][0] < call.sent:
                    seen = max(seen, known_since[position][1])
                    position += 1
                made_something = call.outcome in APPLIED
                if (call.version or 0) < seen + made_something:
                    yield f"{run} {call.id or 'read'} of {call.caller}: version {call.version} after {seen} was known"


def _outcome_of(entry: Entry) -> str:
    return "committed" if entry.kind == APPLIED["committed"] else "merged"
