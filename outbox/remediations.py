"""Remediations: open tasks after a send that should not stand, worked off step by step."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from uuid6 import uuid7

from outbox.models import Effect, Remediation, RemediationStep
from outbox.providers.base import outside
from outbox.states import Answer
from outbox.targets import adapter_of, declares, revision_of, target_of
from runs import authority, store
from runs.attempts import request_sha256
from runs.errors import AlreadyDecided, CommandIdReused, InvalidTransition, NotFound
from runs.locks import claim_id, hold_run
from runs.permissions import may_see, require_admin
from runs.store import Record
from runs.transactions import durable
from runs.values import NewEntry, Principal

JSON = Any

CANCEL_TIMEOUT = timedelta(seconds=10)


class RemediationStepKind(StrEnum):
    """What can be done about a send that should not stand."""

    PROVIDER_CANCEL = "provider-cancel"  # ask the provider to cancel, where it declares that it can
    NOTIFIED = "notified"  # whoever is concerned was told
    COMPENSATED = "compensated"  # an own action took it back
    CORRECTED = "corrected"  # a corrected version went out
    CLOSED = "closed"  # nothing more is to be done


@dataclass(frozen=True, slots=True)
class StepRequest:
    """One step of a remediation, with evidence."""

    id: str
    step: RemediationStepKind
    evidence: str
    reason: str

    def identity(self, ref: str) -> dict[str, JSON]:
        names = ("evidence", "reason")
        return {"name": "remediate", "remediation": ref, "step": self.step.value} | {
            name: getattr(self, name) for name in names
        }


def remediation_ref(number: UUID) -> str:
    """The public id of a remediation."""
    return f"rm-{number.hex}"


def get_remediation(principal: Principal, ref: str) -> Remediation:
    """A remediation as `principal` sees it. Raises `NotFound`."""
    try:
        number = UUID(ref.removeprefix("rm-"))
    except ValueError as error:
        raise NotFound from error
    row = Remediation.objects.select_related("effect__run").filter(pk=number).first()
    if row is None or remediation_ref(number) != ref:
        raise NotFound
    if not may_see(principal, row.effect.workflow, authority.policy_of(row.effect.workflow)):
        raise NotFound
    return row


def open_remediation(
    effect: Effect, because: str, actor: str, now: datetime, command_id: str | None = None
) -> Remediation:
    """Open a remediation with its ledger entry. Needs an open transaction that holds the run's lock."""
    run = store.read_by_id(effect.run_id)
    number = uuid7()
    body = {"effect": effect.operation_id, "remediation": remediation_ref(number), "because": because}
    entry = NewEntry("remediation.opened", actor, command_id, body, run.version)
    store.require_step(run, run, [entry], None, now)
    return Remediation.objects.create(id=number, effect_id=effect.pk, because=because, opened_by=actor, opened_at=now)


def take_step(principal: Principal, ref: str, request: StepRequest) -> bool:
    """Take one step of a remediation; True when this id had taken it before, and nothing was done again.

    Asking the provider to cancel happens outside any transaction.

    Locks: the id, the run. Raises `NotFound`, `AgentsCannotDecide`, `Forbidden`, `AlreadyDecided`,
    `InvalidTransition` where the provider cannot cancel, `CommandIdReused`.
    """
    row = get_remediation(principal, ref)
    require_admin(principal)
    if _was_taken(row, principal, request):
        return True
    found = None
    if request.step is RemediationStepKind.PROVIDER_CANCEL and row.state == "open":
        found = _ask_to_cancel(row.effect)
    return _write_step(principal, ref, request, found)


def _was_taken(row: Remediation, principal: Principal, request: StepRequest) -> bool:
    """Whether this request was recorded before. Raises `CommandIdReused` when its id stands for another."""
    recorded = store.read(row.effect.run.key, principal.actor, request.id).recorded
    if recorded is not None and recorded.request_sha256 != request_sha256(request.identity(remediation_ref(row.pk))):
        raise CommandIdReused
    return recorded is not None


def _ask_to_cancel(effect: Effect) -> str:
    destination = revision_of(effect)
    if not declares(destination, "cancel_url"):
        words = f"{destination.name} declares no way to cancel."
        others = [step.value for step in RemediationStepKind if step is not RemediationStepKind.PROVIDER_CANCEL]
        raise InvalidTransition(
            words, status=effect.state, next=others, expected="cancel declared", actual="no way to cancel"
        )
    outside()
    known = adapter_of(destination).cancel(target_of(destination), effect.idempotency_key, CANCEL_TIMEOUT)
    said = {Answer.FOUND: "cancelled", Answer.NOT_FOUND: "too late", Answer.CANNOT_TELL: "cannot tell"}
    return f"{said[known.answer]} {known.detail}".strip()


@durable
def _write_step(principal: Principal, ref: str, request: StepRequest, found: str | None) -> bool:
    row = get_remediation(principal, ref)
    key = row.effect.run.key
    claim_id(key, principal.actor, request.id)
    hold_run(key)
    seen = store.read(key, principal.actor, request.id)
    principal = authority.current(principal, seen.authority_epoch, seen.now)
    require_admin(principal)
    if _was_taken(row, principal, request):
        return True
    row.refresh_from_db()
    if row.state != "open":
        raise AlreadyDecided("This remediation is done.", expected="open", actual=row.state)
    is_last = request.step is RemediationStepKind.CLOSED
    evidence = f"{request.evidence} (provider: {found})" if found else request.evidence
    RemediationStep.objects.create(
        remediation=row,
        step=request.step.value,
        evidence=evidence,
        reason=request.reason,
        by=principal.actor,
        at=seen.now,
    )
    if is_last:
        Remediation.objects.filter(pk=row.pk).update(state="done", done_at=seen.now)
        _tell_done(row, principal, request, seen.now)
    answer = {"remediation": ref, "step": request.step.value, "provider": found}
    digest = request_sha256(request.identity(ref))
    store.record_only(
        row.effect.run_id, Record(principal.actor, request.id, "remediate", digest, "done", answer), seen.now
    )
    return False


def _tell_done(row: Remediation, principal: Principal, request: StepRequest, now: datetime) -> None:
    run = store.read_by_id(row.effect.run_id)
    steps = list(row.steps.order_by("id").values_list("step", flat=True))
    body = {"effect": row.effect_id, "remediation": remediation_ref(row.pk), "steps": steps, "reason": request.reason}
    entry = NewEntry("remediation.done", principal.actor, request.id, body, run.version)
    store.require_step(run, run, [entry], None, now)
