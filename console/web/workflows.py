"""Workflows: the list, the rules of one in words, its revisions with what changed between them."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from console.access import access_workflow, visible_workflows
from console.line_diff import line_hunks
from console.rendering import render_screen
from console.rule_book import write_rule_book
from console.web.gate import signed_in
from console.web.paging import page_number
from runs import authority, catalog
from runs.definitions import Policy, Workflow
from runs.models import WorkflowRevision
from runs.permissions import is_admin
from runs.values import Principal


@require_GET
@signed_in
def list_workflows(request: HttpRequest, principal: Principal) -> HttpResponse:
    epoch = authority.current_epoch()
    seen = visible_workflows(principal, epoch)
    lines = [
        {"workflow": workflow, "policy": authority.policy_of(workflow.slug, epoch)}
        for workflow in catalog.list_workflows()
        if workflow.slug in seen
    ]
    return render_screen(request, "workflows/list.html", {"lines": lines})


@require_GET
@signed_in
def detail(request: HttpRequest, principal: Principal, slug: str) -> HttpResponse:
    workflow, policy = access_workflow(principal, slug)
    return _rules(request, principal, workflow, policy, newest=workflow.revision)


@require_GET
@signed_in
def revision(request: HttpRequest, principal: Principal, slug: str, number: int) -> HttpResponse:
    newest, policy = access_workflow(principal, slug)
    return _rules(request, principal, catalog.definition(slug, number), policy, newest=newest.revision)


def _rules(
    request: HttpRequest, principal: Principal, workflow: Workflow, policy: Policy, *, newest: int
) -> HttpResponse:
    context = {
        **frame(principal, workflow, policy, "rules"),
        "book": write_rule_book(workflow),
        "newest": newest,
        "is_newest": workflow.revision == newest,
    }
    return render_screen(request, "workflows/detail.html", context)


@require_GET
@signed_in
def revisions(request: HttpRequest, principal: Principal, slug: str) -> HttpResponse:
    workflow, policy = access_workflow(principal, slug)
    rows = catalog.list_revisions(slug)
    newer = _chosen(rows, request.GET.get("to"), default=0)
    older = _chosen(rows, request.GET.get("from"), default=1)
    hunks = line_hunks(older.text, newer.text) if older and newer else []
    context = {
        **frame(principal, workflow, policy, "revisions"),
        "revisions": rows,
        "older": older,
        "newer": newer,
        "hunks": hunks,
    }
    return render_screen(request, "workflows/revisions.html", context)


def _chosen(rows: list[WorkflowRevision], text: str | None, *, default: int) -> WorkflowRevision | None:
    """The revision that a link names, or by default one of the newest."""
    number = page_number(text)
    if number is None:
        return rows[default] if len(rows) > default else None
    return next((row for row in rows if row.revision == number), None)


#: The pages of one workflow: name of the address, label, what it is called here.
TABS = (
    ("workflows:detail", "Rules", "rules"),
    ("workflows:policy", "Policy", "policy"),
    ("workflows:dry-run", "Dry run", "dry-run"),
    ("workflows:revisions", "Revisions", "revisions"),
)


def frame(principal: Principal, workflow: Workflow, policy: Policy, tab: str) -> Mapping[str, Any]:
    """What stands around every page of a workflow."""
    return {
        "workflow": workflow,
        "policy": policy,
        "is_admin": is_admin(principal),
        "tabs": TABS,
        "tab": tab,
    }
