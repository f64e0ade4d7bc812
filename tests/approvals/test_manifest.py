"""The manifest: its exact bytes, its hash, and that every member of a candidate is in both."""

import hashlib
import json
from dataclasses import fields, replace
from typing import Any

import pytest

from approvals.manifest import (
    Candidate,
    FrozenArtifact,
    FrozenDestination,
    facts_sha256,
    manifest_bytes,
    snapshot_id,
)

RESEARCH = FrozenArtifact("R-42:research:6:a", "research", "sha256:" + "1" * 64, 6, 14)
CALCULATION = FrozenArtifact("R-42:calculation:6:b", "calculation", "sha256:" + "2" * 64, 6, 15)
CANDIDATE = Candidate(
    snapshot="R-42:review:v7:c1",
    run="R-42",
    workflow="report",
    workflow_revision=3,
    run_version=7,
    action="send",
    input_version=6,
    facts={"question": "Q3 churn?", "audience": "Vorstand für Ω"},
    artifacts=[RESEARCH, CALCULATION],
    destination=FrozenDestination("customer-reports", 2, "http", "sha256:" + "3" * 64),
    payload=b'{"title":"Q3"}',
    media_type="application/json",
    contract="exact",
    proposed_by="agent:coordinator",
    denied_before=1,
)

#: Written by hand, in the order of RFC 8785; FACTS and PAYLOAD stand for the hashes of what is beside them.
BYTES = (
    '{"action":"send",'
    '"artifacts":['
    '{"bytes":15,"id":"R-42:calculation:6:b","input_version":6,"sha256":"sha256:' + "2" * 64 + '",'
    '"slot":"calculation"},'
    '{"bytes":14,"id":"R-42:research:6:a","input_version":6,"sha256":"sha256:' + "1" * 64 + '","slot":"research"}],'
    '"contract":"exact",'
    '"denied_before":1,'
    '"destination":{"adapter":"http","name":"customer-reports","revision":2,"url_sha256":"sha256:' + "3" * 64 + '"},'
    '"facts":{"sha256":"sha256:FACTS",'
    '"values":{"audience":"Vorstand für Ω","question":"Q3 churn?"}},'
    '"input_version":6,'
    '"payload":{"bytes":14,"media_type":"application/json",'
    '"sha256":"sha256:PAYLOAD"},'
    '"proposed_by":"agent:coordinator",'
    '"run":"R-42",'
    '"run_version":7,'
    '"schema":"clearance.manifest/1",'
    '"snapshot":"R-42:review:v7:c1",'
    '"workflow":"report",'
    '"workflow_revision":3}'
)  # fmt: skip


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


FACTS = '{"audience":"Vorstand für Ω","question":"Q3 churn?"}'


def test_the_manifest_is_these_bytes() -> None:
    expected = BYTES.replace("FACTS", sha256(FACTS)).replace("PAYLOAD", sha256('{"title":"Q3"}'))

    assert manifest_bytes(CANDIDATE).decode() == expected


def test_a_compensation_names_what_it_compensates_and_nothing_else_does() -> None:
    recall = json.loads(manifest_bytes(replace(CANDIDATE, of="R-42:pay:v9")))

    assert recall["of"] == "R-42:pay:v9"
    assert "of" not in json.loads(manifest_bytes(CANDIDATE))


def test_the_order_in_which_artifacts_and_facts_are_given_makes_no_difference() -> None:
    turned = replace(CANDIDATE, artifacts=[CALCULATION, RESEARCH], facts=dict(reversed(list(CANDIDATE.facts.items()))))

    assert manifest_bytes(turned) == manifest_bytes(CANDIDATE)


#: Every member of a candidate, with another value.
OTHER: dict[str, Any] = {
    "snapshot": "R-42:review:v7:c2",
    "run": "R-43",
    "workflow": "refund",
    "workflow_revision": 4,
    "run_version": 8,
    "action": "recall",
    "input_version": 5,
    "facts": {"question": "Q3 churn?", "audience": "team"},
    "artifacts": [RESEARCH],
    "destination": replace(CANDIDATE.destination, revision=3),
    "payload": b'{"title":"Q4"}',
    "media_type": "text/plain",
    "contract": "until_changed",
    "proposed_by": "agent:other",
    "denied_before": 0,
    "of": "R-42:pay:v9",
}
OTHER_ARTIFACT = {"id": "x", "slot": "x", "sha256": "x", "input_version": 7, "bytes": 1}
OTHER_DESTINATION = {"name": "x", "revision": 9, "adapter": "smtp", "url_sha256": "x"}


def test_every_member_is_tried() -> None:
    assert OTHER.keys() == {item.name for item in fields(Candidate)}
    assert OTHER_ARTIFACT.keys() == {item.name for item in fields(FrozenArtifact)}
    assert OTHER_DESTINATION.keys() == {item.name for item in fields(FrozenDestination)}


@pytest.mark.parametrize("name", OTHER)
def test_whatever_differs_makes_another_manifest(name: str) -> None:
    assert manifest_bytes(replace(CANDIDATE, **{name: OTHER[name]})) != manifest_bytes(CANDIDATE)


@pytest.mark.parametrize("name", OTHER_ARTIFACT)
def test_whatever_differs_of_an_artifact_makes_another_manifest(name: str) -> None:
    changed = replace(RESEARCH, **{name: OTHER_ARTIFACT[name]})  # type: ignore[arg-type]  # one of its own members

    assert manifest_bytes(replace(CANDIDATE, artifacts=[changed, CALCULATION])) != manifest_bytes(CANDIDATE)


@pytest.mark.parametrize("name", OTHER_DESTINATION)
def test_whatever_differs_of_the_destination_makes_another_manifest(name: str) -> None:
    changed = replace(CANDIDATE.destination, **{name: OTHER_DESTINATION[name]})  # type: ignore[arg-type]  # as above

    assert manifest_bytes(replace(CANDIDATE, destination=changed)) != manifest_bytes(CANDIDATE)


def test_composed_and_decomposed_letters_are_different_facts() -> None:
    assert facts_sha256({"recipient": "Zo\u00eb"}) != facts_sha256({"recipient": "Zoe\u0308"})


def test_the_id_of_a_snapshot_says_run_version_and_candidate() -> None:
    assert snapshot_id("R-42", 7, 1) == "R-42:review:v7:c1"
