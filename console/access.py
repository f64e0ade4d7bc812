"""Loading what a view works on, with the permission to see it: the only way a view gets a row.

What a principal may not see does not exist for it: both are `NotFound`, so an answer tells nothing about the
runs of others. What may be done with a row is judged where it is done.
"""

import re
from dataclasses import dataclass

from approvals.deciding import decision_number
from approvals.models import Artifact, Decision, Snapshot
from approvals.reviewing import Review, load_review
from outbox.cases import Case as EffectCase
from outbox.cases import load_case as load_effect_case
from runs import authority, cases, catalog, store
from runs.definitions import Policy, Workflow
from runs.errors import NotFound
from runs.models import Conflict
from runs.outcomes import visible
from runs.permissions import may_see
from runs.store import Found
from runs.values import Principal, RunReading
from runs.verbs import Case, load_case

_KEY = re.compile(r"[A-Za-z0-9._-]{1,64}")
_SLUG = re.compile(r"[a-z][a-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class RunAccess:
    """A run that the principal may see, with everything that was read of it in one statement."""

    principal: Principal
    run: RunReading
    workflow: Workflow
    policy: Policy
    found: Found


def access_run(principal: Principal, key: str) -> RunAccess:
    """The run with this key. Raises `NotFound`."""
    if not _KEY.fullmatch(key):
        raise NotFound
    found = store.read(key)
    run, principal, policy = visible(principal, found)
    return RunAccess(principal, run, catalog.definition(run.workflow, run.revision), policy, found)


def access_workflow(principal: Principal, slug: str) -> tuple[Workflow, Policy]:
    """The newest revision of a workflow and its policy in force. Raises `NotFound`."""
    if not _SLUG.fullmatch(slug):
        raise NotFound
    policy = authority.policy_of(slug)
    if not may_see(principal, slug, policy):
        raise NotFound
    return catalog.latest(slug), policy


def visible_workflows(principal: Principal, epoch: int | None = None) -> tuple[str, ...]:
    """The slugs of the workflows whose runs the principal sees, in order; as of `epoch` (by default: as of now)."""
    epoch = authority.current_epoch() if epoch is None else epoch
    return authority.cached(epoch, ("visible", principal.actor), lambda: _visible(principal, epoch))


def _visible(principal: Principal, epoch: int) -> tuple[str, ...]:
    slugs = [workflow.slug for workflow in catalog.list_workflows()]
    return tuple(slug for slug in slugs if may_see(principal, slug, authority.policy_of(slug, epoch)))


def access_conflict(principal: Principal, ref: str) -> Conflict:
    """A conflict of a run that the principal may see. Raises `NotFound`."""
    conflict = cases.get_conflict(cases.conflict_number(ref))
    if not may_see(principal, conflict.workflow, authority.policy_of(conflict.workflow)):
        raise NotFound
    return conflict


def access_case(principal: Principal, ref: str) -> Case:
    """A case that the principal may see: people those of their workflows, agents their own. Raises `NotFound`."""
    case = load_case(principal, ref)
    if principal.is_agent and case.row.principal != principal.actor:
        raise NotFound
    return case


def access_artifact(principal: Principal, number: str) -> Artifact:
    """An artifact of a run that the principal may see. Raises `NotFound`."""
    row = Artifact.objects.select_related("run", "content").filter(pk=number).first()
    if row is None or not may_see(principal, row.run.workflow, authority.policy_of(row.run.workflow)):
        raise NotFound
    return row


def access_snapshot(principal: Principal, number: str) -> Review:
    """A snapshot of a run that the principal may see, as it stands now. Raises `NotFound`."""
    key = Snapshot.objects.filter(pk=number).values_list("run__key", flat=True).first()
    if key is None:
        raise NotFound
    met = access_run(principal, key)
    return load_review(met.principal, number, met.found)


def access_decision(principal: Principal, ref: str) -> Review:
    """The snapshot of a decision that the principal may see, as it stands now. Raises `NotFound`."""
    number = Decision.objects.filter(pk=decision_number(ref)).values_list("snapshot_id", flat=True).first()
    if number is None:
        raise NotFound
    return access_snapshot(principal, number)


def access_effect(principal: Principal, operation_id: str) -> EffectCase:
    """An effect of a run that the principal may see. Raises `NotFound`."""
    return load_effect_case(principal, operation_id)
