"""Bulk repairs: first the plan, row by row, on the version of each effect that it saw; then, applied, what became of
each row.

A plan changes nothing. Applying one orders the repair of each effect by itself, on the planned version, with the very
checks that ordering it alone has; a row that moved since is refused, and the others go on.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from uuid6 import uuid7

from outbox.cases import load_case, require_repair, second_person_for_repair
from outbox.findings import RepairRequest, order_repair
from outbox.models import Effect, RepairPlan
from outbox.states import EffectState, RepairKind
from runs import authority, store
from runs.errors import ClearanceError, Fault, InvalidParams, NotFound
from runs.locks import claim_id
from runs.permissions import require_admin, require_overseer
from runs.requests import record_answer, recorded_answer
from runs.transactions import durable
from runs.values import Principal

JSON = Any

#: Effects that one plan may name.
MOST_ROWS = 100


class RowState(StrEnum):
    """What a row comes to. A plan foresees it; an application reports it."""

    SETTLED = "settled"  # the repair is in force
    REFUSED = "refused"  # it is not, and why
    STILL_UNKNOWN = "still-unknown"  # a person, or a second admin, comes first


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """One effect of a plan: the version that was seen, and what applying would come to."""

    effect: str
    version: int
    state: RowState
    because: str


@dataclass(frozen=True, slots=True)
class AppliedRow:
    """What applying a plan did to one effect."""

    effect: str
    state: RowState
    because: str
    waiting: str | None = None  # the step that waits for a second admin


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """Which effects an admin wants to repair alike."""

    id: str
    effects: tuple[str, ...]
    repair: RepairKind
    reason: str
    evidence: tuple[str, ...] = ()

    def identity(self) -> dict[str, JSON]:
        return {
            "name": "plan-repairs",
            "effects": list(self.effects),
            "repair": self.repair.value,
            "reason": self.reason,
            "evidence": list(self.evidence),
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan, and whether this very request had made it before."""

    row: RepairPlan
    rows: tuple[PlannedRow, ...]
    is_replay: bool = False

    @property
    def ref(self) -> str:
        return f"rp-{self.row.pk.hex}"

    @property
    def repair(self) -> RepairKind:
        return RepairKind(self.row.repair)


@dataclass(frozen=True, slots=True)
class ApplicationRequest:
    """That an admin, having looked at a plan, wants it applied."""

    id: str
    reason: str | None = None
    evidence: tuple[str, ...] = ()

    def identity(self, ref: str) -> dict[str, JSON]:
        return {"name": "apply-repair-plan", "plan": ref, "reason": self.reason, "evidence": list(self.evidence)}


@dataclass(frozen=True, slots=True)
class Application:
    """What applying a plan came to, row by row."""

    rows: tuple[AppliedRow, ...]
    is_replay: bool = False


# ---- planning --------------------------------------------------------------------------------------------


@durable
def make_plan(principal: Principal, request: PlanRequest) -> Plan:
    """Plan one repair of several effects. Changes none of them.

    Locks: the id. Raises `AgentsCannotDecide`, `Forbidden`, `CommandIdReused`, and `InvalidParams` where an effect
    is not there or may not be seen.
    """
    found = store.read("")
    principal = authority.current(principal, found.authority_epoch, found.now)
    require_admin(principal)
    claim_id("repair plans", principal.actor, request.id)
    known = recorded_answer(principal.actor, request.id, request.identity())
    if known is not None:
        return _read(known["plan"], is_replay=True)
    if not 1 <= len(set(request.effects)) <= MOST_ROWS:
        words = f"A plan is for 1 to {MOST_ROWS} effects."
        raise InvalidParams(words, errors=[Fault("/effects", "count", words)])
    rows = _planned_rows(principal, request)
    row = RepairPlan.objects.create(
        id=uuid7(),
        repair=request.repair.value,
        reason=request.reason,
        evidence=list(request.evidence),
        rows=json.dumps([asdict(item) for item in rows], ensure_ascii=False),
        by=principal.actor,
        at=found.now,
    )
    plan = Plan(row, tuple(rows))
    record_answer(principal.actor, request.id, request.identity(), {"plan": plan.ref})
    return plan


def _planned_rows(principal: Principal, request: PlanRequest) -> list[PlannedRow]:
    """Every effect once, in the order given."""
    rows: dict[str, PlannedRow] = {}
    faults = []
    for place, number in enumerate(request.effects):
        try:
            rows[number] = rows.get(number) or _planned(principal, number, request.repair)
        except NotFound:
            faults.append(Fault(f"/effects/{place}", "not-found", "There is no such effect."))
    if faults:
        raise InvalidParams(errors=faults)
    return list(rows.values())


def _planned(principal: Principal, operation_id: str, repair: RepairKind) -> PlannedRow:
    case = load_case(principal, operation_id)
    version = case.effect.version
    try:
        require_repair(case, repair)
    except ClearanceError as refusal:
        return PlannedRow(operation_id, version, _refused(case.effect), refusal.detail)
    if second := second_person_for_repair(case, repair):
        return PlannedRow(operation_id, version, RowState.STILL_UNKNOWN, f"a second admin has to confirm: {second}")
    return PlannedRow(operation_id, version, RowState.SETTLED, "")


def _refused(effect: Effect) -> RowState:
    """How a refusal is told: where nobody knows whether it happened, that is what stands in the way."""
    is_unknown = effect.state == EffectState.NEEDS_RECONCILIATION and effect.may_have_left
    return RowState.STILL_UNKNOWN if is_unknown else RowState.REFUSED


def get_plan(principal: Principal, ref: str) -> Plan:
    """A plan, for admins and auditors. Raises `Forbidden`, `NotFound`."""
    require_overseer(principal)
    return _read(ref)


def _read(ref: str, *, is_replay: bool = False) -> Plan:
    try:
        number = UUID(ref.removeprefix("rp-"))
    except ValueError as error:
        raise NotFound from error
    row = RepairPlan.objects.filter(pk=number).first()
    if row is None or f"rp-{number.hex}" != ref:
        raise NotFound
    rows = [PlannedRow(**{**item, "state": RowState(item["state"])}) for item in json.loads(row.rows)]
    return Plan(row, tuple(rows), is_replay)


# ---- applying --------------------------------------------------------------------------------------------


def apply_plan(principal: Principal, ref: str, request: ApplicationRequest) -> Application:
    """Order the planned repair of every row, each on the version that was planned. One refusal stops no other row.

    Every row is a transaction of its own, under an id of its own, so applying a plan again orders nothing twice.
    Raises `NotFound`, `AgentsCannotDecide`, `Forbidden`, `CommandIdReused`.
    """
    require_admin(principal)
    plan = get_plan(principal, ref)
    if known := recorded_application(principal, ref, request):
        return known
    rows = [_applied(principal, plan, number, row) for number, row in enumerate(plan.rows, start=1)]
    return _record(principal, ref, request, rows)


def recorded_application(principal: Principal, ref: str, request: ApplicationRequest) -> Application | None:
    """What became of this application; None when there was none. Raises `CommandIdReused`."""
    known = recorded_answer(principal.actor, request.id, request.identity(ref))
    if known is None:
        return None
    rows = [AppliedRow(**{**item, "state": RowState(item["state"])}) for item in known["rows"]]
    return Application(tuple(rows), is_replay=True)


def _applied(principal: Principal, plan: Plan, number: int, row: PlannedRow) -> AppliedRow:
    request = RepairRequest(f"{plan.ref}:{number}", plan.repair, plan.row.reason, row.version, tuple(plan.row.evidence))
    try:
        ordered = order_repair(principal, row.effect, request)
    except NotFound:
        return AppliedRow(row.effect, RowState.REFUSED, "You may not see it any more.")
    except ClearanceError as refusal:
        return AppliedRow(row.effect, _refused(Effect.objects.get(pk=row.effect)), refusal.detail)
    if ordered.is_in_force:
        return AppliedRow(row.effect, RowState.SETTLED, "")
    if ordered.state != "open":
        return AppliedRow(row.effect, RowState.REFUSED, f"what waited for a second admin is {ordered.state}")
    words = f"it waits for a second admin: {ordered.because}"
    return AppliedRow(row.effect, RowState.STILL_UNKNOWN, words, ordered.waiting)


@durable
def _record(principal: Principal, ref: str, request: ApplicationRequest, rows: Sequence[AppliedRow]) -> Application:
    """Record what came of it under the id, once: of two at the same time the first is kept."""
    claim_id("repair plans", principal.actor, request.id)
    if known := recorded_application(principal, ref, request):
        return known
    record_answer(principal.actor, request.id, request.identity(ref), {"rows": [asdict(item) for item in rows]})
    return Application(tuple(rows))
