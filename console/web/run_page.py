"""What the page of a run shows, read for one person: fields, next steps, open cases, conflicts, timeline.

A constant number of statements, whatever the run holds. Every part is a fact of one reading of the run, so the page
never mixes two versions.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from approvals.models import Artifact
from console import stories
from console.access import RunAccess, access_run
from console.stories import Story
from console.web.case_line import CaseLine, case_lines
from runs import backlog, cases, history, steps
from runs.definitions import Command, Slot, Workflow
from runs.errors import NotFound
from runs.fields import FieldKind, same
from runs.history import LastChange
from runs.models import Conflict
from runs.permissions import is_operator
from runs.refusals import conflict_ref
from runs.states import ENDS, STORIES, StatusStory
from runs.steps import NextStep, Standpoint
from runs.values import Held, Principal, RunReading, version_tag
from runs.verify_chain import ChainReport, verify_chain

JSON = Any

#: Entries of the timeline, conflicts and items of a log on the page itself; each has a page with all of them.
ENTRIES, CONFLICTS, ITEMS = 20, 8, 3


@dataclass(frozen=True, slots=True)
class Met:
    """A run as one person meets it."""

    access: RunAccess
    at: Standpoint

    @property
    def run(self) -> RunReading:
        return self.access.run

    @property
    def workflow(self) -> Workflow:
        return self.access.workflow

    @property
    def principal(self) -> Principal:
        return self.access.principal

    @property
    def seen(self) -> str:
        """The version shown, with the epoch of the ledger, as forms carry it."""
        return version_tag(self.access.found.ledger_epoch, self.run.version).strip('"')

    def command(self, name: str) -> Command:
        """A command that people may ask for. Raises `NotFound`."""
        command = self.workflow.command(name)
        if command is None or command.scope == "system":
            raise NotFound
        return command

    def because(self, name: str) -> str | None:
        """Why the person cannot take a command now; None when they can."""
        return next(step.because for step in steps.next_steps(self.at) if step.step == f"command:{name}")


def meet(principal: Principal, key: str) -> Met:
    """Read run `key` for a person. Raises `NotFound` when there is none or it may not be seen."""
    access = access_run(principal, key)
    at = Standpoint(access.principal, access.run, access.workflow, access.policy, access.found.is_halted)
    return Met(access, at)


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
        return [_item(each) for each in self.value[::-1][ITEMS:]]


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


#: A ledger of at most so many entries is verified whenever the page is drawn; a longer one when the page has come.
VERIFIED_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class RunPage:
    """Everything the page of a run shows, beside the form that may be open on it."""

    met: Met
    fields: tuple[FieldLine, ...]
    steps: tuple[StepLine, ...]
    slots: tuple[SlotLine, ...]
    cases: tuple[CaseLine, ...]
    conflicts: tuple[ConflictLine, ...]
    timeline: tuple[Story, ...]
    older_before: int | None
    chain: ChainReport | None  # None: verified later

    @property
    def legal_commands(self) -> list[StepLine]:
        return [step for step in self.steps if step.is_command and step.because is None]

    @property
    def legal_actions(self) -> list[StepLine]:
        return [step for step in self.steps if not step.is_command and step.because is None]

    @property
    def missing_steps(self) -> list[StepLine]:
        return [step for step in self.steps if step.because is not None]

    @property
    def may_settle(self) -> bool:
        return is_operator(self.met.principal, self.met.access.policy)

    @property
    def is_over(self) -> bool:
        """Whether nothing can happen to the run any more, so that nothing has to be asked again."""
        return self.met.run.state.status in ENDS

    @property
    def story(self) -> StatusStory:
        return STORIES[self.met.run.state.status]

    @property
    def expires_at(self) -> datetime | None:
        return steps.expires_at(self.met.run, self.met.at.policy)


def page_tag(met: Met, conflicts: list[Conflict], form_seen: str) -> str:
    """What the page depends on: while it is the same, nothing on the page has changed for this person."""
    run, found, newest = met.run, met.access.found, conflicts[0].pk if conflicts else 0
    parts = (found.ledger_epoch, found.authority_epoch, run.version, run.head_seq, newest, form_seen)
    return ".".join(str(part) for part in parts)


def read_conflicts(met: Met) -> list[Conflict]:
    """The newest conflicts of the run."""
    return cases.list_conflicts([met.run.workflow], CONFLICTS, run=met.run.key)


def read_page(met: Met, conflicts: list[Conflict]) -> RunPage:
    """Read the rest of the page of a run that was met."""
    run = met.run
    timeline, older_before = read_timeline(met, None, ENTRIES)
    open_cases = backlog.open_cases_of_run(run.id) if run.held else []
    return RunPage(
        met=met,
        fields=tuple(sorted(_field_lines(met), key=_weight)),
        steps=tuple(_step_line(step) for step in steps.next_steps(met.at)),
        slots=tuple(_slot_lines(met)),
        cases=tuple(case_lines(open_cases, met.access.found.now)),
        conflicts=tuple(_conflict_line(met.workflow, conflict) for conflict in conflicts),
        timeline=timeline,
        older_before=older_before,
        chain=verify_chain(run) if run.head_seq <= VERIFIED_AT_ONCE else None,
    )


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


def _step_line(step: NextStep) -> StepLine:
    kind, _, name = step.step.partition(":")
    return StepLine(name, step.title, step.by, step.because, is_command=kind == "command")


def _slot_lines(met: Met) -> Iterator[SlotLine]:
    if not met.workflow.slots:
        return
    newest = Artifact.objects.filter(run_id=met.run.id).order_by("slot", "-input_version", "-number").distinct("slot")
    by_slot = {artifact.slot: artifact for artifact in newest}
    for name, slot in met.workflow.slots.items():
        yield SlotLine(slot, by_slot.get(name), met.run.input_version)


def _conflict_line(workflow: Workflow, conflict: Conflict) -> ConflictLine:
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


def read_timeline(met: Met, before: int | None, limit: int) -> tuple[tuple[Story, ...], int | None]:
    """The newest entries before entry `before`, told; and where older ones go on, if there are any."""
    entries = history.list_backwards(met.run.id, limit + 1, before=before)
    told = tuple(stories.tell(entry, met.workflow) for entry in entries[:limit])
    return told, entries[limit - 1].seq if len(entries) > limit else None
