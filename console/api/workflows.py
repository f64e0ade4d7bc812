"""`/workflows/`: the rules that runs live under, and trying a command on two versions without sending it."""

from dataclasses import asdict, dataclass, field

from django.http import HttpResponse
from rest_framework.request import Request

from console.access import access_run, access_workflow, visible_workflows
from console.answers import answer
from console.api.base import ApiView
from console.api.openapi import documented, listed, ref
from console.cursors import CursorType, page, read_page_request
from console.shapes import Name, Params, Version
from runs import authority, catalog
from runs.descriptions import describe, summarise
from runs.dry_runs import Trial, try_command
from runs.errors import NotFound

CURSOR: CursorType[str] = CursorType("workflows", str)


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """A command computed on one version of a run, meeting another."""

    run: Name
    base_version: Version
    current_version: Version
    command: Name
    params: Params = field(default_factory=dict)


class WorkflowsView(ApiView):
    """All workflows that the caller may see."""

    @documented("workflows", answers={200: listed("WorkflowSummary")}, is_list=True)
    def get(self, request: Request) -> HttpResponse:
        """Workflows by their slugs."""
        wanted = read_page_request(request._request)
        after = CURSOR.read(wanted.cursor)[0] if wanted.cursor else ""
        slugs = [slug for slug in visible_workflows(self.principal) if slug > after]
        rows = [workflow for workflow in catalog.list_workflows() if workflow.slug in slugs]
        epoch = authority.current_epoch()
        return answer(
            page(
                rows,
                wanted.limit,
                lambda row: CURSOR.write(row.slug),
                lambda row: summarise(row, authority.policy_of(row.slug, epoch)),
            )
        )


class WorkflowView(ApiView):
    """One workflow."""

    @documented("workflows", answers={200: ref("Workflow")})
    def get(self, request: Request, slug: str) -> HttpResponse:
        """Fields, commands, conflict rules and actions of the newest revision, and the policy in force."""
        return answer(describe(*access_workflow(self.principal, slug)))


class DryRunsView(ApiView):
    """Trying a command."""

    @documented("workflows", body=DryRun, answers={200: ref("DryRun")})
    def post(self, request: Request, slug: str) -> HttpResponse:
        """What would become of a command on two versions of a run. Writes nothing."""
        access_workflow(self.principal, slug)
        body = self.read(DryRun)
        met = access_run(self.principal, body.run)
        if met.run.workflow != slug:
            raise NotFound
        trial = Trial(body.command, body.params, body.base_version, body.current_version)
        return answer(asdict(try_command(self.principal.actor, met.run, met.workflow, trial)))
