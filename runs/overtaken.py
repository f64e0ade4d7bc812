"""Open cases that a commit overtakes: the proposal already holds now, or the run has ended.

Needs an open transaction. What is settled here is part of the commit that caused it: its ledger entries
are chained in the same step.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from runs import store
from runs.attempts import Attempt
from runs.errors import ClearanceError
from runs.models import Escalation
from runs.states import ENDS
from runs.transitions import apply
from runs.values import Held, NewEntry, RunReading

JSON = Any


@dataclass(frozen=True, slots=True)
class Settlement:
    """How one case ends: the state its command gets, and the resolution that tells why."""

    case: Held
    command_id: str
    kind: str
    command_state: str
    resolution: Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class Overtaken:
    """The cases that a commit ends."""

    run_id: int
    settlements: tuple[Settlement, ...]
    entries: tuple[NewEntry, ...]
    at: datetime

    def settle(self) -> None:
        """Write the end of each case, of its command and of its episode. Called once the commit itself is written."""
        for settlement in self.settlements:
            settle_case(self.run_id, settlement, self.at)
            store.end_episode(self.run_id, settlement.case.principal, settlement.case.intent)


def settle_case(run_id: int, settlement: Settlement, at: datetime) -> None:
    """End one case: its row, and the record of the command it was opened for."""
    case = settlement.case
    Escalation.objects.filter(pk=UUID(case.escalation[3:])).update(
        state="settled", settled_at=at, resolution=json.dumps(settlement.resolution, ensure_ascii=False)
    )
    store.resolve_command(
        run_id, case.principal, settlement.command_id, settlement.command_state, settlement.resolution
    )


def close_overtaken(attempt: Attempt, after: RunReading) -> tuple[RunReading, Overtaken]:
    """`after` without what overtaken cases hold, and those cases to be settled with it."""
    found = [settlement for case in after.held if (settlement := _overtaken(attempt, after, case))]
    ended = {settlement.case.escalation for settlement in found}
    entries = tuple(_entry(attempt, after, settlement) for settlement in found)
    remaining = tuple(case for case in after.held if case.escalation not in ended)
    overtaken = Overtaken(attempt.run.id, tuple(found), entries, attempt.found.now)
    return replace(after, held=remaining), overtaken


def _overtaken(attempt: Attempt, after: RunReading, case: Held) -> Settlement | None:
    escalation = Escalation.objects.select_related("conflict").get(pk=UUID(case.escalation[3:]))
    by = {"by": attempt.principal.actor, "command_id": attempt.request.id, "version": after.version}
    if after.state.status in ENDS:
        note = f"The run was {after.state.status}."
        resolution = {"verb": "keep", "note": note, **by}
        return Settlement(case, escalation.command_id, "escalation.resolved", "rejected", resolution)
    proposal = json.loads(escalation.conflict.proposal or "null")
    if proposal and _already_holds(attempt, after, proposal):
        resolution = {"verb": "superseded", "note": "What it proposed holds now.", **by}
        return Settlement(case, escalation.command_id, "escalation.superseded", "superseded", resolution)
    return None


def _already_holds(attempt: Attempt, after: RunReading, proposal: Mapping[str, JSON]) -> bool:
    """Whether `after` already is what was proposed; for a freeze: whether another candidate came under review."""
    if proposal["name"] in attempt.workflow.freezes:
        return after.state.active_snapshot not in (None, attempt.run.state.active_snapshot)
    command = attempt.workflow.command(proposal["name"])
    if command is None:
        return False
    try:
        return apply(attempt.workflow, after.state, command, proposal["params"]).is_empty
    except ClearanceError:
        return False


def _entry(attempt: Attempt, after: RunReading, settlement: Settlement) -> NewEntry:
    body = {"escalation": settlement.case.escalation, "proposal": settlement.command_id, **settlement.resolution}
    return NewEntry(settlement.kind, attempt.principal.actor, attempt.request.id, body, after.version)
