"""Verdicts and repairs: what a person found out about an effect, and what an admin orders after it.

Each is one durable transaction under the run's lock, on the effect version that was seen. Where a second
admin has to confirm, the step waits; it is void as soon as the effect moves.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from uuid6 import uuid7

from outbox.bell import ring_after_commit
from outbox.cases import (
    Case,
    load_case,
    require_finding,
    require_repair,
    require_version,
    second_person_for_finding,
    second_person_for_repair,
)
from outbox.following import Fact, Movement, move
from outbox.models import Effect, Repair, Verdict
from outbox.remediations import open_remediation
from outbox.states import EffectState, Finding, RepairKind, Step
from runs import confirmations, store
from runs.administration import By
from runs.attempts import request_sha256
from runs.confirmations import Asked, Kind, get_step, waiting_ref
from runs.errors import CommandIdReused
from runs.locks import claim_id, hold_run
from runs.permissions import require_admin
from runs.store import Record
from runs.transactions import durable
from runs.values import Principal

JSON = Any


@dataclass(frozen=True, slots=True)
class VerdictRequest:
    """What an admin found out, where they looked, and the effect version they saw."""

    id: str
    verdict: Finding
    evidence: str
    reason: str
    effect_version: int
    provider_request_id: str | None = None

    def arguments(self) -> dict[str, JSON]:
        return {
            "verdict": self.verdict.value,
            "evidence": self.evidence,
            "reason": self.reason,
            "provider_request_id": self.provider_request_id,
        }


@dataclass(frozen=True, slots=True)
class RepairRequest:
    """What an admin orders, the effect version they saw, and references to what they rest it on."""

    id: str
    repair: RepairKind
    reason: str
    effect_version: int
    evidence: tuple[str, ...] = ()

    def arguments(self) -> dict[str, JSON]:
        return {"repair": self.repair.value, "reason": self.reason, "evidence": list(self.evidence)}


@dataclass(frozen=True, slots=True)
class Ordered:
    """What came of it: in force, or a step for a second admin (`waiting`, `because`) and how that stands."""

    operation_id: str
    waiting: str | None = None
    because: str | None = None
    state: str = "open"  # of the step
    is_replay: bool = False

    @property
    def is_in_force(self) -> bool:
        return self.waiting is None or self.state == "confirmed"


# ---- verdicts --------------------------------------------------------------------------------------------


@durable
def give_verdict(principal: Principal, operation_id: str, request: VerdictRequest) -> Ordered:
    """Record what a person found out about an unknown outcome, or let it wait for a second admin.

    Locks: the id, the run. Raises `NotFound`, `AgentsCannotDecide`, `Forbidden`, `VersionConflict`,
    `InvalidTransition`, `TooEarly`, `CommandIdReused`.
    """
    case = _locked(principal, operation_id, request.id)
    identity = {"name": "verdict", "effect": operation_id, **request.arguments()}
    if replay := _replay(case, request.id, identity):
        return replay
    require_admin(case.principal)
    require_version(case, request.effect_version, name="verdict", command_id=request.id)
    require_finding(case, request.verdict)
    because = second_person_for_finding(case, request.verdict, request.provider_request_id)
    if because is not None:
        return _wait(case, "effect.verdict", request.id, identity, request.arguments(), because)
    _apply_verdict(case, request.arguments(), By(case.principal.actor, request.reason), request.id)
    return _recorded(case, request.id, identity, Ordered(operation_id))


def _apply_verdict(case: Case, given: Mapping[str, JSON], by: By, request_id: str | None) -> None:
    """Write the verdict and what follows from it. A finding that nothing happened clears `may_have_left`."""
    effect, finding, now = case.effect, Finding(given["verdict"]), case.found.now
    confirmed_by = by.confirmation["by"] if by.confirmation else None
    told = {**given, "confirmed_by": confirmed_by, "without_a_second_person": by.without_second_person}
    facts = [Fact("verdict.recorded", told)]
    movement = _after_verdict(case, finding)
    if movement.state != effect.state:
        kind = "effect.cancelled" if movement.state is EffectState.CANCELLED else "effect.settled"
        facts.append(Fact(kind, {"state": movement.state.value, "because": movement.because}))
    seen = effect.version
    move(effect, case.run, movement, facts, actor=by.actor, now=now, command_id=request_id)
    Verdict.objects.create(
        id=uuid7(),
        effect_id=effect.pk,
        verdict=finding.value,
        evidence=given["evidence"],
        provider_request_id=given["provider_request_id"],
        reason=given["reason"],
        by=by.actor,
        confirmed_by=confirmed_by,
        effect_version=seen,
        without_second_person=by.without_second_person,
        at=now,
    )
    if movement.state is EffectState.SUCCEEDED and case.is_revoked:
        open_remediation(effect, "it happened although its approval was revoked meanwhile", by.actor, now, request_id)


def _after_verdict(case: Case, finding: Finding) -> Movement:
    stays = EffectState.NEEDS_RECONCILIATION
    match finding:
        case Finding.HAPPENED:
            return Movement(EffectState.SUCCEEDED, Step.NONE, None, "a person found that it happened")
        case Finding.CANNOT_TELL:
            words = "nobody can tell yet whether it happened"
            return Movement(stays, Step.PERSON, None, words, {"may_have_left": True})  # whatever was found before
    nothing_left: dict[str, JSON] = {"may_have_left": False, "key_clock_started_at": None}
    if case.is_revoked:
        words = "a person found that it did not happen, and its approval was revoked"
        return Movement(EffectState.CANCELLED, Step.NONE, None, words, nothing_left)
    words = "a person found that it did not happen: it can be sent again or marked as failed"
    return Movement(stays, Step.PERSON, None, words, nothing_left)


# ---- repairs ---------------------------------------------------------------------------------------------


@durable
def order_repair(principal: Principal, operation_id: str, request: RepairRequest) -> Ordered:
    """Order a resend, mark as failed, or release from quarantine; or let it wait for a second admin.

    Locks: the id, the run. Raises `NotFound`, `AgentsCannotDecide`, `Forbidden`, `VersionConflict`,
    `InvalidTransition`, `CommandIdReused`.
    """
    case = _locked(principal, operation_id, request.id)
    identity = {"name": "repair", "effect": operation_id, **request.arguments()}
    if replay := _replay(case, request.id, identity):
        return replay
    require_admin(case.principal)
    require_version(case, request.effect_version, name="repair", command_id=request.id)
    require_repair(case, request.repair)
    because = second_person_for_repair(case, request.repair)
    if because is not None:
        return _wait(case, "effect.repair", request.id, identity, request.arguments(), because)
    _apply_repair(case, request.arguments(), By(case.principal.actor, request.reason), request.id)
    return _recorded(case, request.id, identity, Ordered(operation_id))


def _apply_repair(case: Case, given: Mapping[str, JSON], by: By, request_id: str | None) -> None:
    effect, repair, now = case.effect, RepairKind(given["repair"]), case.found.now
    confirmed_by = by.confirmation["by"] if by.confirmation else None
    told = {**given, "confirmed_by": confirmed_by, "without_a_second_person": by.without_second_person}
    kind = "quarantine.released" if repair is RepairKind.RELEASE else "repair.ordered"
    facts, movement = [Fact(kind, told)], _after_repair(repair, now)
    if movement.state is not EffectState.DISPATCHING:
        facts.append(Fact("effect.settled", {"state": movement.state.value, "because": movement.because}))
    seen = effect.version
    move(effect, case.run, movement, facts, actor=by.actor, now=now, command_id=request_id)
    if repair is RepairKind.RESEND:
        ring_after_commit(effect.pk)
    Repair.objects.create(
        id=uuid7(),
        effect_id=effect.pk,
        repair=repair.value,
        reason=given["reason"],
        by=by.actor,
        confirmed_by=confirmed_by,
        effect_version=seen,
        without_second_person=by.without_second_person,
        at=now,
    )


def _after_repair(repair: RepairKind, now: datetime) -> Movement:
    match repair:
        case RepairKind.RESEND:
            words = "an admin ordered it to be sent again"
            return Movement(EffectState.DISPATCHING, Step.SEND, now, words, {"attempts_used": 0})
        case RepairKind.MARK_FAILED:
            return Movement(EffectState.FAILED, Step.NONE, None, "an admin marked it as failed: it did not happen")
        case RepairKind.RELEASE:
            words = "released from quarantine: somebody has to find out whether it happened"
            released = {"quarantined": False, "may_have_left": True}  # what was restored may long have been sent
            return Movement(EffectState.NEEDS_RECONCILIATION, Step.PERSON, None, words, released)


# ---- waiting for a second admin --------------------------------------------------------------------------


def _version_of(operation_id: str) -> str:
    return str(Effect.objects.values_list("version", flat=True).get(pk=operation_id))


def _hold(operation_id: str) -> None:
    hold_run(Effect.objects.values_list("run__key", flat=True).get(pk=operation_id))


def _confirmed_verdict(asked: Asked, by: By) -> JSON:
    case = _as_system(asked.subject)
    require_finding(case, Finding(asked.arguments["verdict"]))
    _apply_verdict(case, asked.arguments, by, None)
    return {"effect": asked.subject}


def _confirmed_repair(asked: Asked, by: By) -> JSON:
    case = _as_system(asked.subject)
    require_repair(case, RepairKind(asked.arguments["repair"]))
    _apply_repair(case, asked.arguments, by, None)
    return {"effect": asked.subject}


def _as_system(operation_id: str) -> Case:
    return load_case(Principal("system", "confirmations"), operation_id)


#: The steps of this app that may wait for a second admin.
WAITING_KINDS: dict[str, Kind] = {
    "effect.verdict": Kind("Verdict on an unknown outcome", _version_of, _confirmed_verdict, _hold),
    "effect.repair": Kind("Repair of an effect", _version_of, _confirmed_repair, _hold),
}


def _wait(
    case: Case, kind: str, request_id: str, identity: dict[str, JSON], arguments: dict[str, JSON], because: str
) -> Ordered:
    """Let it wait; asking for it is told in the ledger by its record, and changes nothing of the effect."""
    version = str(case.effect.version)
    row = confirmations.ask(
        case.principal, Asked(kind, case.effect.pk, arguments, version, because, identity["reason"])
    )
    return _recorded(case, request_id, identity, Ordered(case.effect.pk, waiting_ref(row.pk), because))


# ---- common ----------------------------------------------------------------------------------------------


def _locked(principal: Principal, operation_id: str, request_id: str) -> Case:
    key = load_case(principal, operation_id).run.key
    claim_id(key, principal.actor, request_id)
    hold_run(key)
    return load_case(principal, operation_id)


def _replay(case: Case, request_id: str, identity: Mapping[str, JSON]) -> Ordered | None:
    recorded = store.read(case.run.key, case.principal.actor, request_id).recorded
    if recorded is None:
        return None
    if recorded.request_sha256 != request_sha256(identity):
        raise CommandIdReused(f"{recorded.name} has this id.")
    ordered = Ordered(**json.loads(recorded.answer), is_replay=True)
    return replace(ordered, state=get_step(ordered.waiting).state) if ordered.waiting else ordered


def _recorded(case: Case, request_id: str, identity: dict[str, JSON], ordered: Ordered) -> Ordered:
    answer = {"operation_id": ordered.operation_id, "waiting": ordered.waiting, "because": ordered.because}
    digest = request_sha256(identity)
    record = Record(case.principal.actor, request_id, identity["name"], digest, "done", answer)
    store.record_only(case.run.id, record, case.found.now)
    return ordered
