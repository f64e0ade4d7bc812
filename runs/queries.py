"""What screens and the API read about runs and their ledgers. Writes nothing and takes no locks."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runs import catalog
from runs.chain import rfc3339
from runs.definitions import Workflow
from runs.models import LedgerEntry, Run
from runs.states import RunStatus
from runs.values import RunReading

JSON = Any


# ---- runs ------------------------------------------------------------------------------------------------


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


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run as a line of a list: everything but its fields."""

    id: int
    key: str
    workflow: str
    revision: int
    status: RunStatus
    version: int
    input_version: int
    active_snapshot: str | None
    effect: str | None
    created_at: datetime
    updated_at: datetime

    @property
    def label(self) -> str:
        """What people call the status in this workflow."""
        return catalog.definition(self.workflow, self.revision).label(self.status)

    def as_json(self) -> dict[str, JSON]:
        return {
            "key": self.key,
            "workflow": self.workflow,
            "workflow_revision": self.revision,
            "status": self.status.value,
            "label": self.label,
            "version": self.version,
            "input_version": self.input_version,
            "active_snapshot": self.active_snapshot,
            "effect": self.effect,
            "created_at": rfc3339(self.created_at),
            "updated_at": rfc3339(self.updated_at),
        }


_SUMMARY_COLUMNS = tuple(RunSummary.__dataclass_fields__)


def list_runs(
    workflows: Collection[str], limit: int, *, before: int | None = None, status: str | None = None, key: str = ""
) -> list[RunSummary]:
    """Runs of `workflows`, the newest first, those with an id below `before`; `key` is the beginning of their keys."""
    runs = Run.objects.filter(workflow__in=workflows, key__startswith=key)
    if status is not None:
        runs = runs.filter(status=status)
    if before is not None:
        runs = runs.filter(id__lt=before)
    rows = runs.order_by("-id").values(*_SUMMARY_COLUMNS)[:limit]
    return [RunSummary(**{**row, "status": RunStatus(row["status"])}) for row in rows]


# ---- the ledger ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entry:
    """A ledger entry as it is told: what happened, who did it, and its place in the chain."""

    seq: int
    version: int
    kind: str
    actor: str
    command_id: str | None
    at: datetime
    body: bytes | None  # None: erased; its hash stays
    body_sha256: str
    prev_hash: str
    hash: str

    def as_json(self) -> dict[str, JSON]:
        return {
            "seq": self.seq,
            "version": self.version,
            "kind": self.kind,
            "actor": self.actor,
            "command_id": self.command_id,
            "at": rfc3339(self.at),
            "body": None if self.body is None else json.loads(bytes(self.body)),
            "body_sha256": self.body_sha256,
            "prev_hash": self.prev_hash,
            "hash": self.hash,
        }


ENTRY_COLUMNS = tuple(Entry.__dataclass_fields__)


def list_entries(run_id: int, limit: int, *, after: int = 0) -> list[Entry]:
    """The ledger entries of a run that follow entry `after`, in order."""
    entries = LedgerEntry.objects.filter(run_id=run_id, seq__gt=after).order_by("seq")
    return [Entry(*row) for row in entries.values_list(*ENTRY_COLUMNS)[:limit]]
