"""What a review card shows of the frozen bytes: nothing here moves, and every hash is computed again when it is drawn.

The sentence, the facts and the payload come from manifest and payload alone; an agent's own words stand apart.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from approvals import blobs
from approvals.errors import HashMismatch
from approvals.manifest import facts_sha256
from approvals.models import Artifact, DestinationRevision, Snapshot
from approvals.payload import Said
from approvals.queries import artifacts_named, freeze_of, last_decided_before
from approvals.reviewing import Review
from console import candidates
from console.candidates import Candidate, Changes
from console.hostile import Shown
from console.lookalikes import inspect_host, inspect_name
from console.payloads import Fact, Payload, first_facts, read_payload
from console.sentences import Word, said_of, words_of
from outbox.retry import Capabilities
from outbox.targets import capabilities_of
from runs.digest import tagged
from runs.errors import NotFound
from runs.history import LastChange, LastChanges

JSON = Any

#: Members of the payload that stand first, beside action and destination.
FACTS = 3


@dataclass(frozen=True, slots=True)
class KeyFact:
    """A fact that stands first and large, with who gave it and what limits it."""

    fact: Fact
    change: LastChange | None
    limit: str  # above it agents may not go; empty where there is none


@dataclass(frozen=True, slots=True)
class Sealed:
    """An artifact that was frozen, and what became of its hash just now."""

    id: str
    slot: str
    title: str
    sha256: str
    size: int
    input_version: int
    row: Artifact | None
    fault: str  # empty: the stored bytes have this hash


@dataclass(frozen=True)
class ReviewCard:
    """The frozen side of a review card."""

    review: Review
    payload: Payload | None  # None: erased
    artifacts: tuple[Sealed, ...]
    before: Snapshot | None  # the last candidate that anybody decided on
    changes: Changes | None
    last: LastChanges
    frozen: Mapping[str, JSON]  # what the ledger tells of the freeze

    @property
    def row(self) -> Snapshot:
        return self.review.row

    @cached_property
    def said(self) -> list[Said]:
        """The sentence, computed anew from manifest and payload."""
        value = self.payload.value if self.payload else None
        return said_of(self.review.action, self.review.run.key, self.review.manifest, value)

    @cached_property
    def sentence(self) -> tuple[Word, ...]:
        return words_of(self.said)

    @cached_property
    def whole_sentence(self) -> Shown:
        """The sentence as it was frozen, all of it."""
        return inspect_name(self.row.sentence)

    @property
    def is_cut(self) -> bool:
        """Whether the headline leaves something out."""
        return any(word.is_cut for word in self.sentence)

    @cached_property
    def key_facts(self) -> tuple[KeyFact, ...]:
        if self.payload is None:
            return ()
        limits = self.review.policy.limits
        return tuple(
            KeyFact(
                fact,
                self.last.of(fact.fields[0]) if fact.fields else None,
                next((limits[name] for name in fact.fields if name in limits), ""),
            )
            for fact in first_facts(self.payload, self.review.action.payload, FACTS)
        )

    @property
    def host(self) -> str:
        return host_of(self.review.destination.url)

    @property
    def is_host_odd(self) -> bool:
        """Whether the host asks for a second look."""
        return inspect_host(self.host).shown.is_suspicious

    @cached_property
    def can(self) -> Capabilities:
        """What the provider is declared to be able to do."""
        return capabilities_of(self.review.destination)

    @property
    def remembers_for(self) -> str:
        """For how long the provider recognises a repeat, in words; empty for ever."""
        return "" if self.can.key_retention is None else duration(int(self.can.key_retention.total_seconds()))

    @cached_property
    def faults(self) -> tuple[str, ...]:
        """What no longer has its hash; empty when everything does."""
        return tuple(self._faults())

    def _faults(self) -> Iterator[str]:
        row, manifest = self.row, self.review.manifest
        if tagged(bytes(row.manifest)) != row.manifest_sha256:
            yield "the manifest"
        if self.payload and not tagged(self.payload.body) == row.payload_sha256 == manifest["payload"]["sha256"]:
            yield "the payload"
        if self.payload and "".join(part.text for part in self.said) != row.sentence:
            yield "the sentence"
        if not facts_sha256(manifest["facts"]["values"]) == row.facts_sha256 == manifest["facts"]["sha256"]:
            yield "the facts of consent"
        if tagged(self.review.destination.url.encode()) != manifest["destination"]["url_sha256"]:
            yield "the address of the destination"
        yield from (f"the artifact {item.slot}" for item in self.artifacts if item.fault)

    @property
    def oddities(self) -> tuple[str, ...]:
        """What in the payload, the sentence or the host asks for a second look before anybody approves."""
        return findings_of(self.review, self.payload)

    @property
    def is_from_agent(self) -> bool:
        return self.row.proposed_by.startswith("agent:")


def read_review_card(review: Review, payload: Payload | None, last: LastChanges) -> ReviewCard:
    """Read the frozen side of a snapshot, hashing everything again; `last` says who wrote each field last."""
    before = last_decided_before(review.row)
    return ReviewCard(
        review=review,
        payload=payload,
        artifacts=tuple(_sealed(review)),
        before=before,
        changes=None if before is None else candidates.compare(_candidate(before), _candidate_of(review, payload)),
        last=last,
        frozen=freeze_of(review.row),
    )


def payload_of(row: Snapshot) -> Payload | None:
    """The payload as it is shown; None once it has been erased."""
    return None if row.payload is None else read_payload(bytes(row.payload))


def findings_of(review: Review, payload: Payload | None) -> tuple[str, ...]:
    """What asks for a second look, in words: each kind once."""
    host = inspect_host(host_of(review.destination.url)).shown
    found = [*(payload.findings if payload else ()), *inspect_name(review.row.sentence).findings, *host.findings]
    return tuple(dict.fromkeys(found))


def host_of(url: str) -> str:
    """The host that an address leads to."""
    return urlsplit(url).hostname or ""


def duration(seconds: int) -> str:
    """A span of time in its largest whole unit; a day is 24 h."""
    for size, unit in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds % size == 0 and seconds >= (2 * size if unit == "days" else size):
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


# ---- artifacts -----------------------------------------------------------------------------------------------


def _sealed(review: Review) -> Iterator[Sealed]:
    rows = artifacts_named(review.manifest)
    for item in review.manifest["artifacts"]:
        slot = review.workflow.slots.get(item["slot"])
        yield Sealed(
            id=item["id"],
            slot=item["slot"],
            title=slot.title if slot else item["slot"],
            sha256=item["sha256"],
            size=item["bytes"],
            input_version=item["input_version"],
            row=rows.get(item["id"]),
            fault=_fault(item, rows.get(item["id"])),
        )


def _fault(named: Mapping[str, JSON], row: Artifact | None) -> str:
    if row is None or row.content_id != named["sha256"]:
        return "is not what was frozen"
    try:
        blobs.read(row.content_id)
    except NotFound:
        return "has been erased"
    except (HashMismatch, OSError):
        return "does not have this hash any more"
    return ""


# ---- what was decided on before ------------------------------------------------------------------------------


def _candidate_of(review: Review, payload: Payload | None) -> Candidate:
    return Candidate(review.manifest, payload.value if payload else None, host_of(review.destination.url))


def _candidate(row: Snapshot) -> Candidate:
    payload = None if row.payload is None else json.loads(bytes(row.payload))
    destination = DestinationRevision.objects.get(name=row.destination, revision=row.destination_revision)
    return Candidate(json.loads(bytes(row.manifest)), payload, host_of(destination.url))
