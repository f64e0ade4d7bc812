"""Changes of a policy: what tightens is in force at once, what loosens waits for a second admin.

A policy moves by single versions; its part about consent raises the authority version as well, which outdates
decisions that were drawn up before. A change takes effect on the next request.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from runs import authority, catalog
from runs.administration import By, authority_change, newest_policy, raise_epoch, store_policy
from runs.confirmations import Asked, Kind, ask, waiting_ref
from runs.definitions import Policy
from runs.descriptions import describe_policy
from runs.errors import NotFound, VersionConflict
from runs.loosening import loosened, tightened
from runs.models import PolicyVersion
from runs.permissions import may_see
from runs.policy_terms import changed_members, read_terms, touches_consent, write_terms
from runs.requests import Answer, once
from runs.values import Principal, version_tag

JSON = Any

KIND = "policy"


# ---- reading ---------------------------------------------------------------------------------------------


def tell_policy(slug: str, policy: Policy) -> dict[str, JSON]:
    """A policy as the API shows it; its terms are the members that a change may name."""
    return {"workflow": slug, **describe_policy(policy)}


@dataclass(frozen=True, slots=True)
class PastPolicy:
    """One version of a policy: what it changed, who did it, why, and when."""

    row: PolicyVersion
    policy: Policy
    changed: Mapping[str, Mapping[str, JSON]]


def list_history(slug: str, limit: int) -> list[PastPolicy]:
    """The versions of a policy, the newest first, each with what it changed."""
    rows = list(PolicyVersion.objects.filter(slug=slug).order_by("-version")[: limit + 1])
    policies = [_from_row(row) for row in rows]
    changed = [changed_members(before, after) for after, before in zip(policies, policies[1:], strict=False)]
    history = zip(rows, policies, [*changed, {}], strict=True)
    return [PastPolicy(row, policy, changes) for row, policy, changes in history][:limit]


def past_policy(slug: str, version: int) -> Policy | None:
    """A policy as it was at one version, if there was such a version."""
    row = PolicyVersion.objects.filter(slug=slug, version=version).first()
    return None if row is None else _from_row(row)


def _from_row(row: PolicyVersion) -> Policy:
    return authority.policy_from_terms(json.loads(row.terms), row.version, row.authority_version)


# ---- changing --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PolicyRequest:
    """A change of a policy, on the version its caller saw; `changes` names members as `tell_policy` does."""

    id: str
    expected: int
    changes: Mapping[str, JSON]
    reason: str
    evidence: tuple[str, ...] = ()

    def identity(self, slug: str) -> dict[str, JSON]:
        return {
            "name": "change-policy",
            "workflow": slug,
            "changes": dict(self.changes),
            "reason": self.reason,
            "evidence": list(self.evidence),
        }


@authority_change
def change_policy(principal: Principal, slug: str, request: PolicyRequest) -> Answer:
    """Change the policy of a workflow as an admin. What tightens is in force when this returns; the rest waits.

    Locks: authority (shared), the installation's row, then authority (exclusive) before it answers. Raises
    `NotFound`, `CommandIdReused`, `AgentsCannotDecide`, `Forbidden`, `InvalidParams`, `VersionConflict`.
    """
    policy = newest_policy(slug)
    if not may_see(authority.current(principal), slug, policy):
        raise NotFound
    return once(principal, request.id, request.identity(slug), lambda admin: _change(admin, slug, policy, request))


def _change(admin: Principal, slug: str, policy: Policy, request: PolicyRequest) -> Answer:
    wanted = read_terms(policy, request.changes, catalog.latest(slug))
    _require_version(slug, policy, request.expected)
    by = By(admin.actor, request.reason)
    in_force = put_in_force(slug, policy, tightened(policy, wanted), by)
    if words := loosened(policy, wanted):
        return _let_wait(admin, slug, in_force, wanted, words, request.reason)
    return Answer(tell_policy(slug, in_force))


def _require_version(slug: str, policy: Policy, expected: int) -> None:
    if expected == policy.version:
        return
    raise VersionConflict(
        f"The policy of {slug} is at version {policy.version}: look at it and decide anew.",
        disposition="retry",
        base_version=expected,
        current_version=policy.version,
        current_etag=version_tag(authority.ledger_epoch(), policy.version),
        policy=tell_policy(slug, policy),
    )


def _let_wait(admin: Principal, slug: str, in_force: Policy, wanted: Policy, words: list[str], reason: str) -> Answer:
    terms = write_terms(wanted)
    changes = {name: terms[name] for name in changed_members(in_force, wanted)}
    because = f"A second admin has to confirm: {'; '.join(words)}."
    step = ask(admin, Asked(KIND, slug, {"changes": changes}, str(in_force.version), because, reason))
    return Answer(tell_policy(slug, in_force), waiting_ref(step.pk), because)


def put_in_force(slug: str, before: Policy, wanted: Policy, by: By) -> Policy:
    """Store `wanted` as the next version, in an open authority change; nothing where nothing differs."""
    changed = changed_members(before, wanted)
    if not changed:
        return before
    consent = touches_consent(changed)
    after = replace(wanted, version=before.version + 1, authority_version=before.authority_version + consent)
    store_policy(slug, after, by)
    facts = {"version": after.version, "authority_version": after.authority_version, "changed": changed}
    raise_epoch("workflow.policy-changed" if consent else "policy.changed", slug, by, facts)
    return after


# ---- the step that waits -----------------------------------------------------------------------------------


def _apply_waiting(step: Asked, by: By) -> JSON:
    policy = newest_policy(step.subject)
    wanted = read_terms(policy, step.arguments["changes"], catalog.latest(step.subject))
    return tell_policy(step.subject, put_in_force(step.subject, policy, wanted, by))


def _version_of(slug: str) -> str:
    return str(newest_policy(slug).version)


KINDS = {KIND: Kind("Change of a policy", _version_of, _apply_waiting)}
