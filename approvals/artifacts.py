"""Submitting artifacts: immutable, content-addressed outputs of one worker for one slot, with their inputs."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Any

from approvals import blobs
from approvals.errors import HashMismatch
from approvals.models import Artifact
from runs import catalog, store
from runs.attempts import request_sha256
from runs.definitions import Policy, Workflow
from runs.digest import tagged
from runs.errors import CommandIdReused, Fault, InvalidParams
from runs.locks import claim_id, hold_run
from runs.models import Agent, LedgerEntry, Person
from runs.outcomes import visible
from runs.permissions import require_running, require_scope
from runs.store import Found, Record, Recorded
from runs.transactions import durable
from runs.values import NewEntry, Principal, RunReading, cited

JSON = Any


@dataclass(frozen=True, slots=True)
class Submission:
    """An artifact as its worker sends it."""

    id: str
    slot: str
    input_version: int
    media_type: str
    content: bytes
    sha256: str
    sources: Sequence[str] = ()
    reason: str = ""
    evidence: Sequence[str] = ()

    def identity(self) -> dict[str, JSON]:
        return {
            "name": "submit-artifact",
            "slot": self.slot,
            "input_version": self.input_version,
            "media_type": self.media_type,
            "sha256": self.sha256,
            "sources": list(self.sources),
            **({"reason": self.reason} if self.reason else {}),
            **cited(self.evidence),
        }


@dataclass(frozen=True, slots=True)
class Submitted:
    """The artifact, and whether it was there already."""

    artifact: Artifact
    is_replay: bool


def submit_artifact(principal: Principal, key: str, submission: Submission) -> Submitted:
    """Keep the output of a worker for its slot: a ledger entry of the run, and no version step.

    The content is hashed and put aside before the transaction. Locks: the id, the run. Raises `NotFound`,
    `HashMismatch`, `InvalidParams`, `CommandIdReused` and the refusals of authority.
    """
    actual = tagged(submission.content)
    in_storage = actual == submission.sha256 and blobs.put_aside(submission.content) is not None
    return _submit(principal, key, submission, actual, in_storage)


@durable
def _submit(principal: Principal, key: str, submission: Submission, actual: str, in_storage: bool) -> Submitted:
    claim_id(key, principal.actor, submission.id)
    hold_run(key)
    found = store.read(key, principal.actor, submission.id)
    run, principal, policy = visible(principal, found)
    digest = request_sha256(submission.identity())
    if found.recorded is not None:
        return _replayed(found.recorded, digest)
    _admit(principal, found, run, policy, submission)
    _require_hash(submission, actual)
    is_back = blobs.keep(submission.content, submission.sha256, in_storage=in_storage)
    same = Artifact.objects.filter(
        run_id=run.id, slot=submission.slot, input_version=submission.input_version, content_id=submission.sha256
    ).first()
    if same is not None and not is_back:
        store.record_only(run.id, _record(principal, submission, digest, same), found.now)
        return Submitted(same, is_replay=True)
    artifact = same or _insert(principal, run, submission, found)
    body = {**submission.identity(), "artifact": artifact.pk, "bytes": len(submission.content)}
    entry = NewEntry("artifact.submitted", principal.actor, submission.id, body, run.version)
    store.require_step(run, run, [entry], _record(principal, submission, digest, artifact), found.now)
    return Submitted(artifact, is_replay=False)


def _replayed(recorded: Recorded, digest: str) -> Submitted:
    if recorded.request_sha256 != digest:
        raise CommandIdReused(f"{recorded.name} has this id.")
    return Submitted(Artifact.objects.get(pk=json.loads(recorded.answer)["artifact"]), is_replay=True)


def _record(principal: Principal, submission: Submission, digest: str, artifact: Artifact) -> Record:
    return Record(principal.actor, submission.id, "submit-artifact", digest, "done", {"artifact": artifact.pk})


def _admit(principal: Principal, found: Found, run: RunReading, policy: Policy, submission: Submission) -> None:
    workflow = catalog.definition(run.workflow, run.revision)
    slot = workflow.slots.get(submission.slot)
    require_running(principal, policy, is_halted=found.is_halted)
    if slot is None:
        raise _unfit("/slot", f"{run.workflow} has no slot {submission.slot}.")
    require_scope(principal, run.workflow, slot.scope, policy)
    if submission.media_type not in slot.media_types:
        raise _unfit("/media_type", f"The slot takes {', '.join(slot.media_types)}.")
    if not _was_input_version(run, workflow, submission.input_version):
        raise _unfit("/input_version", f"The run never had an input version {submission.input_version}.")


def _require_hash(submission: Submission, actual: str) -> None:
    if actual != submission.sha256:
        fault = Fault("/sha256", "hash-mismatch", "The content does not have this hash.")
        raise HashMismatch(fault.detail, errors=[fault], expected=submission.sha256, actual=actual)


def _was_input_version(run: RunReading, workflow: Workflow, version: int) -> bool:
    """Whether the inputs changed at this version; they begin with version 1."""
    if version in (1, run.input_version):
        return True
    changes = LedgerEntry.objects.filter(run_id=run.id, version=version, touched__overlap=sorted(workflow.material))
    return 1 < version < run.input_version and changes.exists()


def _unfit(pointer: str, words: str) -> InvalidParams:
    return InvalidParams(words, errors=[Fault(pointer, "unacceptable", words)])


def _insert(principal: Principal, run: RunReading, submission: Submission, found: Found) -> Artifact:
    number = (
        1 + Artifact.objects.filter(run_id=run.id, slot=submission.slot, input_version=submission.input_version).count()
    )
    return Artifact.objects.create(
        id=f"{run.key}:{submission.slot}:{submission.input_version}:{letters(number)}",
        run_id=run.id,
        slot=submission.slot,
        input_version=submission.input_version,
        number=number,
        media_type=submission.media_type,
        content_id=submission.sha256,
        sources=list(submission.sources),
        author=principal.actor,
        author_person_id=person_behind(principal),
        at=found.now,
    )


def person_behind(principal: Principal) -> int:
    """The number of the person who acts, or who owns the agent that does; 0 for the system."""
    if principal.is_agent:
        return Agent.objects.values_list("owner_id", flat=True).get(name=principal.name)
    return Person.objects.filter(username=principal.name).values_list("pk", flat=True).first() or 0


def letters(number: int) -> str:
    """1 → a, 26 → z, 27 → aa: how the artifacts of one slot and input version are told apart."""
    text = ""
    while number:
        number, place = divmod(number - 1, 26)
        text = ascii_lowercase[place] + text
    return text
