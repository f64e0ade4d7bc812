"""What the page of an escalation shows, read for one person: both sides, what lies between, and what may be done.

Everything about the record is of one reading of the run, so the versions that a form carries are those the page shows.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from approvals.payload import Sources, filled
from console import comparison, headlines, stories
from console.access import access_case
from console.comparison import Comparison, Place, Sides
from console.headlines import Asked, Headline, RuleWords
from console.rule_book import rule_anchor
from console.stories import FieldStory, Story, told_change
from console.web.case_line import DUE_AFTER, ageing
from runs import history, store
from runs.cases import tell_case
from runs.conflicts import state_at_base
from runs.fields import Verb as FieldVerb
from runs.permissions import is_operator
from runs.queries import Entry
from runs.values import ChangedField, Principal, version_tag
from runs.verbs import Case

JSON = Any

#: The verbs as they are offered: what changes least comes first.
ORDER = ("keep", "apply", "amend", "send-back")

#: Entries between base and current that the page itself shows; the whole ledger is a link away.
ENTRIES = 60


@dataclass(frozen=True, slots=True)
class VerbLine:
    """One way to settle: legal with what exactly it would do, or not with the reason."""

    verb: str
    because: str  # why it is not legal; empty when it is
    version: int
    changes: tuple[FieldStory, ...]
    consent: str
    ends_as: str  # what becomes of the proposal's command

    @property
    def is_legal(self) -> bool:
        return not self.because


@dataclass(frozen=True)
class CasePage:
    """A case as its page shows it."""

    case: Case
    told: Mapping[str, JSON]
    headline: Headline
    rule: RuleWords
    rule_anchor: str  # where the page of the revision tells it
    comparison: Comparison
    payload: Comparison | None  # of a freeze: what it would have sent, and what it would send now
    between: tuple[Story, ...]
    verbs: tuple[VerbLine, ...]

    @property
    def ref(self) -> str:
        return self.case.ref

    @property
    def seen(self) -> str:
        """The version shown, with the epoch of the ledger, as forms carry it."""
        return version_tag(self.case.found.ledger_epoch, self.case.run.version).strip('"')

    @property
    def state(self) -> str:
        """The versions of run and case shown."""
        return f"{self.seen}/{self.case.row.version}"

    @property
    def is_open(self) -> bool:
        return self.case.row.state == "open"

    @property
    def may_settle(self) -> bool:
        """Whether the person is an operator of the workflow."""
        return is_operator(self.case.operator, self.case.policy)

    @property
    def legal_verbs(self) -> str:
        """The verbs that are legal for the person now, as a form carries them."""
        return " ".join(verb.verb for verb in self.verbs if verb.is_legal)

    @property
    def due_at(self) -> datetime:
        return self.case.row.opened_at + DUE_AFTER

    @property
    def ageing(self) -> str:
        return ageing(self.case.row.opened_at, self.case.found.now)

    @property
    def holder(self) -> str | None:
        held_by: str | None = self.told["held_by"]
        return held_by

    @property
    def is_mine(self) -> bool:
        return self.holder == self.case.operator.actor

    @property
    def held_by_other(self) -> bool:
        return self.holder is not None and not self.is_mine

    @property
    def is_from_agent(self) -> bool:
        return self.case.row.principal.startswith("agent:")

    @property
    def behalf(self) -> str:
        """The person the proposal was made for, as an actor."""
        return f"user:{self.case.proposal.on_behalf_of}"

    @property
    def operator_groups(self) -> list[str]:
        return sorted(self.case.policy.operators)

    @property
    def counted(self) -> int:
        """The conflicts of the intent that had been counted when this one was escalated."""
        return int(json.loads(self.case.row.conflict.problem or "{}").get("attempts", 0))

    @property
    def only_asked(self) -> Asked | None:
        """The one field that is in question, where it is one: choices can then name its values."""
        asked = self.headline.asked
        return asked[0] if len(asked) == 1 and asked[0].verb is FieldVerb.SET else None

    @property
    def current_value(self) -> str:
        """What the record holds of that field."""
        asked = self.only_asked
        return headlines.short(self.case.run.state.fields[asked.field]) if asked else ""

    @property
    def tag(self) -> str:
        """What the page depends on: while it is the same, nothing on it has changed for this person."""
        row, run, found = self.case.row, self.case.run, self.case.found
        held = f"{self.holder}.{row.claimed_until}" if self.holder else ""
        parts = (found.ledger_epoch, found.authority_epoch, found.is_halted, run.version, run.head_seq)
        return ".".join(str(part) for part in (*parts, row.version, row.state, held, self.ageing))


def read_case_page(principal: Principal, ref: str) -> CasePage:
    """Read the page of a case for a person. Raises `NotFound`."""
    case = _as_settled(access_case(principal, ref))
    told = tell_case(case)
    changed = {item["field"]: ChangedField(**item) for item in told["changed_fields"]}
    entries = _entries(case)
    sides = _sides(case, told, changed, entries)
    facts = {
        "principal": case.row.principal,
        "base_version": case.base_version,
        "changed_fields": told["changed_fields"],
        "base_fields": sides.base,
    }
    rule = (told["rule"] or {}).get("name", "")
    return CasePage(
        case=case,
        told=told,
        headline=headlines.headline(case.workflow, case.command, told["proposal"], facts),
        rule=headlines.rule_words(case.command, rule),
        rule_anchor=rule_anchor(case.command.name, rule),
        comparison=comparison.compare(case.workflow, case.command, case.proposal.params, sides),
        payload=_payload(case, sides),
        between=tuple(stories.tell(entry, case.workflow) for entry in entries),
        verbs=tuple(sorted(map(_verb_line, told["verbs"]), key=lambda line: ORDER.index(line.verb))),
    )


def _as_settled(case: Case) -> Case:
    """A settled case with the record as its operator saw it, so that what came of settling it is no side of it."""
    resolution = json.loads(case.row.resolution or "null")
    version = resolution and resolution.get("version")
    since = store.entries_between(case.run, version - 1) if version else None
    if not since:
        return case
    is_its_own = since[0].version == version and since[0].command_id == resolution["command_id"]
    seen = version - 1 if is_its_own else version
    state = state_at_base(case.run.state, tuple(entry for entry in since if entry.version > seen))
    return replace(case, run=replace(case.run, version=seen, state=state))


def _entries(case: Case) -> list[Entry]:
    """What was written between base and current, with the proposal itself and how it was settled."""
    proposal = (case.row.principal, case.row.command_id)
    settled = json.loads(case.row.resolution or "{}").get("version")
    return history.list_of_case(case.run.id, case.base_version, settled or case.run.version, proposal, ENTRIES)


def _sides(
    case: Case, told: Mapping[str, JSON], changed: Mapping[str, ChangedField], entries: Sequence[Entry]
) -> Sides:
    """Both sides by name; `status` and the pointer to a snapshot stand beside the fields where they changed."""
    beside = {name: item for name, item in changed.items() if name not in case.run.state.fields}
    current = dict(case.run.state.fields) | {name: item.current for name, item in beside.items()}
    base = told["base"] and told["base"]["fields"] | {name: item.base for name, item in beside.items()}
    places = {entry.version: Place(entry.seq, entry.at) for entry in reversed(entries)}
    return Sides(base, current, changed, places)


def _payload(case: Case, sides: Sides) -> Comparison | None:
    """What a freeze would have sent from its base beside what it would send now."""
    action = case.workflow.actions.get(case.proposal.name.removeprefix("freeze:"))
    if not case.is_freeze or action is None or action.payload is None or sides.base is None:
        return None
    before, now = (filled(action, Sources(case.run.key, fields)) for fields in (sides.base, sides.current))
    return comparison.compare_values(before, now)


def _verb_line(told: Mapping[str, JSON]) -> VerbLine:
    preview = told.get("preview") or {}
    return VerbLine(
        verb=told["verb"],
        because=told.get("because", ""),
        version=preview.get("version", 0),
        changes=tuple(FieldStory(name, told_change(change)) for name, change in preview.get("changed", {}).items()),
        consent=(preview.get("consent") or {}).get("because", ""),
        ends_as=preview.get("command", ""),
    )
