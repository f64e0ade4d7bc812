"""What screens and the API read about snapshots and effects. Writes nothing and takes no locks."""

import base64
import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from approvals.models import Decision
from approvals.reviewing import Review, describe
from approvals.states import SnapshotState
from outbox.cases import Case
from outbox.models import Attempt, Effect, Lookup, Remediation, Repair, Verdict
from outbox.receipts import boundary_of, effect_of, side_of, state_of
from outbox.remediations import remediation_ref
from outbox.retry import replayable_until
from runs.chain import rfc3339
from runs.models import WaitingStep
from runs.states import RunStatus
from runs.transitions import legality

JSON = Any


def _time(at: datetime | None) -> str | None:
    return None if at is None else rfc3339(at)


def _base64(body: bytes | memoryview | None) -> str | None:
    return None if body is None else base64.b64encode(bytes(body)).decode()


# ---- snapshots -------------------------------------------------------------------------------------------


def tell_snapshot(review: Review) -> dict[str, JSON]:
    """A snapshot as the API shows it: the exact bytes, who decided what, what counts, where it stands."""
    row, effect = review.row, effect_of(review.row.pk)
    state = state_of(review)
    stands, because = consent_of(review, state)
    return {
        "snapshot": row.pk,
        "run": review.run.key,
        "run_version": row.run_version,
        "action": row.action,
        "state": state.value,
        "sentence": row.sentence,
        "manifest": review.manifest,
        "manifest_base64": _base64(row.manifest),
        "manifest_sha256": row.manifest_sha256,
        "payload_base64": _base64(row.payload),
        "payload_sha256": row.payload_sha256,
        "decisions": [
            describe(given, decision, review.standing_of(given))
            for given, decision in zip(review.given, review.decisions, strict=True)
        ],
        "consent": {"stands": stands, "because": because},
        "approvals_needed": review.policy.quorum,
        "approvals_active": len(review.counting),
        "approvals_possible": len(review.possible),
        "authority_epoch": review.found.authority_epoch,
        "boundary": boundary_of(review, effect).value,
        "effect": effect.operation_id if effect else None,
        "frozen_at": rfc3339(row.frozen_at),
        "expires_at": rfc3339(row.expires_at),
    }


def consent_of(review: Review, state: SnapshotState) -> tuple[bool, str]:
    """Whether consent to a snapshot stands now, and why, in words."""
    against = next(_against_consent(review, state), None)
    if against is not None:
        return False, against
    if review.row.contract == "exact":
        return True, f"stands: the run is at version {review.run.version}"
    return True, "stands: every fact of consent has the value that was frozen"


def _against_consent(review: Review, state: SnapshotState) -> Iterator[str]:
    """What speaks against consent now, the plainest first."""
    row, run = review.row, review.run
    if state is not SnapshotState.ACTIVE:
        yield f"the snapshot is {state}"
    if row.contract == "exact" and run.version != row.run_version:
        yield f"void: the run is at version {run.version}"
    if run.state.status is not (RunStatus.SENT if review.action.compensates else RunStatus.READY_FOR_REVIEW):
        yield f"void: the run is {run.state.status}"
    if because := legality(review.workflow, run.state, review.workflow.freezes[f"freeze:{row.action}"]):
        yield because


# ---- effects ---------------------------------------------------------------------------------------------


def approvals_of(effect: Effect) -> list[Decision]:
    """The approvals that were spent on an effect, the earliest first."""
    rows = Decision.objects.select_related("person").filter(pk__in=effect.approvals)
    return list(rows.order_by("decided_at", "id"))


def open_steps_of(effect: Effect) -> list[WaitingStep]:
    """What was asked for about an effect and waits for a second admin, the earliest first."""
    rows = WaitingStep.objects.select_related("proposed_by").filter(state="open", subject=effect.pk)
    return list(rows.filter(kind__startswith="effect.").order_by("id"))


def tell_row(effect: Effect) -> dict[str, JSON]:
    """An effect as a list shows it."""
    return {
        "operation_id": effect.operation_id,
        "run": effect.run.key,
        "workflow": effect.workflow,
        "action": effect.action,
        "state": effect.state,
        "version": effect.version,
        "destination": effect.destination,
        "destination_revision": effect.destination_revision,
        "may_have_left": effect.may_have_left,
        "next_step": tell_next(effect),
        "quarantined": effect.quarantined,
        "authorized_at": rfc3339(effect.authorized_at),
        "ended_at": _time(effect.ended_at),
    }


def tell_next(effect: Effect) -> dict[str, JSON]:
    """What is done next, when, and why."""
    return {"step": effect.next_step, "at": _time(effect.next_at), "because": effect.because}


def tell_effect(case: Case) -> dict[str, JSON]:
    """An effect as the API shows it, with everything known about it."""
    effect = case.effect
    lease = None
    if effect.lease_owner is not None:
        lease = {"owner": effect.lease_owner, "expires_at": _time(effect.lease_expires_at)}
    return tell_row(effect) | {
        "snapshot": effect.snapshot_id,
        "payload_sha256": effect.payload_sha256,
        "payload_base64": _base64(effect.snapshot.payload),
        "idempotency_key": effect.idempotency_key,
        "compensates": effect.compensates,
        "fence": effect.fence,
        "lease": lease,
        "attempts": [tell_attempt(item) for item in case.attempts],
        "lookups": [tell_lookup(item) for item in case.lookups],
        "verdicts": [tell_verdict(item) for item in case.verdicts],
        "repairs": [tell_repair(item) for item in effect.repairs.order_by("at", "id")],
        "key_clock": key_clock(case),
        "boundary": boundary(effect),
        "remediations": [remediation_ref(row.pk) for row in effect.remediations.order_by("opened_at", "id")],
    }


def boundary(effect: Effect) -> str:
    """On which side of the boundary an effect is."""
    return side_of(effect).value


def key_clock(case: Case) -> dict[str, JSON]:
    """Until when the provider would recognise a repeat."""
    if not case.can.recognises_repeats:
        return {"replayable_until": None, "because": "the provider does not recognise repeats"}
    if case.effect.key_clock_started_at is None:
        return {"replayable_until": None, "because": "the provider has not seen the key yet"}
    until = replayable_until(case.can, case.effect.key_clock_started_at)
    if until is None:
        return {"replayable_until": None, "because": "the provider never forgets a key"}
    words = "the provider remembers the key until then" if case.found.now < until else "the provider's memory has ended"
    return {"replayable_until": rfc3339(until), "because": words}


def tell_attempt(attempt: Attempt) -> dict[str, JSON]:
    return {
        "number": attempt.number,
        "fence": attempt.fence,
        "started_at": rfc3339(attempt.started_at),
        "send_started_at": _time(attempt.send_started_at),
        "finished_at": _time(attempt.finished_at),
        "outcome": attempt.outcome,
        "provider_request_id": attempt.provider_request_id,
        "http_status": attempt.http_status,
        "detail": attempt.detail,
        "late": json.loads(attempt.late) if attempt.late else None,
    }


def tell_lookup(row: Lookup) -> dict[str, JSON]:
    return {
        "at": rfc3339(row.at),
        "answer": row.answer,
        "proves": row.proves,
        "by": row.actor,
        "provider_request_id": row.provider_request_id,
        "detail": row.detail,
    }


def tell_verdict(row: Verdict) -> dict[str, JSON]:
    return {
        "verdict": row.verdict,
        "evidence": row.evidence,
        "provider_request_id": row.provider_request_id,
        "reason": row.reason,
        "by": row.by,
        "confirmed_by": row.confirmed_by,
        "without_second_person": row.without_second_person,
        "at": rfc3339(row.at),
    }


def tell_repair(row: Repair) -> dict[str, JSON]:
    return {
        "repair": row.repair,
        "reason": row.reason,
        "by": row.by,
        "confirmed_by": row.confirmed_by,
        "without_second_person": row.without_second_person,
        "at": rfc3339(row.at),
    }


def tell_remediation(row: Remediation) -> dict[str, JSON]:
    """A remediation with its steps."""
    return {
        "id": remediation_ref(row.pk),
        "effect": row.effect_id,
        "run": row.effect.run.key,
        "because": row.because,
        "state": row.state,
        "opened_by": row.opened_by,
        "opened_at": rfc3339(row.opened_at),
        "done_at": _time(row.done_at),
        "steps": [
            {"step": s.step, "evidence": s.evidence, "reason": s.reason, "by": s.by, "at": rfc3339(s.at)}
            for s in row.steps.order_by("id")
        ],
    }
