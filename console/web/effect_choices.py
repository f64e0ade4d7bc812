"""What may be found and ordered about an effect now, by one person: each verb legal, or missing with its reason.

Judged by the checks that judge the press of a button, so nothing is offered that would be refused.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from console.waiting_kinds import KINDS
from outbox.cases import Case, require_finding, require_repair, second_person_for_finding, second_person_for_repair
from outbox.states import Finding, RepairKind
from runs.confirmations import may_confirm, waiting_ref
from runs.errors import ClearanceError
from runs.models import WaitingStep
from runs.permissions import is_admin

JSON = Any


@dataclass(frozen=True, slots=True)
class FindingLine:
    """A verdict that could be given: legal, or why not; and why a second admin would have to confirm it."""

    finding: Finding
    refusal: ClearanceError | None
    second: str  # with an id of the provider
    second_without_id: str

    @property
    def too_early_until(self) -> datetime | None:
        if self.refusal is None or self.refusal.code != "too-early":
            return None
        return datetime.fromisoformat(self.refusal.members["expected"])


@dataclass(frozen=True, slots=True)
class RepairLine:
    """A repair that could be ordered: legal, or why not; and why a second admin would have to confirm it."""

    repair: RepairKind
    refusal: ClearanceError | None
    second: str


@dataclass(frozen=True, slots=True)
class WaitingLine:
    """Something asked for about this effect that waits for a second admin."""

    ref: str
    row: WaitingStep
    asked: JSON
    cannot_confirm: str  # empty: this person may

    @property
    def proposer(self) -> str:
        return f"user:{self.row.proposed_by.username}"


@dataclass(frozen=True)
class Choices:
    """The verbs of an effect for one person."""

    case: Case
    waiting: tuple[WaitingLine, ...]

    @property
    def is_admin(self) -> bool:
        return is_admin(self.case.principal)

    @cached_property
    def findings(self) -> tuple[FindingLine, ...]:
        return tuple(self._finding(finding) for finding in Finding)

    def _finding(self, finding: Finding) -> FindingLine:
        second = second_person_for_finding(self.case, finding, "an id") or ""
        without = second_person_for_finding(self.case, finding, None) or ""
        try:
            require_finding(self.case, finding)
        except ClearanceError as refusal:
            return FindingLine(finding, refusal, second, without)
        return FindingLine(finding, None, second, without)

    @cached_property
    def repairs(self) -> tuple[RepairLine, ...]:
        wanted = (RepairKind.RESEND, RepairKind.MARK_FAILED)
        return tuple(self._repair(each) for each in ((RepairKind.RELEASE,) if self.case.effect.quarantined else wanted))

    def _repair(self, repair: RepairKind) -> RepairLine:
        second = second_person_for_repair(self.case, repair) or ""
        try:
            require_repair(self.case, repair)
        except ClearanceError as refusal:
            return RepairLine(repair, refusal, second)
        return RepairLine(repair, None, second)

    @property
    def may_repair(self) -> bool:
        return self.is_admin and any(line.refusal is None for line in self.repairs)

    @cached_property
    def offers(self) -> str:
        """What is open to this person now, as a page that is drawn carries it."""
        if not self.is_admin:
            return ""
        found = [line.finding.value for line in self.findings if line.refusal is None]
        ordered = [line.repair.value for line in self.repairs if line.refusal is None]
        return " ".join([*found, *ordered, *(line.ref for line in self.waiting if not line.cannot_confirm)])


def read_choices(case: Case, waiting: Sequence[WaitingStep]) -> Choices:
    """The choices of the person who looks at a case; `waiting` is what waits for a second admin."""
    made = [
        WaitingLine(waiting_ref(row.pk), row, json.loads(row.arguments), may_confirm(KINDS, case.principal, row))
        for row in waiting
    ]
    return Choices(case, tuple(made))
