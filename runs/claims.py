"""Claims of cases: held for fifteen minutes, visibly; released, or handed over. None blocks a halt or an admin."""

from dataclasses import dataclass
from typing import Any

from runs import authority, store
from runs.attempts import request_sha256
from runs.errors import ClearanceError, CommandIdReused, Fault, InvalidParams
from runs.locks import claim_id
from runs.models import Escalation
from runs.permissions import is_operator
from runs.store import Record
from runs.transactions import durable, execute
from runs.values import Principal
from runs.verbs import Case, already_settled, claimed_by_other, load_case, require_operator

JSON = Any

#: How long a claim lasts.
CLAIM_MINUTES = 15

_CLAIM = """
UPDATE runs_escalation SET claimed_by = %(by)s, claimed_until = clock_timestamp() + %(minutes)s * interval '1 minute'
WHERE id = %(id)s AND state = 'open'
  AND (claimed_by IS NULL OR claimed_by = %(from)s OR claimed_until <= clock_timestamp())
"""


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """That an operator wants to hold a case for a while."""

    id: str
    reason: str | None = None
    evidence: tuple[str, ...] = ()

    def identity(self, ref: str) -> dict[str, JSON]:
        return {"name": "claim", "escalation": ref, "reason": self.reason, "evidence": list(self.evidence)}


@dataclass(frozen=True, slots=True)
class Claimed:
    """A case after it was claimed, and whether the same request had been made before."""

    row: Escalation
    is_replay: bool


@durable
def claim(principal: Principal, ref: str, request: ClaimRequest) -> Claimed:
    """Hold a case for fifteen minutes, visibly. Claiming one's own again renews it; repeating an id changes nothing.

    Locks: the id; the claim itself is one conditional update. Raises `NotFound`, `Forbidden`,
    `AlreadyDecided`, `EscalationClaimed`.
    """
    case = load_case(principal, ref)
    claim_id(case.run.key, case.operator.actor, request.id)
    require_operator(case)
    is_replay = _is_repeat(case, request.id, request.identity(ref))
    if not is_replay:
        _take(case, case.operator.actor)
    case.row.refresh_from_db()
    return Claimed(case.row, is_replay)


def _take(case: Case, holder: str) -> None:
    params = {"by": holder, "from": case.operator.actor, "minutes": CLAIM_MINUTES, "id": case.row.pk}
    if execute(_CLAIM, params).rowcount == 1:
        return
    case.row.refresh_from_db()
    if case.row.state != "open":
        raise already_settled(case.row)
    raise claimed_by_other(case)


def _is_repeat(case: Case, request_id: str, identity: dict[str, JSON]) -> bool:
    """Whether the id was used for this same request before; if not, it is recorded now."""
    actor, digest = case.operator.actor, request_sha256(identity)
    recorded = store.read(case.run.key, actor, request_id).recorded
    if recorded is None:
        why = {"reason": identity["reason"], "evidence": identity["evidence"]}
        record = Record(actor, request_id, identity["name"], digest, "done", why)
        store.record_only(case.run.id, record, case.found.now)
        return False
    if recorded.request_sha256 != digest:
        raise CommandIdReused
    return True


@durable
def release(principal: Principal, ref: str) -> None:
    """Give up one's claim. Releasing what one does not hold changes nothing. Raises `NotFound`, `Forbidden`."""
    case = load_case(principal, ref)
    require_operator(case)
    held = Escalation.objects.filter(pk=case.row.pk, state="open", claimed_by=case.operator.actor)
    held.update(claimed_by=None, claimed_until=None)


@durable
def hand_over(principal: Principal, ref: str, username: str) -> None:
    """Pass a case to another operator of the workflow, who then holds it for fifteen minutes.

    Raises `NotFound`, `Forbidden`, `AlreadyDecided`, `EscalationClaimed`, and `InvalidParams` when the other is
    no operator of this workflow.
    """
    case = load_case(principal, ref)
    require_operator(case)
    try:
        other = authority.current(Principal("person", username), case.found.authority_epoch, case.found.now)
    except ClearanceError:
        other = Principal("person", username)
    if not is_operator(other, case.policy):
        fault = Fault("/to", "no-operator", f"{username} does not settle conflicts of this workflow.")
        raise InvalidParams(fault.detail, errors=[fault])
    _take(case, other.actor)
