"""The parts of a run as lines of its page: fields, steps, slots, conflicts."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from approvals.models import Artifact
from console.web.meeting import Met
from runs import history
from runs.definitions import Slot, Workflow
from runs.fields import FieldKind, same
from runs.history import LastChange
from runs.models import Conflict
from runs.refusals import conflict_ref
from runs.steps import NextStep
from runs.values import Held

JSON = Any

#: Items of a log that the page shows at once, and at most; a set shows as many elements. The JSON has all of them.
ITEMS, SHOWN = 3, 60


@dataclass(frozen=True, slots=True)
class FieldLine:
    """A field with its value, who changed it last, and the open cases that hold it."""

    name: str
    kind: FieldKind
    is_material: bool
    owner: str
    value: JSON
    change: LastChange
    held_by: tuple[Held, ...]
    is_given: bool  # whether it holds something else than every run begins with

    @property
    def is_set(self) -> bool:
        return self.kind is FieldKind.SET

    @property
    def is_log(self) -> bool:
        return self.kind is FieldKind.LOG

    @property
    def newest(self) -> list[dict[str, JSON]]:
        """The newest items of a log, the newest first."""
        return [_item(each) for each in self.value[::-1][:ITEMS]]

    @property
    def older(self) -> list[dict[str, JSON]]:
        """The items before them, as far as the page shows them."""
        return [_item(each) for each in self.value[::-1][ITEMS:SHOWN]]

    @property
    def elements(self) -> list[JSON]:
        """The elements of a set, as far as the page shows them."""
        return list(self.value[:SHOWN])

    @property
    def beyond(self) -> int:
        """How many items or elements only the JSON shows."""
        return max(0, len(self.value) - SHOWN)


def _item(item: dict[str, JSON]) -> dict[str, JSON]:
    """An item of a log: its text, if it has one, and what else it says."""
    rest = {name: value for name, value in item.items() if name not in ("id", "text")}
    return {"id": item["id"], "text": item.get("text", ""), "rest": list(rest.items())}


@dataclass(frozen=True, slots=True)
class StepLine:
    """A command or action: who may take it, and why this person cannot take it now."""

    name: str
    title: str
    by: str
    because: str | None
    is_command: bool


@dataclass(frozen=True, slots=True)
class SlotLine:
    """A slot with its newest artifact, if there is one."""

    slot: Slot
    artifact: Artifact | None
    input_version: int  # of the run

    @property
    def is_current(self) -> bool:
        """Whether the artifact was made from what the run asks for now."""
        return self.artifact is not None and self.artifact.input_version == self.input_version


@dataclass(frozen=True, slots=True)
class ConflictLine:
    """A stale command and what became of it."""

    ref: str
    title: str
    principal: str
    disposition: str
    because: str
    base_version: int
    current_version: int
    escalation: str
    at: datetime


def field_lines(met: Met) -> list[FieldLine]:
    """Every field of the run, what is decided before what is collected."""
    return sorted(_field_lines(met), key=_weight)


def _field_lines(met: Met) -> Iterator[FieldLine]:
    last = history.read_last_changes(met.run.id)
    for name, field in met.workflow.fields.items():
        yield FieldLine(
            name=name,
            kind=field.kind,
            is_material=field.material,
            owner=field.owner or "",
            value=met.run.state.fields[name],
            change=last.of(name),
            held_by=tuple(case for case in met.run.held if name in case.elements),
            is_given=not same(met.run.state.fields[name], field.first_value),
        )


def _weight(line: FieldLine) -> tuple[bool, int]:
    """What is decided comes before what is collected, and what is material before the rest; logs are long."""
    kinds = (FieldKind.EXCLUSIVE, FieldKind.COUNTER, FieldKind.SET, FieldKind.LOG)
    return not line.is_material, kinds.index(line.kind)


def step_line(step: NextStep) -> StepLine:
    """A next step as the margin lists it."""
    kind, _, name = step.step.partition(":")
    return StepLine(name, step.title, step.by, step.because, is_command=kind == "command")


def slot_lines(met: Met) -> Iterator[SlotLine]:
    """Every slot of the workflow."""
    if not met.workflow.slots:
        return
    newest = Artifact.objects.filter(run_id=met.run.id).order_by("slot", "-input_version", "-number").distinct("slot")
    by_slot = {artifact.slot: artifact for artifact in newest}
    for name, slot in met.workflow.slots.items():
        yield SlotLine(slot, by_slot.get(name), met.run.input_version)


def conflict_line(workflow: Workflow, conflict: Conflict) -> ConflictLine:
    """A stale command of a run of `workflow`."""
    problem = json.loads(conflict.problem or "{}")
    command = workflow.judged(conflict.name)
    return ConflictLine(
        ref=conflict_ref(conflict.pk),
        title=command.title if command else conflict.name,
        principal=conflict.principal,
        disposition=conflict.disposition,
        because=problem.get("detail", ""),
        base_version=conflict.base_version,
        current_version=conflict.current_version,
        escalation=(problem.get("escalation") or {}).get("id", ""),
        at=conflict.at,
    )
