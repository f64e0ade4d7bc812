"""What a ledger entry tells, in parts that a page can show: who, what, how each field changed, and why.

Pure. A kind that is not listed is told by its own name, so a new kind is never missing from a timeline.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from console.diffing import Difference, difference, list_items
from runs.definitions import Workflow
from runs.queries import Entry

JSON = Any


@dataclass(frozen=True, slots=True)
class Kind:
    """How a kind of entry is told: in words, in a tone."""

    words: str
    tone: str


KINDS: dict[str, Kind] = {
    "run.created": Kind("created the run", "info"),
    "run.cancelled": Kind("cancelled the run", "bad"),
    "run.expired": Kind("ended the run by its time limit", "bad"),
    "run.reopened": Kind("opened a new cycle", "info"),
    "run.moved": Kind("moved the run to another revision", "info"),
    "command.committed": Kind("committed", "good"),
    "command.merged": Kind("merged", "good"),
    "command.rejected": Kind("was rejected", "quiet"),
    "command.escalated": Kind("was escalated", "warn"),
    "escalation.resolved": Kind("settled an escalation", "info"),
    "escalation.superseded": Kind("made an escalation needless", "quiet"),
    "artifact.submitted": Kind("submitted an artifact", "quiet"),
    "snapshot.frozen": Kind("froze a snapshot for review", "info"),
    "decision.approved": Kind("approved a snapshot", "good"),
    "decision.denied": Kind("denied a snapshot", "bad"),
    "approval.revoked": Kind("revoked an approval", "bad"),
    "effect.authorized": Kind("authorized an effect", "good"),
    "effect.claimed": Kind("began to send an effect", "info"),
    "effect.settled": Kind("settled an effect", "info"),
    "effect.cancelled": Kind("cancelled an effect", "bad"),
    "attempt.recorded": Kind("recorded an attempt", "quiet"),
    "attempt.late": Kind("received a late answer", "warn"),
    "lookup.recorded": Kind("looked an effect up", "quiet"),
    "verdict.recorded": Kind("gave a verdict", "info"),
    "repair.ordered": Kind("ordered a repair", "warn"),
    "remediation.opened": Kind("opened a remediation", "warn"),
    "remediation.done": Kind("closed a remediation", "good"),
    "content.erased": Kind("erased content", "quiet"),
    "quarantine.set": Kind("put an effect into quarantine", "warn"),
    "quarantine.released": Kind("released an effect from quarantine", "info"),
}

#: How a resolution is told.
VERBS = {
    "apply": "applied the proposal",
    "amend": "amended the proposal and applied it",
    "keep": "kept the record; the proposal is rejected",
    "send-back": "sent the proposal back",
    "superseded": "the proposal holds already",
}


@dataclass(frozen=True, slots=True)
class FieldStory:
    """What an entry did to one field, or to the status."""

    field: str
    change: Difference


@dataclass(frozen=True, slots=True)
class Story:
    """A ledger entry as a timeline shows it."""

    seq: int
    version: int
    actor: str
    at: Any
    tone: str
    words: str
    subject: str  # the command's title, or empty
    changes: tuple[FieldStory, ...]
    reason: str
    is_from_agent: bool
    is_erased: bool
    base_version: int | None = None
    because: str = ""
    escalation: str = ""
    consent: str = ""

    @property
    def is_step(self) -> bool:
        """Whether the entry made a version."""
        return bool(self.changes) or self.seq == 1


def tell(entry: Entry, workflow: Workflow) -> Story:
    """The story of one entry of a run of `workflow`."""
    body: Mapping[str, JSON] = {} if entry.body is None else json.loads(bytes(entry.body))
    kind = KINDS.get(entry.kind) or Kind(entry.kind.replace(".", " "), "quiet")
    consent = body.get("consent") or {}
    return Story(
        seq=entry.seq,
        version=entry.version,
        actor=entry.actor,
        at=entry.at,
        tone=kind.tone,
        words=VERBS.get(body.get("verb", ""), kind.words),
        subject=_subject(entry.kind, body, workflow),
        changes=tuple(_changes(body)),
        reason=body.get("note") or body.get("reason") or "",
        is_from_agent=entry.actor.startswith("agent:"),
        is_erased=entry.body is None,
        base_version=_base(entry, body),
        because=body.get("because") or "",
        escalation=body.get("escalation") or "",
        consent=consent.get("because") or "",
    )


def _subject(kind: str, body: Mapping[str, JSON], workflow: Workflow) -> str:
    if not kind.startswith("command."):
        return ""
    command = workflow.judged(body.get("name") or "")
    return command.title if command else body.get("name") or ""


def _base(entry: Entry, body: Mapping[str, JSON]) -> int | None:
    """The version a command was computed from, where that was not the one before."""
    base = body.get("base_version")
    usual = entry.version - 1 if body.get("changes") else entry.version
    return base if isinstance(base, int) and base != usual else None


def _changes(body: Mapping[str, JSON]) -> Iterator[FieldStory]:
    for name, change in (body.get("changes") or {}).items():
        yield FieldStory(name, told_change(change))
    for name in body.get("given") or ():
        yield FieldStory(name, difference(None, body["fields"][name]))


def told_change(change: Mapping[str, JSON]) -> Difference:
    """A change as the ledger keeps it, as a difference a page can show."""
    if "to" in change:
        return difference(change["from"], change["to"])
    added = [*change.get("added", ()), *change.get("appended", ())]
    items, _ = list_items(change.get("removed", ()), added)
    return Difference("items", items=items)
