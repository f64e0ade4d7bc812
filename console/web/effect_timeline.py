"""Everything that is known about an effect, in the order in which it happened."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from outbox.cases import Case
from outbox.models import Attempt, Remediation, Repair
from outbox.states import Answer, Finding, Outcome, RepairKind
from runs.models import WaitingStep

JSON = Any

TONES = {
    Outcome.ACCEPTED.value: "info",  # a provider's "accepted" is evidence; what it proves is said by the effect's state
    Outcome.REFUSED.value: "bad",
    Outcome.THROTTLED.value: "quiet",
    Outcome.NEVER_LEFT.value: "quiet",
    Outcome.UNKNOWN.value: "severe",
    None: "info",
}
ANSWER_TONES = {Answer.FOUND.value: "info", Answer.NOT_FOUND.value: "quiet", Answer.CANNOT_TELL.value: "severe"}
FINDING_TONES = {
    Finding.HAPPENED.value: "good",
    Finding.DID_NOT_HAPPEN.value: "quiet",
    Finding.CANNOT_TELL.value: "severe",
}


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened; `kind` says which of the rows is meant and how it is told."""

    at: datetime
    kind: str
    tone: str
    row: Any


@dataclass(frozen=True, slots=True)
class Late:
    """What a worker said of its attempt after the fence had moved: evidence, never applied."""

    attempt: Attempt
    told: Mapping[str, JSON]

    @property
    def at(self) -> datetime:
        return datetime.fromisoformat(self.told["at"])

    @property
    def outcome(self) -> str:
        return str(self.told["outcome"])


def late_results(attempts: Sequence[Attempt]) -> tuple[Late, ...]:
    """The late results of these attempts, the earliest first."""
    found = [Late(item, json.loads(item.late)) for item in attempts if item.late]
    return tuple(sorted(found, key=lambda late: late.at))


def events_of(
    case: Case, repairs: Sequence[Repair], remediations: Sequence[Remediation], waiting: Sequence[WaitingStep]
) -> tuple[Event, ...]:
    """The events of an effect, the earliest first."""
    rest = [*_tried(case), *_found_out(case), *_ordered(repairs, remediations, waiting)]
    effect = case.effect
    events = [Event(effect.authorized_at, "authorized", "info", effect), *sorted(rest, key=lambda event: event.at)]
    if effect.ended_at is not None:
        tone = {"succeeded": "good", "failed": "bad"}.get(effect.state, "quiet")
        events.append(Event(effect.ended_at, "ended", tone, effect))
    return tuple(events)


def _tried(case: Case) -> Iterator[Event]:
    for attempt in case.attempts:
        yield Event(attempt.started_at, "attempt", TONES[attempt.outcome], attempt)
    for late in late_results(case.attempts):
        yield Event(late.at, "late", "warn", late)


def _found_out(case: Case) -> Iterator[Event]:
    for lookup in case.lookups:
        yield Event(lookup.at, "lookup", ANSWER_TONES[lookup.answer], lookup)
    for verdict in case.verdicts:
        yield Event(verdict.at, "verdict", FINDING_TONES[verdict.verdict], verdict)


def _ordered(
    repairs: Sequence[Repair], remediations: Sequence[Remediation], waiting: Sequence[WaitingStep]
) -> Iterator[Event]:
    for repair in repairs:
        yield Event(repair.at, "repair", "warn" if repair.repair == RepairKind.RESEND else "info", repair)
    for remediation in remediations:
        yield Event(remediation.opened_at, "remediation", "warn", remediation)
    for step in waiting:
        yield Event(step.proposed_at, "waiting", "warn", step)
