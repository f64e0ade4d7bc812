"""Asking a provider whether it knows a key, outside any transaction, and recording what it said."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from outbox.bearings import bearings_of
from outbox.cases import load_case, next_steps
from outbox.errors import EffectInFlight
from outbox.following import Fact, Movement, move
from outbox.models import Effect, Lookup
from outbox.providers.base import Known, outside
from outbox.recording import settling
from outbox.remediations import open_remediation
from outbox.retry import Next, after_lookup, proves_from
from outbox.states import Answer, EffectState, Step
from outbox.targets import adapter_of, capabilities_of, revision_of, target_of
from runs import authority, store
from runs.attempts import request_sha256
from runs.chain import rfc3339
from runs.errors import CommandIdReused, InvalidTransition
from runs.locks import claim_id, hold_run
from runs.many import database_clock
from runs.permissions import require_admin
from runs.store import Record
from runs.transactions import durable
from runs.values import Principal

JSON = Any

#: A look-up is a short question.
TIMEOUT = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, when by the database's clock, and under which fence the effect was then."""

    operation_id: str
    run_key: str
    fence: int
    asked_at: datetime


def ask(operation_id: str) -> tuple[Question, Known]:
    """Ask the provider about an effect. Raises `InvalidTransition` where nothing can be looked up, `EffectInFlight`."""
    effect = Effect.objects.select_related("run").get(pk=operation_id)
    row = revision_of(effect)
    if not capabilities_of(row).has_lookup:
        words = f"{row.name} declares no look-up."
        raise InvalidTransition(words, status=effect.state, expected="look-up declared", actual="no look-up")
    if effect.lease_owner is not None:
        words = "A worker holds it right now: ask when its attempt has ended."
        raise EffectInFlight(words, expected="no worker", actual=effect.lease_owner)
    question = Question(operation_id, effect.run.key, effect.fence, database_clock())
    outside()
    return question, adapter_of(row).look_up(target_of(row), effect.idempotency_key, TIMEOUT)


@durable
def record_lookup(question: Question, known: Known, actor: str) -> Lookup:
    """Record an answer; where the effect still waits for it, take the next step. Locks: the run.

    A look-up raises the effect's version. It settles an effect only where the answer proves something, and what an
    answer proves is judged by when the question was asked, however late it is recorded.
    """
    hold_run(question.run_key)
    return _write(question, known, actor)


def _write(
    question: Question,
    known: Known,
    actor: str,
    record: Record | None = None,
    why: Mapping[str, JSON] | None = None,
) -> Lookup:
    command_id = record.id if record else None
    found = store.read(question.run_key)
    run, now = found.run, found.now
    assert run is not None
    (bearing,) = bearings_of([(Effect.objects.get(pk=question.operation_id), run)])
    effect, can = bearing.effect, bearing.can
    at = bearing.position(question.asked_at, may_have_left=effect.may_have_left)
    is_current = effect.fence == question.fence and effect.lease_owner is None
    taken = _next(effect, known, after_lookup(known.answer, can, at)) if is_current else None
    settles_from = proves_from(can, at)
    proves = known.answer is Answer.FOUND or (
        known.answer is Answer.NOT_FOUND and settles_from is not None and question.asked_at >= settles_from
    )
    told = {"answer": known.answer.value, "proves": proves, "provider_request_id": known.provider_request_id}
    facts = [Fact("lookup.recorded", {**told, "at": rfc3339(now), **(why or {})})]
    if taken is not None and taken.state != effect.state:
        facts.append(settling(taken))
    move(effect, run, _movement(effect, taken), facts, actor=actor, now=now, command_id=command_id, record=record)
    if taken is not None and taken.state is EffectState.SUCCEEDED and at.is_revoked:
        open_remediation(effect, "it happened although its approval was revoked meanwhile", actor, now)
    return Lookup.objects.create(
        effect_id=effect.pk,
        actor=actor,
        command_id=command_id,
        at=now,
        answer=known.answer.value,
        provider_request_id=known.provider_request_id,
        http_status=known.http_status,
        detail=known.detail,
        proves=proves,
    )


def _next(effect: Effect, known: Known, taken: Next) -> Next | None:
    """What the answer changes: proof that it happened settles whatever was tried; nothing else settles a person's case.

    What is in quarantine is released first.
    """
    if effect.quarantined:
        return None
    if effect.state == EffectState.DISPATCHING and effect.next_step == Step.LOOK_UP:
        return taken
    was_tried = effect.state in (EffectState.DISPATCHING, EffectState.NEEDS_RECONCILIATION)
    return taken if was_tried and known.answer is Answer.FOUND else None


def _movement(effect: Effect, taken: Next | None) -> Movement:
    if taken is None:
        state = EffectState(effect.state)
        return Movement(state, Step(effect.next_step), effect.next_at, effect.because, {"ended_at": effect.ended_at})
    return Movement(taken.state, taken.step, taken.at, taken.because)


@dataclass(frozen=True, slots=True)
class LookupRequest:
    """That an admin wants the provider to be asked now."""

    id: str
    reason: str | None = None
    evidence: tuple[str, ...] = ()

    def identity(self, operation_id: str) -> dict[str, JSON]:
        return {"name": "look-up", "effect": operation_id, "reason": self.reason, "evidence": list(self.evidence)}


@dataclass(frozen=True, slots=True)
class LookedUp:
    """The recorded answer of a look-up, and whether it had been asked before under this id."""

    row: Lookup
    is_replay: bool


def look_up_now(principal: Principal, operation_id: str, request: LookupRequest) -> LookedUp:
    """Ask the provider now, as an admin, and record the answer. A repeat of the id asks nothing again.

    Locks, to record it: the id, the run. Raises `AgentsCannotDecide`, `Forbidden`, `InvalidTransition`,
    `EffectInFlight`, `CommandIdReused`.
    """
    require_admin(principal)
    if known := _asked_before(principal, operation_id, request):
        return LookedUp(known, is_replay=True)
    try:
        question, answer = ask(operation_id)
    except InvalidTransition as refusal:
        refusal.members["next"] = next_steps(load_case(principal, operation_id))
        raise
    return _record_once(principal, question, answer, request)


def _asked_before(principal: Principal, operation_id: str, request: LookupRequest) -> Lookup | None:
    """The look-up that this id stands for. Raises `CommandIdReused` where it stands for something else."""
    key = Effect.objects.values_list("run__key", flat=True).get(pk=operation_id)
    recorded = store.read(key, principal.actor, request.id).recorded
    if recorded is None:
        return None
    if recorded.request_sha256 != request_sha256(request.identity(operation_id)):
        raise CommandIdReused(f"{recorded.name} has this id.")
    return Lookup.objects.get(effect_id=operation_id, command_id=request.id, actor=principal.actor)


@durable
def _record_once(principal: Principal, question: Question, known: Known, request: LookupRequest) -> LookedUp:
    """Record what was answered under an id, unless another delivery of the id came first."""
    claim_id(question.run_key, principal.actor, request.id)
    hold_run(question.run_key)
    require_admin(authority.current(principal))
    if earlier := _asked_before(principal, question.operation_id, request):
        return LookedUp(earlier, is_replay=True)
    identity = request.identity(question.operation_id)
    told = {"effect": question.operation_id}
    record = Record(principal.actor, request.id, identity["name"], request_sha256(identity), "done", told)
    why = {"reason": request.reason, "evidence": list(request.evidence)}
    return LookedUp(_write(question, known, principal.actor, record, why), is_replay=False)
