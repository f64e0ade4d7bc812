"""Review over HTTP: freezing, reading a snapshot, deciding, revoking, authorizing."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

from django.http import HttpResponse
from rest_framework.request import Request

from approvals.deciding import DecisionRequest, record_shown
from approvals.states import Verdict
from approvals.values import FreezeRequest
from console import metrics
from console.access import access_decision, access_run, access_snapshot
from console.answers import answer
from console.api.base import ApiView
from console.api.commands import answer_outcome
from console.api.openapi import documented, ref
from console.rules import Choice, Entries, Flag, Object, Text
from console.sessions import authenticated_at
from console.shapes import Evidence, Id, Name, Reason, Sha256, Version
from outbox import authorization
from outbox.authorization import AuthorizationRequest, Receipt
from outbox.queries import tell_snapshot
from runs.permissions import require_no_agent
from runs.queries import represent
from runs.values import JSON, version_tag

Given = Annotated[dict[str, JSON], Object()]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSnapshot:
    """A candidate to be put under review."""

    id: Id
    action: Name
    artifacts: Annotated[dict[str, str], Entries(Text(200))] = field(default_factory=dict)
    payload: Given | None = None
    of: Name | None = None
    reason: Reason
    evidence: Evidence = ()
    intent: Name | None = None
    hand_over: Annotated[bool, Flag()] = False

    def request(self) -> FreezeRequest:
        return FreezeRequest(
            id=self.id,
            action=self.action,
            reason=self.reason,
            artifacts=self.artifacts,
            payload=self.payload,
            of=self.of,
            evidence=self.evidence,
            intent=self.intent,
            hand_over=self.hand_over,
        )


class SnapshotsView(ApiView):
    """The candidates of a run."""

    @documented("snapshots", body=NewSnapshot, precondition=True, answers={201: ref("Frozen"), 200: ref("Frozen")})
    def post(self, request: Request, key: str) -> HttpResponse:
        """Freeze the current candidate of an action: its exact bytes come under review."""
        found = access_run(self.principal, key).found
        asked = self.read(NewSnapshot).request()
        expected = self.repeatable_version(found.ledger_epoch)
        outcome = authorization.freeze_snapshot(self.principal, key, expected, asked)
        metrics.count_outcome(f"freeze:{asked.action}", outcome)
        if outcome.is_replay and not outcome.is_refusal:
            return answer(dict(outcome.answer), replayed=True)
        return answer_outcome(request._request, outcome)


class SnapshotView(ApiView):
    """One snapshot."""

    @documented("snapshots", answers={200: ref("Snapshot")})
    def get(self, request: Request, snapshot: str) -> HttpResponse:
        """The frozen bytes, who decided what, and what counts now. That a person was shown it is recorded."""
        review = access_snapshot(self.principal, snapshot)
        if self.principal.is_person:
            record_shown(self.principal.id, review.row.pk, review.row.manifest_sha256)
        return answer(tell_snapshot(review))


# ---- decisions -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDecision:
    """What a person says of a snapshot, naming exactly what they were shown."""

    id: Id
    verdict: Annotated[str, Choice(*Verdict)]
    manifest_sha256: Sha256
    run_version: Version
    authority_epoch: Version
    reason: Reason | None = None
    evidence: Evidence = ()

    def request(self, proven_at: datetime | None) -> DecisionRequest:
        return DecisionRequest(
            id=self.id,
            verdict=Verdict(self.verdict),
            manifest_sha256=self.manifest_sha256,
            run_version=self.run_version,
            authority_epoch=self.authority_epoch,
            reason=self.reason or "",
            evidence=self.evidence,
            authenticated_at=proven_at,
        )


class DecisionsView(ApiView):
    """Deciding on a snapshot."""

    @documented("snapshots", body=NewDecision, answers={201: ref("Decided"), 200: ref("Decided")})
    def post(self, request: Request, snapshot: str) -> HttpResponse:
        """Approve or deny one snapshot id and manifest hash. People only."""
        access_snapshot(self.principal, snapshot)
        asked = self.read(NewDecision, allowed=require_no_agent).request(authenticated_at(request._request))
        return _receipt(authorization.decide(self.principal, snapshot, asked))


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRevocation:
    """Why an approval no longer stands."""

    id: Id
    reason: Reason
    evidence: Evidence = ()


class RevocationsView(ApiView):
    """Revoking an approval."""

    @documented("snapshots", body=NewRevocation, answers={201: ref("Revoked"), 200: ref("Revoked")})
    def post(self, request: Request, decision: str) -> HttpResponse:
        """Revoke an approval; what that does is told by the boundary at this moment. People only."""
        access_decision(self.principal, decision)
        asked = self.read(NewRevocation, allowed=require_no_agent)
        return _receipt(authorization.revoke(self.principal, decision, asked.id, asked.reason, asked.evidence))


# ---- authorization ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAuthorization:
    """A coordinator spends the approvals of exactly these bytes."""

    id: Id
    snapshot: Name
    manifest_sha256: Sha256
    reason: Reason
    evidence: Evidence = ()

    def request(self) -> AuthorizationRequest:
        return AuthorizationRequest(self.id, self.snapshot, self.manifest_sha256, self.reason, self.evidence)


class AuthorizationsView(ApiView):
    """Authorizing the effect of a run."""

    @documented(
        "snapshots",
        body=NewAuthorization,
        precondition=True,
        answers={201: ref("Authorized"), 200: ref("Authorized")},
    )
    def post(self, request: Request, key: str) -> HttpResponse:
        """Spend the needed approvals and create the one effect; whoever comes second gets the first receipt."""
        found = access_run(self.principal, key).found
        asked = self.read(NewAuthorization).request()
        expected = self.repeatable_version(found.ledger_epoch)
        return _receipt(authorization.authorize(self.principal, key, expected, asked), shows_run=True)


def _receipt(receipt: Receipt, *, shows_run: bool = False) -> HttpResponse:
    """The recorded answer; the run and its tag only where nothing is repeated."""
    if receipt.is_replay:
        return answer(dict(receipt.answer), replayed=True)
    if not shows_run:
        return answer(dict(receipt.answer), status=201)
    told = {**receipt.answer, "run": represent(receipt.run, receipt.workflow)}
    return answer(told, status=201, tag=version_tag(receipt.ledger_epoch, receipt.run.version))
