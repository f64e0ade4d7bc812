"""An open case as a line: what it is about in plain words, how long it has waited, and who holds it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from console import headlines
from console.headlines import LONGEST_VALUE, Headline
from runs import catalog
from runs.backlog import DUE_AFTER_SECONDS, read_short_bases
from runs.cases import tell_row
from runs.definitions import Workflow
from runs.models import Escalation

JSON = Any

DUE_AFTER = timedelta(seconds=DUE_AFTER_SECONDS)


@dataclass(frozen=True, slots=True)
class CaseLine:
    """One open case, as the inbox and the page of its run show it."""

    ref: str
    run: str
    workflow: Workflow
    headline: Headline | None  # None: what was proposed has been erased
    because: str
    is_material: bool
    opened_at: datetime
    due_at: datetime
    ageing: str  # quiet | warn | bad: the tone of how long it has waited
    holder: str | None
    version: int

    @property
    def is_overdue(self) -> bool:
        return self.ageing == "bad"

    @property
    def mark(self) -> str:
        """Changes when the line does."""
        return f"{self.ref}.{self.version}.{self.holder}.{self.ageing}"


def case_lines(rows: Sequence[Escalation], now: datetime) -> list[CaseLine]:
    """The lines of cases whose conflicts and runs were read with them."""
    bases = read_short_bases([row.conflict_id for row in rows], LONGEST_VALUE + 2)
    return [_case_line(row, now, bases.get(row.conflict_id) or {}) for row in rows]


def _case_line(row: Escalation, now: datetime, base: Mapping[str, JSON]) -> CaseLine:
    workflow = catalog.definition(row.workflow, row.run.revision)
    told = tell_row(row, now)
    return CaseLine(
        ref=told["id"],
        run=told["run"],
        workflow=workflow,
        headline=_headline(row, workflow, base),
        because=told["because"] or "",
        is_material=row.is_material,
        opened_at=row.opened_at,
        due_at=row.opened_at + DUE_AFTER,
        ageing=ageing(row.opened_at, now),
        holder=told["held_by"],
        version=row.version,
    )


def ageing(opened_at: datetime, now: datetime) -> str:
    """Quiet in the first half of the time a case may wait, a warning in the second, bad beyond it."""
    waited = now - opened_at
    if waited >= DUE_AFTER:
        return "bad"
    return "warn" if waited >= DUE_AFTER / 2 else "quiet"


def _headline(row: Escalation, workflow: Workflow, base: Mapping[str, JSON]) -> Headline | None:
    """What a case is about, as its conflict was recorded."""
    proposal, problem = json.loads(row.conflict.proposal or "null"), json.loads(row.conflict.problem or "{}")
    command = workflow.judged(proposal["name"]) if proposal else None
    if command is None:
        return None
    facts = {"principal": row.principal, "base_fields": base, **problem}
    return headlines.headline(workflow, command, proposal, facts)
