"""`/workflows/{slug}/policy/`: the policy in force, and changing it."""

from dataclasses import dataclass

from django.http import HttpResponse
from rest_framework.request import Request

from console.access import access_workflow
from console.answers import representation
from console.api.admin_rules import Open
from console.api.base import ApiView
from console.api.openapi import documented, ref
from console.api.second_person import told
from console.inputs import check_idempotency_key, read_body
from console.shapes import Evidence, Id, Reason, read_shape
from runs.authority import ledger_epoch
from runs.policies import PolicyRequest, change_policy, tell_policy
from runs.policy_terms import MEMBERS
from runs.values import version_tag


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChange:
    """The terms that should change; those that are not named stay. Null takes a term away."""

    id: Id
    reason: Reason
    evidence: Evidence = ()
    suspended: Open = None
    quorum: Open = None
    separation: Open = None
    operators: Open = None
    reviewers: Open = None
    limits: Open = None
    reauthenticate_within: Open = None
    decision_expires_after: Open = None
    run_expires_after: Open = None
    budget: Open = None
    retention: Open = None


class PolicyView(ApiView):
    """The policy of one workflow."""

    @documented("policies", answers={200: ref("Policy")})
    def get(self, request: Request, slug: str) -> HttpResponse:
        """The policy in force, with the tag of its version."""
        _, policy = access_workflow(self.principal, slug)
        return representation(
            request._request, tell_policy(slug, policy), tag=version_tag(ledger_epoch(), policy.version)
        )

    @documented(
        "policies", body=PolicyChange, answers={200: ref("Policy"), 202: ref("Waiting")}, precondition=True
    )  # fmt: skip
    def patch(self, request: Request, slug: str) -> HttpResponse:
        """Change the policy. What tightens is in force with this answer; what loosens waits for a second admin."""
        access_workflow(self.principal, slug)
        epoch = ledger_epoch()
        expected = self.expected_version(epoch)
        raw = read_body(request._request)
        body = read_shape(PolicyChange, raw)
        check_idempotency_key(request._request, body.id)
        changes = {name: raw[name] for name in MEMBERS if name in raw}
        asked = PolicyRequest(body.id, expected, changes, body.reason, body.evidence)
        given = change_policy(self.principal, slug, asked)
        tag = None if given.is_replay else version_tag(epoch, given.made["version"])
        return told(given, tag=tag)
