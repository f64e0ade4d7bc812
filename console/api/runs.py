"""`/runs/`: creating a run, listing runs, reading one, and its legal next steps."""

from dataclasses import dataclass, field
from typing import Annotated

from django.http import HttpResponse
from rest_framework.request import Request

from console.access import access_run
from console.answers import answer, representation
from console.api.base import ApiView
from console.api.filters import chosen_word, chosen_workflows
from console.api.openapi import documented, listed, ref
from console.cursors import CursorType, PageRequest, page, read_page_request
from console.rules import Object, Text
from console.shapes import Evidence, Id, Name, Reason
from runs import actions, steps
from runs.chain import rfc3339
from runs.queries import RunSummary, list_runs, represent
from runs.states import RunStatus
from runs.values import JSON, version_tag

CURSOR: CursorType[int] = CursorType("runs", int)

Key = Annotated[str, Text(64, r"[A-Za-z0-9._-]{1,64}", "1 to 64 of A–Z a–z 0–9 . _ -")]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """A business record to be put under control."""

    id: Id
    workflow: Name
    key: Key
    fields: Annotated[dict[str, JSON], Object()] = field(default_factory=dict)
    reason: Reason
    evidence: Evidence = ()

    def request(self) -> actions.RunRequest:
        return actions.RunRequest(self.id, self.workflow, self.key, self.fields, self.reason, self.evidence)


class RunsView(ApiView):
    """All runs that the caller may see."""

    @documented(
        "runs",
        answers={200: listed("RunSummary")},
        is_list=True,
        query={
            "workflow": "Only runs of this workflow",
            "status": "Only runs in this status",
            "q": "Only runs whose key begins so",
        },
    )
    def get(self, request: Request) -> HttpResponse:
        """Runs, the newest first, without their fields."""
        wanted = read_page_request(request._request, "workflow", "status", "q")
        rows = self._read(wanted)
        return answer(page(rows, wanted.limit, lambda row: CURSOR.write(row.id), RunSummary.as_json))

    def _read(self, wanted: PageRequest) -> list[RunSummary]:
        status = chosen_word(wanted, "status", RunStatus)
        before = CURSOR.read(wanted.cursor)[0] if wanted.cursor else None
        workflows = chosen_workflows(self.principal, wanted)
        return list_runs(workflows, wanted.fetch, before=before, status=status, key=wanted.filters.get("q", ""))

    @documented("runs", body=NewRun, answers={201: ref("Run"), 200: ref("Run")})
    def post(self, request: Request) -> HttpResponse:
        """Create a run, or find the one that was created with the same key and content."""
        created = actions.create_run(self.principal, self.read(NewRun).request())
        return answer(
            represent(created.run, created.workflow),
            status=200 if created.is_replay else 201,
            tag=version_tag(created.ledger_epoch, created.run.version),
            replayed=created.is_replay,
        )


class RunView(ApiView):
    """One run."""

    @documented("runs", answers={200: ref("Run"), 304: None})
    def get(self, request: Request, key: str) -> HttpResponse:
        """A run as it is now, with the ETag of its version."""
        met = access_run(self.principal, key)
        tag = version_tag(met.found.ledger_epoch, met.run.version)
        return representation(request._request, represent(met.run, met.workflow), tag=tag)


class NextView(ApiView):
    """What may be done with a run now."""

    @documented("runs", answers={200: ref("NextSteps")})
    def get(self, request: Request, key: str) -> HttpResponse:
        """Every step: legal for the caller now, or why not; what open escalations hold; when the run expires."""
        met = access_run(self.principal, key)
        at = steps.Standpoint(met.principal, met.run, met.workflow, met.policy, met.found.is_halted)
        expires_at = steps.expires_at(met.run, met.policy)
        return answer(
            {
                "version": met.run.version,
                "steps": [step.as_json() for step in steps.next_steps(at)],
                "held": steps.held_fields(met.run),
                "expires_at": rfc3339(expires_at) if expires_at else None,
            }
        )
