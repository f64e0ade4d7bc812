"""What screens and the API read about runs. Writes nothing and takes no locks."""

from typing import Any

from runs.chain import rfc3339
from runs.definitions import Workflow
from runs.values import RunReading

JSON = Any


def represent(run: RunReading, workflow: Workflow) -> dict[str, JSON]:
    """The representation of a run. It depends on nothing but the run's version."""
    return {
        "key": run.key,
        "workflow": run.workflow,
        "workflow_revision": run.revision,
        "status": run.state.status.value,
        "label": workflow.label(run.state.status),
        "version": run.version,
        "input_version": run.input_version,
        "fields": dict(run.state.fields),
        "active_snapshot": run.state.active_snapshot,
        "effect": run.effect,
        "created_at": rfc3339(run.created_at),
        "updated_at": rfc3339(run.updated_at),
    }
