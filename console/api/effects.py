"""`/effects/`, `/remediations/`: what was sent, what came of it, findings and repairs."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from django.http import HttpResponse
from rest_framework.request import Request

from console.access import access_effect, visible_workflows
from console.answers import answer
from console.api import second_person
from console.api.base import ApiView
from console.api.filters import chosen_word
from console.api.openapi import documented, listed, ref
from console.cursors import CursorType, page, read_page_request
from console.rules import Choice, Text
from console.shapes import Evidence, Id, Name, Reason, Version
from outbox import findings, remediations
from outbox.findings import Ordered, RepairRequest, VerdictRequest
from outbox.lookups import LookupRequest, look_up_now
from outbox.models import Effect, Remediation
from outbox.overview import EffectFilter, list_rows
from outbox.queries import tell_effect, tell_lookup, tell_remediation, tell_row
from outbox.remediations import RemediationStepKind, StepRequest
from outbox.states import EffectState, Finding, RepairKind
from runs.permissions import require_admin
from runs.values import Principal

CURSOR: CursorType[datetime, str] = CursorType("effects", datetime, str)
REMEDIATIONS: CursorType[str] = CursorType("remediations", str)

EvidenceText = Annotated[str, Text(4000)]


class EffectsView(ApiView):
    """All effects that the caller may see."""

    @documented(
        "effects",
        answers={200: listed("EffectSummary")},
        is_list=True,
        query={"state": "Only effects in this state", "destination": "Only effects to this destination"},
    )
    def get(self, request: Request) -> HttpResponse:
        """Effects, the newest first."""
        wanted = read_page_request(request._request, "state", "destination")
        before = CURSOR.read(wanted.cursor) if wanted.cursor else None
        asked = EffectFilter(
            visible_workflows(self.principal),
            state=chosen_word(wanted, "state", EffectState) or "",
            destination=wanted.filters.get("destination", ""),
        )
        rows = list_rows(asked, wanted.fetch, before)
        return answer(page(rows, wanted.limit, _cursor, tell_row))


def _cursor(row: Effect) -> str:
    return CURSOR.write(row.authorized_at, row.operation_id)


class EffectView(ApiView):
    """One effect."""

    @documented("effects", answers={200: ref("Effect")})
    def get(self, request: Request, operation_id: str) -> HttpResponse:
        """An effect with its attempts, what came back, look-ups, findings, repairs and the key clock."""
        return answer(tell_effect(access_effect(self.principal, operation_id)))


# ---- looking up, finding out, repairing ------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLookup:
    """Ask the provider now."""

    id: Id
    reason: Reason | None = None
    evidence: Evidence = ()

    def request(self) -> LookupRequest:
        return LookupRequest(self.id, self.reason, self.evidence)


class LookupsView(ApiView):
    """Asking the provider about an effect."""

    @documented("effects", body=NewLookup, answers={201: ref("Lookup"), 200: ref("Lookup")})
    def post(self, request: Request, operation_id: str) -> HttpResponse:
        """Ask the provider whether it knows the key, and record the answer. Admins only."""
        access_effect(self.principal, operation_id)
        asked = self.read(NewLookup, allowed=require_admin).request()
        found = look_up_now(self.principal, operation_id, asked)
        return answer(tell_lookup(found.row), status=200 if found.is_replay else 201, replayed=found.is_replay)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVerdict:
    """What a person found out about an unknown outcome."""

    id: Id
    verdict: Annotated[str, Choice(*Finding)]
    evidence: EvidenceText
    provider_request_id: Name | None = None
    reason: Reason
    effect_version: Version

    def request(self) -> VerdictRequest:
        return VerdictRequest(
            id=self.id,
            verdict=Finding(self.verdict),
            evidence=self.evidence,
            reason=self.reason,
            effect_version=self.effect_version,
            provider_request_id=self.provider_request_id,
        )


class VerdictsView(ApiView):
    """Verdicts on an effect."""

    @documented("effects", body=NewVerdict, answers={201: ref("Ordered"), 202: ref("Waiting"), 200: ref("Ordered")})
    def post(self, request: Request, operation_id: str) -> HttpResponse:
        """Record what was found out, with evidence; 202 when a second admin has to confirm it. Admins only."""
        access_effect(self.principal, operation_id)
        asked = self.read(NewVerdict, allowed=require_admin).request()
        return _ordered(self.principal, findings.give_verdict(self.principal, operation_id, asked))


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRepair:
    """What an admin orders."""

    id: Id
    repair: Annotated[str, Choice(*RepairKind)]
    reason: Reason
    evidence: Evidence = ()
    effect_version: Version

    def request(self) -> RepairRequest:
        return RepairRequest(self.id, RepairKind(self.repair), self.reason, self.effect_version, self.evidence)


class RepairsView(ApiView):
    """Repairs of an effect."""

    @documented("effects", body=NewRepair, answers={201: ref("Ordered"), 202: ref("Waiting"), 200: ref("Ordered")})
    def post(self, request: Request, operation_id: str) -> HttpResponse:
        """Order a resend, mark as failed, or release from quarantine; 202 when a second admin has to confirm it."""
        access_effect(self.principal, operation_id)
        asked = self.read(NewRepair, allowed=require_admin).request()
        return _ordered(self.principal, findings.order_repair(self.principal, operation_id, asked))


def _ordered(principal: Principal, ordered: Ordered) -> HttpResponse:
    if not ordered.is_in_force:
        return second_person.wait(
            str(ordered.waiting), str(ordered.because), state=ordered.state, is_replay=ordered.is_replay
        )
    effect = tell_effect(access_effect(principal, ordered.operation_id))
    return answer({"effect": effect}, status=200 if ordered.is_replay else 201, replayed=ordered.is_replay)


# ---- remediations ----------------------------------------------------------------------------------------


class RemediationsView(ApiView):
    """Tasks after a send that should not stand."""

    @documented("effects", answers={200: listed("Remediation")}, is_list=True, query={"state": "`open` or `done`"})
    def get(self, request: Request) -> HttpResponse:
        """Remediations, the oldest first."""
        wanted = read_page_request(request._request, "state")
        rows = Remediation.objects.select_related("effect__run").prefetch_related("steps")
        rows = rows.filter(effect__workflow__in=visible_workflows(self.principal))
        if state := chosen_word(wanted, "state", ("open", "done")):
            rows = rows.filter(state=state)
        if wanted.cursor:
            rows = rows.filter(pk__gt=REMEDIATIONS.read(wanted.cursor)[0])
        found = list(rows.order_by("pk")[: wanted.fetch])
        return answer(page(found, wanted.limit, lambda row: REMEDIATIONS.write(row.pk.hex), tell_remediation))


@dataclass(frozen=True, slots=True, kw_only=True)
class NewStep:
    """One step of a remediation."""

    id: Id
    step: Annotated[str, Choice(*RemediationStepKind)]
    evidence: EvidenceText
    reason: Reason

    def request(self) -> StepRequest:
        return StepRequest(self.id, RemediationStepKind(self.step), self.evidence, self.reason)


class RemediationStepsView(ApiView):
    """Steps of a remediation."""

    @documented("effects", body=NewStep, answers={201: ref("Remediation"), 200: ref("Remediation")})
    def post(self, request: Request, remediation: str) -> HttpResponse:
        """Take one step; asking the provider to cancel asks it now. Admins only."""
        asked = self.read(NewStep, allowed=require_admin).request()
        is_replay = remediations.take_step(self.principal, remediation, asked)
        told = tell_remediation(remediations.get_remediation(self.principal, remediation))
        return answer(told, status=200 if is_replay else 201, replayed=is_replay)
