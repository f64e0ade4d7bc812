"""Steps that wait for a second admin: asked for by one, in force when another confirms, void when overtaken.

A waiting step keeps the arguments of an action and the version of its subject; confirming it runs that very action,
unless the subject has moved since. Which kinds of steps there are is told by the caller: each app has some.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models.functions import Now

from runs import authority
from runs.administration import By, authority_change
from runs.digest import canonical
from runs.errors import AlreadyDecided, NotFound, SeparationOfDuties, Unavailable
from runs.locks import claim_id
from runs.models import Person, WaitingStep
from runs.permissions import is_admin, require_admin
from runs.requests import record_answer, recorded_answer
from runs.states import Role
from runs.transactions import durable
from runs.values import Principal

JSON = Any


@dataclass(frozen=True, slots=True)
class Asked:
    """What waits: the arguments of the action, and who wants it why."""

    kind: str
    subject: str
    arguments: Mapping[str, JSON]
    based_on: str
    because: str
    reason: str
    secret: str = ""  # the hash of a new password, never shown


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of step: in words, at which version its subject is now, and the action itself.

    `apply` runs in the transaction of the confirmation and answers with what it made. `hold` takes the lock under
    which the subject stays at its version; changes of authority are one at a time and need none.
    """

    title: str
    version_of: Callable[[str], str]
    apply: Callable[[Asked, By], JSON]
    hold: Callable[[str], None] | None = None

    @property
    def changes_authority(self) -> bool:
        return self.hold is None


Kinds = Mapping[str, Kind]


def waiting_ref(number: UUID) -> str:
    """The public id of a waiting step."""
    return f"w-{number.hex}"


def get_step(ref: str) -> WaitingStep:
    """A waiting step by its public id. Raises `NotFound`."""
    try:
        number = UUID(ref.removeprefix("w-"))
    except ValueError as error:
        raise NotFound from error
    row = WaitingStep.objects.select_related("proposed_by", "settled_by_person").filter(pk=number).first()
    if row is None or waiting_ref(number) != ref:
        raise NotFound
    return row


def asked(row: WaitingStep) -> Asked:
    """What a stored step asks for."""
    return Asked(
        row.kind, row.subject, json.loads(row.arguments), row.based_on, row.because, row.reason, row.secret
    )  # fmt: skip


# ---- asking ----------------------------------------------------------------------------------------------


def ask(admin: Principal, step: Asked) -> WaitingStep:
    """Let a step wait for a second admin. Needs an open transaction."""
    return WaitingStep.objects.create(
        kind=step.kind,
        subject=step.subject,
        arguments=canonical(dict(step.arguments)).decode(),
        based_on=step.based_on,
        because=step.because,
        reason=step.reason,
        secret=step.secret,
        proposed_by_id=admin.id,
    )


# ---- how a step stands -----------------------------------------------------------------------------------


def overtaken_by(kinds: Kinds, row: WaitingStep) -> str:
    """Why an open step can no longer be confirmed, in words; empty while it can."""
    now = kinds[row.kind].version_of(row.subject)
    if now != row.based_on:
        return f"{row.subject} has changed since this was asked for."
    if not row.proposed_by.is_active or Role.ADMIN not in row.proposed_by.roles:
        return f"{row.proposed_by.username}, who asked for it, is no longer an admin."
    return ""


# ---- confirming ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Settling:
    """How somebody settles a waiting step."""

    id: str
    reason: str
    evidence: tuple[str, ...] = ()

    def identity(self, ref: str, verb: str) -> dict[str, JSON]:
        return {"name": verb, "waiting": ref, "reason": self.reason, "evidence": list(self.evidence)}


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of a step, as it was recorded."""

    answer: Mapping[str, JSON]
    is_replay: bool = False


@dataclass(frozen=True, slots=True)
class _Void:
    """The step was overtaken; that is written, and then refused."""

    because: str


def confirm(kinds: Kinds, principal: Principal, ref: str, request: Settling) -> Settled:
    """Confirm a step as a second admin: its action is in force when this returns.

    Locks: authority (shared), the step, and those of the action. Raises `NotFound`, `AgentsCannotDecide`, `Forbidden`,
    `CommandIdReused`, `SeparationOfDuties`, `AlreadyDecided` (settled, or void because it was overtaken), and what
    the action raises.
    """
    kind = kinds[get_step(ref).kind]
    settle = authority_change(_confirm) if kind.changes_authority else durable(_confirm)
    return _or_refused(settle(kinds, principal, ref, request))


def _confirm(kinds: Kinds, principal: Principal, ref: str, request: Settling) -> Settled | _Void:
    admin = authority.current(principal)
    identity = request.identity(ref, "confirm")
    if (recorded := recorded_answer(admin.actor, request.id, identity)) is not None:
        return Settled(recorded, is_replay=True)
    require_admin(admin)
    row = _claimed(ref)
    if row.proposed_by_id == admin.id:
        raise SeparationOfDuties("You asked for this yourself: another admin has to confirm it.", because="proposer")
    outcome = _apply(kinds, row, _Hand(admin.actor, admin.id, request.reason))
    if isinstance(outcome, Settled):
        record_answer(admin.actor, request.id, identity, outcome.answer)
    return outcome


def confirm_alone(kinds: Kinds, ref: str, actor: str, reason: str) -> Settled:
    """Confirm a step without a second person, on the command line of the installation. It says so for ever.

    Raises `NotFound`, `AlreadyDecided`, and what the action raises.
    """
    kind = kinds[get_step(ref).kind]
    settle = authority_change(_confirm_alone) if kind.changes_authority else durable(_confirm_alone)
    return _or_refused(settle(kinds, ref, actor, reason))


def _confirm_alone(kinds: Kinds, ref: str, actor: str, reason: str) -> Settled | _Void:
    return _apply(kinds, _claimed(ref), _Hand(actor, None, reason))


def withdraw(principal: Principal, ref: str, request: Settling) -> Settled:
    """Take a step off the list without confirming it, as any admin. Nothing changes by it.

    Raises `NotFound`, `AgentsCannotDecide`, `Forbidden`, `CommandIdReused`, `AlreadyDecided`.
    """
    return durable(_withdraw)(principal, ref, request)


def _withdraw(principal: Principal, ref: str, request: Settling) -> Settled:
    admin = authority.current(principal)
    identity = request.identity(ref, "withdraw")
    if (recorded := recorded_answer(admin.actor, request.id, identity)) is not None:
        return Settled(recorded, is_replay=True)
    require_admin(admin)
    row = _claimed(ref)
    _settle(row, "withdrawn", _Hand(admin.actor, admin.id, request.reason))
    answer = {"waiting": ref, "state": "withdrawn"}
    record_answer(admin.actor, request.id, identity, answer)
    return Settled(answer)


# ---- settling --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Hand:
    """Who settles a step and why; on the command line nobody whose name we know."""

    actor: str
    person_id: int | None
    reason: str

    @property
    def is_alone(self) -> bool:
        return self.person_id is None


def _claimed(ref: str) -> WaitingStep:
    """An open step that nobody else settles meanwhile. Raises `NotFound`, `CommandInProgress`, `AlreadyDecided`."""
    claim_id("waiting step", ref, "")
    row = get_step(ref)
    if row.state != "open":
        by = row.settled_by or "nobody"
        raise AlreadyDecided(f"This was {row.state} by {by} already.", expected="open", actual=row.state)
    return row


def _apply(kinds: Kinds, row: WaitingStep, hand: _Hand) -> Settled | _Void:
    if hold := kinds[row.kind].hold:
        hold(row.subject)
    if because := overtaken_by(kinds, row):
        _settle(row, "void", hand, because=because)
        return _Void(because)
    confirmation: dict[str, JSON] = {"waiting": waiting_ref(row.pk), "by": hand.actor, "because": hand.reason}
    if hand.is_alone:
        confirmation["other_admins"] = _count_other_admins(row)
    by = By(f"user:{row.proposed_by.username}", row.reason, hand.is_alone, confirmation)
    result = kinds[row.kind].apply(asked(row), by)
    _settle(row, "confirmed", hand, result=result)
    return Settled({"waiting": waiting_ref(row.pk), "state": "confirmed", "result": result})


def _count_other_admins(row: WaitingStep) -> int:
    """How many admins could have confirmed it."""
    admins = Person.objects.filter(is_active=True, roles__contains=[Role.ADMIN.value])
    return admins.exclude(pk=row.proposed_by_id).count()


def _settle(row: WaitingStep, state: str, hand: _Hand, *, because: str = "", result: JSON = None) -> None:
    """Settle an open step once. A void one keeps why, instead of the reason of whoever tried."""
    written = WaitingStep.objects.filter(pk=row.pk, state="open").update(
        state=state,
        secret="",
        settled_by=hand.actor,
        settled_by_person_id=hand.person_id,
        settled_reason=because or hand.reason,
        settled_at=Now(),
        without_second_person=hand.is_alone and state == "confirmed",
        result=None if result is None else json.dumps(result, ensure_ascii=False),
    )
    if not written:
        raise Unavailable


def _or_refused(outcome: Settled | _Void) -> Settled:
    if isinstance(outcome, _Void):
        raise AlreadyDecided(f"Void: {outcome.because} Nothing was done.", expected="open", actual="void")
    return outcome


def may_confirm(kinds: Kinds, principal: Principal, row: WaitingStep) -> str:
    """Why this person cannot confirm a step now, in words; empty when they can."""
    if row.state != "open":
        return f"It is {row.state}."
    if because := overtaken_by(kinds, row):
        return f"Void: {because}"
    if not is_admin(principal):
        return "Only admins confirm."
    return "You asked for it yourself." if row.proposed_by_id == principal.id else ""
