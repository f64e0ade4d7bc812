"""Standing approvals: given in advance by a reviewer, within limits, as the source of one approval.

Giving and revoking are actions of their own; spending is one conditional update in the transaction that
authorizes, never given back. A standing approval counts as its giver, once, and separation binds the giver.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from uuid6 import uuid7

from approvals.models import Decision, StandingApproval
from approvals.reviewing import Review
from runs import authority, catalog, requests, store
from runs.errors import AgentsCannotDecide, AlreadyDecided, Fault, Forbidden, InvalidParams, NotFound
from runs.locks import claim_id
from runs.models import Agent
from runs.permissions import is_admin, is_reviewer, may_see, require_going_on
from runs.transactions import durable, execute
from runs.values import NewEntry, Principal, cited

JSON = Any

#: What the columns hold.
MOST_MONEY = Decimal("999999999999.99")
MOST_USES = 2**31 - 1

_SPEND = """
UPDATE approvals_standingapproval SET used = used + 1, spent = spent + %(amount)s
WHERE id = %(id)s AND revoked_at IS NULL AND expires_at > clock_timestamp() AND used < uses
  AND spent + %(amount)s <= total AND "limit" >= %(amount)s
"""


@dataclass(frozen=True, slots=True)
class StandingRequest:
    """What a reviewer approves in advance. Money as decimal strings of `currency`."""

    id: str
    workflow: str
    action: str
    currency: str
    limit: Decimal  # per use
    total: Decimal
    uses: int
    expires_at: datetime
    reason: str
    evidence: tuple[str, ...] = ()

    def identity(self) -> dict[str, JSON]:
        return {
            "name": "give-standing-approval",
            "workflow": self.workflow,
            "action": self.action,
            "currency": self.currency,
            "limit": str(self.limit),
            "total": str(self.total),
            "uses": self.uses,
            "expires_at": self.expires_at.isoformat(),
            "reason": self.reason,
            **cited(self.evidence),
        }


@dataclass(frozen=True, slots=True)
class Standing:
    """A standing approval, and whether this request made it."""

    row: StandingApproval
    is_replay: bool


def standing_ref(number: UUID) -> str:
    """The public id of a standing approval."""
    return f"sa-{number.hex}"


def standing_number(ref: str) -> UUID:
    """The number behind a public id. Raises `NotFound` for what is no id of a standing approval."""
    try:
        number = UUID(ref.removeprefix("sa-"))
    except ValueError as error:
        raise NotFound from error
    if standing_ref(number) != ref:
        raise NotFound
    return number


@durable
def give_standing_approval(principal: Principal, request: StandingRequest) -> Standing:
    """Approve uses of an action in advance, within limits.

    Locks: the id. Raises `NotFound`, `AgentsCannotDecide`, `Forbidden`, `Halted`, `WorkflowSuspended`,
    `InvalidParams`, `CommandIdReused`.
    """
    claim_id("standing approvals", principal.actor, request.id)
    found = store.read("")
    principal = authority.current(principal, found.authority_epoch, found.now)
    policy = authority.policy_of(request.workflow, found.authority_epoch)
    if not may_see(principal, request.workflow, policy):
        raise NotFound
    answer = requests.recorded_answer(principal.actor, request.id, request.identity())
    if answer is not None:
        return Standing(StandingApproval.objects.get(pk=standing_number(answer["standing_approval"])), is_replay=True)
    if principal.is_agent:
        raise AgentsCannotDecide
    if not is_reviewer(principal, policy):
        raise Forbidden("Only reviewers of the workflow approve in advance.")
    require_going_on(policy, is_halted=found.is_halted)
    _check(request, found.now)
    row = StandingApproval.objects.create(
        giver_id=principal.id,
        workflow=request.workflow,
        action=request.action,
        currency=request.currency,
        limit=request.limit,
        total=request.total,
        uses=request.uses,
        authority_version=policy.authority_version,
        ledger_epoch=found.ledger_epoch,
        reason=request.reason,
        expires_at=request.expires_at,
    )
    told = {"standing_approval": standing_ref(row.pk), **cited(request.evidence)}
    requests.record_answer(principal.actor, request.id, request.identity(), told)
    return Standing(row, is_replay=False)


def _check(request: StandingRequest, now: datetime) -> None:
    action = catalog.latest(request.workflow).actions.get(request.action)
    faults = {
        "/action": action is None or action.standing is None,
        "/limit": not (_is_money(request.limit) and request.limit <= request.total),
        "/total": not _is_money(request.total),
        "/uses": not 1 <= request.uses <= MOST_USES,
        "/expires_at": request.expires_at <= now,
    }
    words = "This value is not possible here."
    if errors := [Fault(pointer, "unacceptable", words) for pointer, bad in faults.items() if bad]:
        raise InvalidParams("This cannot be approved in advance.", errors=errors)


def _is_money(amount: Decimal) -> bool:
    """Whether an amount is one that is kept exactly: positive, in hundredths."""
    return amount.is_finite() and 0 < amount <= MOST_MONEY and amount == round(amount, 2)


@durable
def revoke_standing_approval(
    principal: Principal, ref: str, request_id: str, reason: str, evidence: Sequence[str] = ()
) -> Standing:
    """Revoke a standing approval: one row, and no use of it can be claimed any more.

    Locks: the id. Raises `NotFound`, `AgentsCannotDecide`, `Forbidden`, `AlreadyDecided`, `CommandIdReused`.
    """
    claim_id("standing approvals", principal.actor, request_id)
    found = store.read("")
    principal = authority.current(principal, found.authority_epoch, found.now)
    row = StandingApproval.objects.filter(pk=standing_number(ref)).first()
    if row is None or not may_see(principal, row.workflow, authority.policy_of(row.workflow, found.authority_epoch)):
        raise NotFound
    told = {"standing_approval": ref, "reason": reason, **cited(evidence)}
    identity = {"name": "revoke-standing-approval", **told}
    if requests.recorded_answer(principal.actor, request_id, identity) is not None:
        return Standing(row, is_replay=True)
    if principal.is_agent:
        raise AgentsCannotDecide
    policy = authority.policy_of(row.workflow, found.authority_epoch)
    if not (is_reviewer(principal, policy) or is_admin(principal)):
        raise Forbidden("Reviewers of the workflow and admins revoke standing approvals.")
    revoked = StandingApproval.objects.filter(pk=row.pk, revoked_at=None)
    if not revoked.update(revoked_at=found.now, revoked_by=principal.actor):
        raise AlreadyDecided("This was revoked already.", expected="not revoked", actual="revoked")
    requests.record_answer(principal.actor, request_id, identity, told)
    row.refresh_from_db()
    return Standing(row, is_replay=False)


# ---- spending --------------------------------------------------------------------------------------------


def spend_standing(review: Review, request_id: str) -> Decision | None:
    """Spend one use where exactly one approval is missing and a standing approval of another person fits.

    Needs an open transaction that holds the run's lock. Returns the approval it gave, or None.
    """
    measured = _measured(review)
    if measured is None or review.policy.quorum - len(review.counting) != 1:
        return None
    amount, currency = measured
    for row in _candidates(review, amount, currency):
        if execute(_SPEND, {"id": row.pk, "amount": amount}).rowcount == 1:
            return _write_approval(review, row, request_id)
    return None


def _measured(review: Review) -> tuple[Decimal, str] | None:
    """The frozen amount and currency by which a standing approval is measured; None where they are no money."""
    if review.action.standing is None:
        return None
    facts = review.manifest["facts"]["values"]
    text, currency = facts[review.action.standing["amount"]], facts[review.action.standing["currency"]]
    if text is None or currency is None or not _is_money(Decimal(text)):
        return None
    return Decimal(text), currency


def _candidates(review: Review, amount: Decimal, currency: str) -> list[StandingApproval]:
    """Standing approvals that could stand in: of reviewers who took no part, did not approve and do not spend."""
    rows = StandingApproval.objects.filter(
        workflow=review.run.workflow,
        action=review.action.name,
        currency=currency,
        limit__gte=amount,
        revoked_at=None,
        expires_at__gt=review.found.now,
        authority_version=review.policy.authority_version,
        ledger_epoch=review.found.ledger_epoch,
    ).order_by("expires_at", "id")
    done = {item.person_id for item in review.counting} | _behind(review.principal)
    able = {number for number in review.reviewers if number not in done and not review.part_of(number)}
    return [row for row in rows if row.giver_id in able]


def _behind(principal: Principal) -> set[int]:
    """The person who spends, or who owns the agent that does."""
    if principal.is_agent:
        return set(Agent.objects.filter(name=principal.name).values_list("owner_id", flat=True))
    return {principal.id}


def _write_approval(review: Review, row: StandingApproval, request_id: str) -> Decision:
    number, run = uuid7(), review.run
    body = {
        "decision": f"d-{number.hex}",
        "snapshot": review.row.pk,
        "manifest_sha256": review.row.manifest_sha256,
        "standing_approval": standing_ref(row.pk),
        "reason": row.reason,
    }
    giver = f"user:{review.reviewers[row.giver_id]}"
    entry = NewEntry("decision.approved", giver, request_id, body, run.version)
    store.require_step(run, run, [entry], None, review.found.now)
    return Decision.objects.create(
        id=number,
        snapshot_id=review.row.pk,
        manifest_sha256=review.row.manifest_sha256,
        run_id=run.id,
        verdict="approve",
        person_id=row.giver_id,
        standing_approval=row,
        run_version=run.version,
        authority_version=review.policy.authority_version,
        ledger_epoch=review.found.ledger_epoch,
        seq=run.head_seq + 1,
        reason=row.reason,
        decided_at=review.found.now,
        expires_at=row.expires_at,
    )
