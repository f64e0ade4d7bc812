"""The manifest: the canonical bytes that say exactly what is under review, and their hash.

Pure. Nothing of a manifest ever changes; whoever approves, approves these bytes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runs.digest import canonical, tagged

JSON = Any

SCHEMA = "clearance.manifest/1"


@dataclass(frozen=True, slots=True)
class FrozenArtifact:
    """An artifact as a manifest names it."""

    id: str
    slot: str
    sha256: str
    input_version: int
    bytes: int


@dataclass(frozen=True, slots=True)
class FrozenDestination:
    """A destination revision as a manifest names it."""

    name: str
    revision: int
    adapter: str
    url_sha256: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """Everything that a freeze puts under review."""

    snapshot: str
    run: str
    workflow: str
    workflow_revision: int
    run_version: int
    action: str
    input_version: int
    facts: Mapping[str, JSON]
    artifacts: Sequence[FrozenArtifact]
    destination: FrozenDestination
    payload: bytes
    media_type: str
    contract: str
    proposed_by: str
    denied_before: int
    of: str | None = None


def snapshot_id(run: str, version: int, candidate: int) -> str:
    """The id of a snapshot: run, the version its freeze made, and which candidate of the run it is."""
    return f"{run}:review:v{version}:c{candidate}"


def facts_sha256(facts: Mapping[str, JSON]) -> str:
    """The hash of the facts of consent and their values."""
    return tagged(canonical(dict(facts)))


def manifest_bytes(candidate: Candidate) -> bytes:
    """The canonical manifest of a candidate."""
    manifest: dict[str, JSON] = {
        "schema": SCHEMA,
        "snapshot": candidate.snapshot,
        "run": candidate.run,
        "workflow": candidate.workflow,
        "workflow_revision": candidate.workflow_revision,
        "run_version": candidate.run_version,
        "action": candidate.action,
        "input_version": candidate.input_version,
        "facts": {"values": dict(candidate.facts), "sha256": facts_sha256(candidate.facts)},
        "artifacts": [_members(item) for item in sorted(candidate.artifacts, key=lambda item: item.slot)],
        "destination": _members(candidate.destination),
        "payload": {
            "sha256": tagged(candidate.payload),
            "bytes": len(candidate.payload),
            "media_type": candidate.media_type,
        },
        "contract": candidate.contract,
        "proposed_by": candidate.proposed_by,
        "denied_before": candidate.denied_before,
    }
    if candidate.of is not None:
        manifest["of"] = candidate.of
    return canonical(manifest)


def _members(item: FrozenArtifact | FrozenDestination) -> dict[str, JSON]:
    return {name: getattr(item, name) for name in item.__dataclass_fields__}
