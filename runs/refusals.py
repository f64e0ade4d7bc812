"""What is written when a stale or held command is not applied: retry, reject, escalate, and joining an open case.

Needs an open transaction. `retry` touches nothing of the run: a hot record must not get hotter by its
losers. The others end the command and are ledger entries.
"""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from uuid6 import uuid7

from runs import store
from runs.attempts import Attempt
from runs.conflicts import Allowance, allowance, elements_written
from runs.models import Conflict, Escalation
from runs.states import Disposition
from runs.values import Held, Judgement, NewEntry, version_tag

JSON = Any

RETRY_JITTER_MS = (40, 160)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A conflict about to be stored: what was judged, and what is left of the budget."""

    id: UUID
    judgement: Judgement
    left: Allowance

    @classmethod
    def of(cls, judgement: Judgement, attempt: Attempt) -> "Refusal":
        """A conflict that does not count against the budget."""
        return cls(uuid7(), judgement, allowance(attempt.policy.budget, attempt.found.episode, attempt.found.now))

    @property
    def ref(self) -> str:
        return conflict_ref(self.id)


def conflict_ref(number: UUID) -> str:
    """The public id of a conflict."""
    return f"cf-{number.hex}"


def escalation_ref(number: UUID) -> str:
    """The public id of an escalation."""
    return f"es-{number.hex}"


def problem(attempt: Attempt, refusal: Refusal, escalation: str | None = None) -> dict[str, JSON]:
    """The members of the 412 answer, as recorded."""
    judgement, left = refusal.judgement, refusal.left
    low, high = RETRY_JITTER_MS
    return {
        "detail": judgement.because,
        "run": attempt.run.key,
        "command_id": attempt.request.id,
        "conflict": refusal.ref,
        "base_version": attempt.expected,
        "current_version": attempt.run.version,
        "current_etag": version_tag(attempt.found.ledger_epoch, attempt.run.version),
        "changed_fields": [item.as_json() for item in judgement.changed],
        "disposition": judgement.disposition.value,
        "rule": {"command": attempt.command.name, "name": judgement.rule, "because": judgement.because},
        "attempts": left.attempts,
        "attempts_left": left.attempts_left,
        "seconds_left": left.seconds_left,
        "retry_after_ms": random.randint(low, high) * max(1, left.attempts),  # jitter, not a secret
        "escalation": {"id": escalation, "url": f"/escalations/{escalation}/"} if escalation else None,
    }


def store_conflict(attempt: Attempt, refusal: Refusal, answer: Mapping[str, JSON]) -> None:
    """Keep the conflict as a row, whatever its disposition."""
    judgement, base = refusal.judgement, attempt.base
    Conflict.objects.create(
        id=refusal.id,
        run_id=attempt.run.id,
        workflow=attempt.run.workflow,
        revision=attempt.run.revision,
        principal=attempt.principal.actor,
        command_id=attempt.request.id,
        name=attempt.request.name,
        intent=attempt.intent,
        base_version=attempt.expected,
        current_version=attempt.run.version,
        disposition=judgement.disposition.value,
        rule=judgement.rule,
        fields_touched=[item.field for item in judgement.changed],
        problem=json.dumps(answer, ensure_ascii=False),
        base=None if base is None else json.dumps(dict(base.fields), ensure_ascii=False),
        proposal=json.dumps(attempt.request.identity() | {"id": attempt.request.id}, ensure_ascii=False),
        at=attempt.found.now,
    )


def refuse(attempt: Attempt, judgement: Judgement) -> dict[str, JSON] | None:
    """Record what `judgement` says of a command that is not applied, and return the answer.

    Returns None, with nothing written, when something came between reading and writing.
    """
    match judgement.disposition:
        case Disposition.RETRY:
            return _retry(attempt, judgement)
        case Disposition.REJECT:
            return _reject(attempt, judgement)
        case _:
            return _escalate_or_show(attempt, judgement)


def _left(attempt: Attempt) -> Allowance:
    return allowance(attempt.policy.budget, attempt.found.episode, attempt.found.now)


def _retry(attempt: Attempt, judgement: Judgement) -> dict[str, JSON] | None:
    """Count an agent's conflict with somebody else, and escalate the one that exhausts the budget.

    A person is shown the difference, and a conflict with one's own earlier write is only told: neither is counted.
    """
    if not attempt.principal.is_agent or judgement.against_self:
        return _record_retry(attempt, judgement, _left(attempt))
    run, now = attempt.run, attempt.found.now
    counted = store.count_conflict(run.id, attempt.principal.actor, attempt.intent, now)
    left = allowance(attempt.policy.budget, counted, now)
    if not left.is_exhausted:
        return _record_retry(attempt, judgement, left)
    words = f"{left.attempts} conflicts of {attempt.intent} in a row: a person has to look. {judgement.because}"
    exhausted = replace(judgement, disposition=Disposition.ESCALATE, rule="budget-exhausted", because=words)
    answer = _escalate(attempt, exhausted, left)
    if answer is None:
        store.uncount_conflict(run.id, attempt.principal.actor, attempt.intent)
    return answer


def _record_retry(attempt: Attempt, judgement: Judgement, left: Allowance) -> dict[str, JSON]:
    refusal = Refusal(uuid7(), judgement, left)
    answer = problem(attempt, refusal)
    store_conflict(attempt, refusal, answer)
    store.record_only(attempt.run.id, attempt.record("retry", answer), attempt.found.now)
    return answer


def _reject(attempt: Attempt, judgement: Judgement) -> dict[str, JSON] | None:
    refusal = Refusal.of(judgement, attempt)
    answer = problem(attempt, refusal)
    entry = _entry(attempt, "command.rejected", refusal)
    if not store.step(attempt.run, attempt.run, [entry], attempt.record("rejected", answer), attempt.found.now):
        return None
    store_conflict(attempt, refusal, answer)
    return answer


def _entry(attempt: Attempt, kind: str, refusal: Refusal, **facts: JSON) -> NewEntry:
    judgement = refusal.judgement
    body = attempt.body(conflict=refusal.ref, rule=judgement.rule, because=judgement.because, **facts)
    return NewEntry(kind, attempt.principal.actor, attempt.request.id, body, attempt.run.version)


def _escalate_or_show(attempt: Attempt, judgement: Judgement) -> dict[str, JSON] | None:
    """A person's own stale form is shown the difference, never queued, unless handed to another operator."""
    if attempt.principal.is_person and not attempt.request.hand_over:
        return _retry(attempt, replace(judgement, disposition=Disposition.RETRY))
    return _escalate(attempt, judgement, _left(attempt))


def escalate_held(attempt: Attempt, held: Held, names: list[str]) -> dict[str, JSON] | None:
    """Escalate an agent's legal command that would change what an open escalation holds."""
    because = f"{', '.join(names)}: held until an operator settles what {held.principal} proposed."
    judgement = Judgement(Disposition.ESCALATE, "held", because)
    own = held if held.principal == attempt.principal.actor else None
    return _escalate(attempt, judgement, _left(attempt), own)


def _escalate(
    attempt: Attempt, judgement: Judgement, left: Allowance, own: Held | None = None
) -> dict[str, JSON] | None:
    """Open a case for an operator, or join the principal's open one: `own`, or the one of the same intent."""
    run, now = attempt.run, attempt.found.now
    mine = own or next((item for item in run.held if _same_case(item, attempt)), None)
    number = UUID(mine.escalation[3:]) if mine else uuid7()
    refusal = Refusal(uuid7(), judgement, left)
    answer = problem(attempt, refusal, escalation_ref(number))
    held = Held(
        escalation_ref(number), attempt.principal.actor, mine.intent if mine else attempt.intent,
        elements_written(attempt.command, attempt.request.params),
    )  # fmt: skip
    after = replace(run, held=(*(item for item in run.held if item is not mine), held))
    entry = _entry(attempt, "command.escalated", refusal, escalation=escalation_ref(number))
    if not store.step(run, after, [entry], attempt.record("escalated", answer), now):
        return None
    store_conflict(attempt, refusal, answer)
    if mine:
        _join_case(attempt, number, refusal)
    else:
        _open_case(attempt, number, refusal)
    return answer


def _same_case(item: Held, attempt: Attempt) -> bool:
    return (item.principal, item.intent) == (attempt.principal.actor, attempt.intent)


def _open_case(attempt: Attempt, number: UUID, refusal: Refusal) -> None:
    Escalation.objects.create(
        id=number,
        run_id=attempt.run.id,
        conflict_id=refusal.id,
        workflow=attempt.run.workflow,
        principal=attempt.principal.actor,
        intent=attempt.intent,
        command_id=attempt.request.id,
        is_material=bool(attempt.command.writes & attempt.workflow.material),
        opened_at=attempt.found.now,
    )


def _join_case(attempt: Attempt, number: UUID, refusal: Refusal) -> None:
    """Make this proposal the newest of its case; the one before is superseded by it."""
    case = Escalation.objects.get(pk=number)
    resolution = {
        "verb": "superseded",
        "by": attempt.principal.actor,
        "note": "A newer proposal of the same case took its place.",
        "command_id": attempt.request.id,
        "version": None,
    }
    if case.command_id != attempt.request.id:
        store.resolve_command(attempt.run.id, case.principal, case.command_id, "superseded", resolution)
    Escalation.objects.filter(pk=number).update(
        conflict_id=refusal.id,
        command_id=attempt.request.id,
        earlier_conflicts=[*case.earlier_conflicts, case.conflict_id],
        version=case.version + 1,
        is_material=case.is_material or bool(attempt.command.writes & attempt.workflow.material),
    )
