"""The last look before anything may leave: is there a reason not to send this now. Reads only."""

import json
from collections.abc import Sequence

from outbox.bearings import Bearing
from runs import catalog
from runs.authority import suspended_workflows
from runs.digest import tagged
from runs.fields import same
from runs.transactions import durable, execute

_WITHDRAWN = """
SELECT e.operation_id FROM outbox_effect e CROSS JOIN runs_installation i
WHERE e.operation_id = ANY(%(operations)s) AND (i.is_halted OR e.workflow = ANY(%(suspended)s) OR EXISTS (
    SELECT FROM approvals_decision d LEFT JOIN approvals_standingapproval s ON s.id = d.standing_approval_id
    WHERE d.id = ANY(e.approvals) AND (d.revoked_at IS NOT NULL OR s.revoked_at IS NOT NULL)))
"""


def reason_not_to_send(at: Bearing) -> str | None:
    """The fact that differs from what was authorized, in words; None when all of it still holds."""
    effect, run = at.effect, at.run
    if at.revoked is not None:
        return f"an approval was revoked (decision {at.revoked})"
    payload = effect.snapshot.payload
    if payload is None:
        return "the payload was erased"
    if tagged(bytes(payload)) != effect.payload_sha256:
        return "the stored payload no longer has the approved hash"
    manifest = bytes(effect.snapshot.manifest)
    if tagged(manifest) != effect.manifest_sha256:
        return "the stored manifest no longer has the approved hash"
    action = catalog.definition(run.workflow, json.loads(manifest)["workflow_revision"]).actions[effect.action]
    for name, allowed in action.only_when.items():
        if not any(same(run.state.fields.get(name), value) for value in allowed):
            return f"{name} is {run.state.fields.get(name)}, which does not allow this"
    return None


@durable
def withdrawn(operations: Sequence[str]) -> set[str]:
    """Which of these claimed effects nobody would claim any more: halted, suspended, or an approval revoked since."""
    params = {"operations": list(operations), "suspended": suspended_workflows()}
    return {number for (number,) in execute(_WITHDRAWN, params).fetchall()}
