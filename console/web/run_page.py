"""What the page of a run shows, read for one person: fields, next steps, open cases, conflicts, timeline.

A constant number of statements, whatever the run holds. Every part is a fact of one reading of the run, so the page
never mixes two versions.
"""

from dataclasses import dataclass
from datetime import datetime

from console import stories
from console.stories import Story
from console.web.case_line import CaseLine, case_lines
from console.web.meeting import Met
from console.web.run_lines import (
    ConflictLine,
    FieldLine,
    SlotLine,
    StepLine,
    conflict_line,
    field_lines,
    slot_lines,
    step_line,
)
from runs import backlog, cases, history, steps
from runs.models import Conflict
from runs.permissions import is_operator
from runs.states import ENDS, STORIES, StatusStory
from runs.verify_chain import ChainReport, verify_chain

#: Entries of the timeline and conflicts on the page itself.
ENTRIES, CONFLICTS = 20, 8

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


def page_tag(met: Met, conflicts: list[Conflict], *, form_is_old: bool) -> str:
    """What the page depends on: while it is the same, nothing on the page has changed for this person."""
    run, found, newest = met.run, met.access.found, conflicts[0].pk if conflicts else 0
    parts = (found.ledger_epoch, found.authority_epoch, run.version, run.head_seq, newest, form_is_old)
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
        fields=tuple(field_lines(met)),
        steps=tuple(step_line(step) for step in steps.next_steps(met.at)),
        slots=tuple(slot_lines(met)),
        cases=tuple(case_lines(open_cases, met.access.found.now)),
        conflicts=tuple(conflict_line(met.workflow, conflict) for conflict in conflicts),
        timeline=timeline,
        older_before=older_before,
        chain=verify_chain(run) if run.head_seq <= VERIFIED_AT_ONCE else None,
    )


def read_timeline(met: Met, before: int | None, limit: int) -> tuple[tuple[Story, ...], int | None]:
    """The newest entries before entry `before`, told; and where older ones go on, if there are any."""
    entries = history.list_backwards(met.run.id, limit + 1, before=before)
    told = tuple(stories.tell(entry, met.workflow) for entry in entries[:limit])
    return told, entries[limit - 1].seq if len(entries) > limit else None
