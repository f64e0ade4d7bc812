"""What screens and the API read about stale commands: their records, the conflicts kept of them, the open cases.

Writes nothing and takes no locks.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from runs import store
from runs.chain import rfc3339
from runs.conflicts import changed_since, state_at_base
from runs.errors import NotFound
from runs.keyset import following
from runs.models import Command, Conflict, Escalation
from runs.refusals import conflict_ref, escalation_ref
from runs.values import version_tag
from runs.verbs import Case, verbs_for

JSON = Any


# ---- records of commands ---------------------------------------------------------------------------------

#: The disposition by which a refused command is told, by the state of its record.
REFUSED_AS = {"retry": "retry", "rejected": "reject", "escalated": "escalate"}


#: The state of a record whose answer is not that of a command: what was asked for was done.
DONE = "done"


@dataclass(frozen=True, slots=True)
class CommandRecord:
    """What became of one id of one principal."""

    id: str
    principal: str
    name: str
    state: str
    answer: Mapping[str, JSON]
    resolution: Mapping[str, JSON] | None

    @property
    def is_waiting(self) -> bool:
        """Whether an operator has yet to say what becomes of it."""
        return self.state == "escalated"

    def as_json(self) -> dict[str, JSON]:
        return {
            "id": self.id,
            "principal": self.principal,
            "state": self.state,
            "outcome": as_it_stands(self.state, self.answer, self.resolution),
            "resolution": self.resolution,
        }


def get_command(run_id: int, principal: str, command_id: str) -> CommandRecord:
    """What became of an id on this run, whatever it was sent for. Raises `NotFound` when it was never seen here."""
    commands = Command.objects.filter(run_id=run_id, principal=principal, command_id=command_id)
    row = commands.values_list("name", "state", "answer", "resolution").first()
    if row is None:
        raise NotFound(f"{command_id} was never seen here.")
    name, state, answer, resolution = row
    told = json.loads(answer)
    if state == DONE:
        state, told = "committed", {"id": command_id, **told}
    return CommandRecord(command_id, principal, name, state, told, _from_text(resolution))


def as_it_stands(state: str, answer: Mapping[str, JSON], resolution: Mapping[str, JSON] | None) -> dict[str, JSON]:
    """The recorded answer of a command as it stands now: how a case was settled may have made another thing of it."""
    told = {} if resolution is None else {"resolution": resolution}
    if state in REFUSED_AS:
        return {**answer, "disposition": REFUSED_AS[state], **told}
    if "disposition" not in answer:
        return {**answer, "outcome": state, **told}
    return {
        "id": answer["command_id"],
        "outcome": state,
        "base_version": answer["base_version"],
        "version": None if resolution is None else resolution["version"],
        "conflict": answer["conflict"],
        "escalation": answer["escalation"],
        **told,
    }


def _from_text(text: str | None) -> JSON:
    return json.loads(text) if text else None


# ---- conflicts -------------------------------------------------------------------------------------------


def conflict_number(ref: str) -> UUID:
    """The number behind a public id. Raises `NotFound` for what is no id of a conflict."""
    try:
        number = UUID(ref.removeprefix("cf-"))
    except ValueError as error:
        raise NotFound from error
    if conflict_ref(number) != ref:
        raise NotFound
    return number


def get_conflict(number: UUID) -> Conflict:
    """A conflict with its run. Raises `NotFound`."""
    conflict = _conflicts().filter(pk=number).first()
    if conflict is None:
        raise NotFound
    return conflict


def list_conflicts(
    workflows: Collection[str],
    limit: int,
    *,
    before: UUID | None = None,
    run: str | None = None,
    disposition: str | None = None,
) -> list[Conflict]:
    """Conflicts of `workflows`, the newest first, those before conflict `before`."""
    conflicts = _conflicts().defer("run__fields", "run__held", "base", "proposal").filter(workflow__in=workflows)
    if run is not None:
        conflicts = conflicts.filter(run__key=run)
    if disposition is not None:
        conflicts = conflicts.filter(disposition=disposition)
    if before is not None:
        conflicts = conflicts.filter(id__lt=before)
    return list(conflicts.order_by("-id")[:limit])


def _conflicts() -> QuerySet[Conflict]:
    return Conflict.objects.select_related("run")


def tell_conflict(conflict: Conflict) -> dict[str, JSON]:
    """A conflict as the answer that was given for it, with what it was about. The answer goes when it is erased."""
    return {
        **json.loads(conflict.problem or "{}"),
        "id": conflict_ref(conflict.pk),
        "conflict": conflict_ref(conflict.pk),
        "run": conflict.run.key,
        "workflow": conflict.workflow,
        "principal": conflict.principal,
        "command_id": conflict.command_id,
        "name": conflict.name,
        "intent": conflict.intent,
        "base_version": conflict.base_version,
        "current_version": conflict.current_version,
        "disposition": conflict.disposition,
        "at": rfc3339(conflict.at),
    }


def tell_both_sides(conflict: Conflict) -> dict[str, JSON]:
    """A conflict with the fields it was computed from and the command it proposed; each None once erased."""
    return {**tell_conflict(conflict), "base": _tell_base(conflict), "proposal": _from_text(conflict.proposal)}


def _tell_base(conflict: Conflict) -> dict[str, JSON] | None:
    if not conflict.base:
        return None
    return {"version": conflict.base_version, "fields": json.loads(conflict.base)}


# ---- escalations -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """A place in the queue of open cases: after this one."""

    is_material: bool
    opened_at: datetime
    id: UUID

    @classmethod
    def of(cls, row: Escalation) -> "QueuePlace":
        return cls(row.is_material, row.opened_at, row.pk)

    @property
    def later(self) -> Q:
        """What follows in the queue: material cases first, then by age."""
        younger = following((self.opened_at, self.id), ("opened_at", "id"))
        same_weight = Q(is_material=self.is_material) & younger
        return same_weight | Q(is_material=False) if self.is_material else same_weight


def list_open_cases(
    workflows: Collection[str], limit: int, *, after: QueuePlace | None = None, principal: str | None = None
) -> list[Escalation]:
    """The queue of open cases of `workflows`: material ones first, then the oldest. With `principal`, only theirs."""
    cases = _cases(workflows, principal).filter(state="open")
    if after is not None:
        cases = cases.filter(after.later)
    return list(cases.order_by("-is_material", "opened_at", "id")[:limit])


def list_cases(
    workflows: Collection[str],
    limit: int,
    *,
    before: UUID | None = None,
    state: str | None = None,
    principal: str | None = None,
) -> list[Escalation]:
    """Cases of `workflows`, the newest first, those before case `before`. With `principal`, only theirs."""
    cases = _cases(workflows, principal)
    if state is not None:
        cases = cases.filter(state=state)
    if before is not None:
        cases = cases.filter(id__lt=before)
    return list(cases.order_by("-id")[:limit])


def _cases(workflows: Collection[str], principal: str | None) -> QuerySet[Escalation]:
    cases = Escalation.objects.select_related("run", "conflict").defer("run__fields", "run__held", "conflict__base")
    cases = cases.filter(workflow__in=workflows)
    return cases if principal is None else cases.filter(principal=principal)


def is_open(number: UUID) -> bool:
    """Whether a case still waits for an operator."""
    return Escalation.objects.filter(pk=number, state="open").exists()


def tell_row(row: Escalation, now: datetime) -> dict[str, JSON]:
    """A case as a line of the queue. A claim that has run out is nobody's."""
    is_held = row.claimed_until is not None and row.claimed_until > now and row.state == "open"
    problem = json.loads(row.conflict.problem or "{}")
    return {
        "id": escalation_ref(row.pk),
        "url": f"/escalations/{escalation_ref(row.pk)}/",
        "run": row.run.key,
        "workflow": row.workflow,
        "state": row.state,
        "version": row.version,
        "principal": row.principal,
        "intent": row.intent,
        "command_id": row.command_id,
        "conflict": conflict_ref(row.conflict_id),
        "is_material": row.is_material,
        "because": problem.get("detail"),
        "rule": problem.get("rule"),
        "opened_at": rfc3339(row.opened_at),
        "settled_at": rfc3339(row.settled_at) if row.settled_at else None,
        "held_by": row.claimed_by if is_held else None,
        "held_until": rfc3339(row.claimed_until) if is_held and row.claimed_until else None,
        "resolution": _from_text(row.resolution),
    }


def tell_case(case: Case) -> dict[str, JSON]:
    """A case with both sides, what moved between them, and what may be done about it by whom it was read for."""
    row, run = case.row, case.run
    proposal = case.proposal.identity() | {"id": case.proposal.id}
    return {
        **tell_row(row, case.found.now),
        "base": _tell_base(row.conflict),
        "current": {
            "version": run.version,
            "etag": version_tag(case.found.ledger_epoch, run.version),
            "status": run.state.status.value,
            "fields": dict(run.state.fields),
        },
        "proposal": proposal,
        "earlier_proposals": _earlier_proposals(row),
        "changed_fields": _changed_fields(case),
        "evidence": proposal["evidence"],
        "verbs": verbs_for(case),
    }


def _earlier_proposals(row: Escalation) -> list[dict[str, JSON]]:
    conflicts = Conflict.objects.in_bulk(row.earlier_conflicts)
    found = [conflicts[number] for number in row.earlier_conflicts]
    return [
        {"conflict": conflict_ref(each.pk), "base_version": each.base_version, "proposal": _from_text(each.proposal)}
        for each in found
    ]


def _changed_fields(case: Case) -> list[dict[str, JSON]]:
    """What was touched since the base of the proposal, as of now; as of then where that cannot be told any more."""
    between = store.entries_between(case.run, case.base_version) if case.base_version >= 1 else None
    if between is None:
        recorded: list[dict[str, JSON]] = json.loads(case.row.conflict.problem or "{}").get("changed_fields", [])
        return recorded
    base = state_at_base(case.run.state, between)
    return [change.as_json() for change in changed_since(base, case.run.state, between)]
