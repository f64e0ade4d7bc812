"""Reading a snapshot for deciding: what was frozen, who decided what, what counts, who could still decide.

Reads and judges; writes nothing. Everything about authority is as of the epoch that was read.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from approvals.consent import Given, Standing, counting, standing
from approvals.errors import HashMismatch, ManifestMismatch
from approvals.models import Decision, DestinationRevision, Snapshot
from approvals.separation import Part, part_of
from approvals.states import Verdict
from runs import authority, catalog
from runs.chain import rfc3339
from runs.definitions import Action, Policy, Workflow
from runs.digest import tagged
from runs.errors import NotFound
from runs.models import Person
from runs.states import Role
from runs.store import Found
from runs.values import Principal, RunReading

JSON = Any


def reviewers_of(policy: Policy, workflow: str, epoch: int) -> dict[int, str]:
    """Everybody who reviews a workflow under this policy, by number, as of an authority epoch."""
    people = Person.objects.filter(
        is_active=True, roles__contains=[Role.REVIEWER.value], workflow_groups__overlap=sorted(policy.reviewers)
    )
    return authority.cached(epoch, ("reviewers", workflow), lambda: dict(people.values_list("pk", "username")))


@dataclass(frozen=True, slots=True)
class ReviewTerms:
    """By which terms the snapshots of one workflow are decided now."""

    workflow: str
    authority_version: int
    quorum: int
    is_strict: bool
    reviewers: Sequence[int]  # by number


def terms_of(policy: Policy, workflow: str, epoch: int) -> ReviewTerms:
    """By which terms the snapshots of a workflow are decided, as of an authority epoch."""
    able = list(reviewers_of(policy, workflow, epoch))
    return ReviewTerms(workflow, policy.authority_version, policy.quorum, policy.separation == "strict", able)


@dataclass(frozen=True)
class Review:
    """A snapshot with everything that deciding and authorizing need, read in one transaction."""

    row: Snapshot
    found: Found
    run: RunReading
    workflow: Workflow
    action: Action
    policy: Policy
    principal: Principal
    altered: Mapping[str, str] = field(default_factory=dict)  # contents found to be others than their hash says

    @cached_property
    def decisions(self) -> list[Decision]:
        """What people said of these bytes. What is older than a restore does not count, and is told as what it is."""
        of_these_bytes = self.row.decisions.filter(manifest_sha256=self.row.manifest_sha256)
        return list(of_these_bytes.select_related("person").order_by("decided_at", "id"))

    @cached_property
    def reviewers(self) -> dict[int, str]:
        return reviewers_of(self.policy, self.run.workflow, self.found.authority_epoch)

    @cached_property
    def given(self) -> list[Given]:
        return [
            Given(
                id=f"d-{row.pk.hex}",
                verdict=Verdict(row.verdict),
                person_id=row.person_id,
                username=row.person.username,
                authority_version=row.authority_version,
                expires_at=row.expires_at,
                revoked_by=row.revoked_by,
                spent_by=row.spent_by,
                is_of_this_epoch=row.ledger_epoch == self.found.ledger_epoch,
            )
            for row in self.decisions
        ]

    @cached_property
    def counting(self) -> list[Given]:
        """The approvals that count now, one a person."""
        people = frozenset(self.reviewers)
        return counting(self.given, self.policy.authority_version, people, self.found.now)

    def standing_of(self, given: Given) -> Standing:
        return standing(given, self.policy.authority_version, frozenset(self.reviewers), self.found.now)

    @cached_property
    def parts(self) -> list[Part]:
        """Who took part, and therefore may not approve under strict separation."""
        return [Part(**part) for part in json.loads(self.row.parts)]

    def part_of(self, person_id: int) -> Part | None:
        return part_of(self.parts, person_id) if self.policy.separation == "strict" else None

    @cached_property
    def possible(self) -> list[str]:
        """The people who could still give an approval that counts."""
        done = {item.person_id for item in self.counting}
        return [name for number, name in self.reviewers.items() if number not in done and not self.part_of(number)]

    @property
    def is_active(self) -> bool:
        return self.run.state.active_snapshot == self.row.pk

    @cached_property
    def manifest(self) -> JSON:
        """What was frozen. Raises `ManifestMismatch` where the stored bytes are not that any more."""
        self.require_manifest()
        return json.loads(bytes(self.row.manifest))

    @cached_property
    def destination(self) -> DestinationRevision:
        """The destination revision that was frozen."""
        return DestinationRevision.objects.get(name=self.row.destination, revision=self.row.destination_revision)

    def require_manifest(self) -> None:
        """Raise `ManifestMismatch` unless the stored manifest has the hash it was frozen with."""
        _require_hash("manifest", self.row.manifest, self.row.manifest_sha256)

    def require_bytes(self) -> None:
        """Raise `ManifestMismatch` or `HashMismatch` unless manifest, payload and artifacts are stored as frozen."""
        self.require_manifest()
        if self.row.payload is not None:
            _require_hash("payload", self.row.payload, self.row.payload_sha256)
        for item in self.manifest["artifacts"]:
            require_unaltered(item["id"], item["sha256"], self.altered)


def require_unaltered(artifact: str, sha256: str, altered: Mapping[str, str]) -> None:
    """Raise `HashMismatch` where the content of an artifact was found to be another than it was."""
    if sha256 in altered:
        words = f"The stored content of {artifact} is not what was submitted any more."
        raise HashMismatch(words, artifact=artifact, expected=sha256, actual=altered[sha256])


def _require_hash(what: str, body: bytes | memoryview, sha256: str) -> None:
    actual = tagged(bytes(body))
    if actual != sha256:
        words = f"The stored {what} is not what was frozen any more."
        raise ManifestMismatch(words, altered=what, expected=sha256, actual=actual)


def load_review(principal: Principal, snapshot: str, found: Found) -> Review:
    """A snapshot as `principal` sees it. Raises `NotFound` when there is none or it may not be seen."""
    row = Snapshot.objects.filter(pk=snapshot).first()
    run = found.run
    if row is None or run is None or row.run_id != run.id:
        raise NotFound
    policy = authority.policy_of(run.workflow, found.authority_epoch)
    workflow = catalog.definition(run.workflow, _revision(row, run))
    return Review(row, found, run, workflow, workflow.actions[row.action], policy, principal)


def _revision(row: Snapshot, run: RunReading) -> int:
    """The revision that was frozen. Of altered bytes nothing is believed; what they approve can still be revoked."""
    if tagged(bytes(row.manifest)) != row.manifest_sha256:
        return run.revision
    revision: int = json.loads(bytes(row.manifest))["workflow_revision"]
    return revision


def describe(given: Given, row: Decision, found: Standing) -> dict[str, JSON]:
    """A decision as screens and the API show it."""
    return {
        "decision": given.id,
        "verdict": given.verdict.value,
        "by": f"user:{given.username}",
        "at": rfc3339(row.decided_at),
        "counts": found.counts,
        "because": found.because,
    }
