"""`/escalations/`: open cases and settled ones. People read those of their workflows, agents their own."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from console.access import access_case
from console.answers import answer
from console.api.base import ApiView
from console.api.filters import chosen_word, chosen_workflows
from console.api.openapi import documented, listed, ref
from console.api.waiting import ASK_AGAIN_SECONDS, read_wait, wait_for
from console.cursors import CursorType, PageRequest, page, read_page_request
from console.rules import Choice
from console.shapes import Evidence, Id, Params, Reason, Version
from outbox import authorization
from runs import authority, cases, claims
from runs.cases import QueuePlace
from runs.claims import ClaimRequest
from runs.escalations import ResolutionRequest
from runs.models import Escalation
from runs.queries import represent
from runs.values import Principal, version_tag
from runs.verbs import Verb

QUEUE: CursorType[bool, datetime, str] = CursorType("escalations:open", bool, datetime, str)
NEWEST: CursorType[str] = CursorType("escalations", str)

STATES = ("open", "settled")


class EscalationsView(ApiView):
    """All cases that the caller may see."""

    @documented(
        "escalations",
        answers={200: listed("Escalation")},
        is_list=True,
        query={"state": "`open` or `settled`", "workflow": "Only cases of this workflow"},
    )
    def get(self, request: Request) -> HttpResponse:
        """Cases: open ones as they are queued, material ones first and then the oldest; others the newest first."""
        wanted = read_page_request(request._request, "state", "workflow")
        state = chosen_word(wanted, "state", STATES)
        _, now = authority.epoch_and_now()
        if state == "open":
            rows, cursor_of = _queued(self.principal, wanted), _queue_cursor
        else:
            rows, cursor_of = _newest(self.principal, wanted, state), _newest_cursor
        return answer(page(rows, wanted.limit, cursor_of, lambda row: cases.tell_row(row, now)))


def _queued(principal: Principal, wanted: PageRequest) -> list[Escalation]:
    after = None
    if wanted.cursor:
        is_material, opened_at, number = QUEUE.read(wanted.cursor)
        after = QueuePlace(is_material, opened_at, UUID(number))
    workflows = chosen_workflows(principal, wanted)
    return cases.list_open_cases(workflows, wanted.fetch, after=after, principal=_whose(principal))


def _queue_cursor(row: Escalation) -> str:
    return QUEUE.write(row.is_material, row.opened_at, row.pk.hex)


def _newest(principal: Principal, wanted: PageRequest, state: str | None) -> list[Escalation]:
    before = UUID(NEWEST.read(wanted.cursor)[0]) if wanted.cursor else None
    workflows = chosen_workflows(principal, wanted)
    return cases.list_cases(workflows, wanted.fetch, before=before, state=state, principal=_whose(principal))


def _newest_cursor(row: Escalation) -> str:
    return NEWEST.write(row.pk.hex)


def _whose(principal: Principal) -> str | None:
    """An agent reads its own cases only."""
    return principal.actor if principal.is_agent else None


class EscalationView(ApiView):
    """One case."""

    @documented(
        "escalations",
        answers={200: ref("EscalationDetail")},
        query={"wait": "Seconds to wait until the case is settled, at most 20"},
    )
    def get(self, request: Request, escalation: str) -> HttpResponse:
        """A case with both sides, what moved between them, and what the caller may do about it."""
        seconds = read_wait(request.GET.get("wait"))
        case = access_case(self.principal, escalation)
        waited = wait_for(lambda: cases.is_open(case.row.pk), lambda is_open: not is_open, seconds)
        if seconds and not waited.value:
            case = access_case(self.principal, escalation)
        response = answer(cases.tell_case(case))
        if waited.is_turned_away:
            response.headers["Retry-After"] = str(ASK_AGAIN_SECONDS)
        return response


# ---- claiming and settling -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class NewClaim:
    """Hold a case for a while."""

    id: Id
    reason: Reason | None = None
    evidence: Evidence = ()

    def request(self) -> ClaimRequest:
        return ClaimRequest(self.id, self.reason, self.evidence)


class ClaimsView(ApiView):
    """Holding a case, visibly, for fifteen minutes."""

    @documented("escalations", body=NewClaim, answers={201: ref("Escalation"), 200: ref("Escalation")})
    def post(self, request: Request, escalation: str) -> HttpResponse:
        """Claim a case, or renew one's own claim. Operators only."""
        access_case(self.principal, escalation)
        claimed = claims.claim(self.principal, escalation, self.read(NewClaim).request())
        told = cases.tell_row(claimed.row, authority.epoch_and_now()[1])
        return answer(told, status=200 if claimed.is_replay else 201, replayed=claimed.is_replay)

    @documented("escalations", answers={204: None})
    def delete(self, request: Request, escalation: str) -> HttpResponse:
        """Give up one's own claim; giving up what one does not hold changes nothing."""
        claims.release(self.principal, escalation)
        return HttpResponse(status=204)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewResolution:
    """How an operator settles a case, and the versions they saw."""

    id: Id
    verb: Annotated[str, Choice(*Verb)]
    params: Params | None = None
    reason: Reason
    evidence: Evidence = ()
    run_version: Version
    escalation_version: Version

    def request(self) -> ResolutionRequest:
        return ResolutionRequest(
            id=self.id,
            verb=Verb(self.verb),
            reason=self.reason,
            run_version=self.run_version,
            escalation_version=self.escalation_version,
            params=self.params,
            evidence=self.evidence,
        )


class ResolutionsView(ApiView):
    """Settling a case."""

    @documented("escalations", body=NewResolution, answers={201: ref("Resolution"), 200: ref("Resolution")})
    def post(self, request: Request, escalation: str) -> HttpResponse:
        """Apply, amend, keep or send back, on the versions of run and case that were seen. Operators only."""
        access_case(self.principal, escalation)
        settled = authorization.resolve(self.principal, escalation, self.read(NewResolution).request())
        if settled.is_replay:
            return answer(dict(settled.answer), replayed=True)
        told = {**settled.answer, "run": represent(settled.run, settled.workflow)}
        return answer(told, status=201, tag=version_tag(settled.ledger_epoch, settled.run.version))
