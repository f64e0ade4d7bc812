"""The last look before anything may leave: is there a reason not to send this now. Reads only."""

import json

from outbox.models import Effect
from outbox.targets import revoked_approval
from runs import catalog
from runs.digest import tagged
from runs.fields import same
from runs.values import RunReading


def reason_not_to_send(effect: Effect, run: RunReading) -> str | None:
    """The fact that differs from what was authorized, in words; None when all of it still holds."""
    if (revoked := revoked_approval(effect)) is not None:
        return f"an approval was revoked (decision {revoked.pk})"
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
