"""After the approval any single change of what was approved refuses the authorization by name, and creates nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db.models import Model, QuerySet
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from approvals.errors import ApprovalMissing, DestinationChanged, FactsChanged, HashMismatch, ManifestMismatch
from approvals.models import Artifact, Content, Decision, DestinationRevision, Snapshot
from outbox.models import Effect
from runs.errors import VersionConflict
from runs.models import PolicyVersion, Run
from runs.values import Budget
from tests import cast, review
from tests.review import REFUND, RESEARCH, tagged
from tests.unguarded import take_guards_away

pytestmark = pytest.mark.django_db

#: One scene is enough for many changes: each is taken back before the next.
many = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
places = st.integers(0, 10**6)


@pytest.fixture
def snapshot() -> str:
    """A report that is approved and only waits to be authorized; no guard of the database holds any more."""
    reviewed = review.report_reviewed()
    take_guards_away()
    return reviewed


@contextmanager
def changed(rows: QuerySet[Any], **columns: Any) -> Iterator[None]:
    """One row with other values, for a while."""
    before = rows.values(*columns).get()
    rows.update(**columns)
    yield
    rows.update(**before)


def flipped(body: bytes, place: int) -> bytes:
    """The bytes with one bit of them turned."""
    index, bit = divmod(place % (len(body) * 8), 8)
    return body[:index] + bytes([body[index] ^ (1 << bit)]) + body[index + 1 :]


def other_digit(sha256: str, place: int) -> str:
    """A hash with one of its digits being another."""
    index = len("sha256:") + place % 64
    digit = format((int(sha256[index], 16) + 1) % 16, "x")
    return sha256[:index] + digit + sha256[index + 1 :]


def refusal(error: type[Exception], snapshot: str, on: int = 7) -> dict[str, Any]:
    """The members of the refusal; nothing was created and no approval spent."""
    asked = Snapshot.objects.values_list("manifest_sha256", flat=True).get(pk=snapshot)
    with pytest.raises(error) as refused:
        review.authorize(cast.ada(), snapshot, on, manifest_sha256=asked)
    assert not Effect.objects.exists()
    assert not Decision.objects.exclude(spent_by=None).exists()
    members: dict[str, Any] = refused.value.members  # type: ignore[attr-defined]  # every refusal of ours has them
    return members


def only(model: type[Model], **where: Any) -> QuerySet[Any]:
    """The one row that this names, whatever is changed of it."""
    rows: QuerySet[Any] = model._default_manager.filter(pk=model._default_manager.get(**where).pk)
    return rows


# ---- frozen bytes ----------------------------------------------------------------------------------------


@many
@given(place=places)
def test_any_bit_of_the_manifest(snapshot: str, place: int) -> None:
    row = Snapshot.objects.get()

    with changed(only(Snapshot), manifest=flipped(bytes(row.manifest), place)):
        told = refusal(ManifestMismatch, snapshot)

    assert told["expected"] == row.manifest_sha256 != told["actual"]


@many
@given(place=places)
def test_any_bit_of_the_payload(snapshot: str, place: int) -> None:
    row = Snapshot.objects.get()

    with changed(only(Snapshot), payload=flipped(bytes(row.payload or b""), place)):
        told = refusal(ManifestMismatch, snapshot)

    assert told["expected"] == row.payload_sha256 != told["actual"]


@many
@given(place=places)
def test_any_digit_of_a_stored_hash(snapshot: str, place: int) -> None:
    row = Snapshot.objects.get()

    with changed(only(Snapshot), payload_sha256=other_digit(row.payload_sha256, place)):
        refusal(ManifestMismatch, snapshot)
    with changed(only(Snapshot), manifest_sha256=other_digit(row.manifest_sha256, place)):
        refusal(ManifestMismatch, snapshot)


@many
@given(place=places)
def test_any_bit_of_an_artifact(snapshot: str, place: int) -> None:
    with changed(only(Content, sha256=tagged(RESEARCH)), body=flipped(RESEARCH, place)):
        told = refusal(HashMismatch, snapshot)

    assert told["artifact"] == "R-42:research:6:a"
    assert told["expected"] == tagged(RESEARCH) != told["actual"]


def test_an_artifact_that_is_another_one_by_now(snapshot: str) -> None:
    Content.objects.create(sha256=tagged(b"other"), size=5, body=b"other")

    with changed(only(Artifact, slot="research"), content_id=tagged(b"other")):
        told = refusal(HashMismatch, snapshot)

    assert told == {"artifact": "R-42:research:6:a", "expected": tagged(RESEARCH), "actual": tagged(b"other")}


# ---- what stands around them -----------------------------------------------------------------------------


@many
@given(place=places)
def test_any_letter_of_a_fact_of_consent(snapshot: str, place: int) -> None:
    fields = Run.objects.get().fields
    audience = (
        flipped(b"board", place % 7 + 8 * (place % 5)).decode("ascii", "ignore").replace('"', "x").replace("\\", "x")
    )

    with changed(only(Run), fields=fields.replace("board", audience)):
        told = refusal(FactsChanged, snapshot)

    assert told == {"field": "audience", "expected": "board", "actual": audience}


@many
@given(place=places)
def test_any_bit_of_the_address(snapshot: str, place: int) -> None:
    url = flipped(b"https://provider.example.com/deliver", place).decode("latin-1").replace("\0", "x")

    with changed(only(DestinationRevision), url=url):
        refusal(DestinationChanged, snapshot)


def test_a_newer_revision_of_the_destination(snapshot: str) -> None:
    review.destination("customer-reports", url="https://provider.example.com/deliver2")

    assert refusal(DestinationChanged, snapshot) == {"expected": 1, "actual": 2}


@pytest.mark.parametrize("by", [-1, 1, 100])
def test_any_other_version_of_the_run_under_an_exact_contract(snapshot: str, by: int) -> None:
    with changed(only(Run), version=7 + by):
        told = refusal(VersionConflict, snapshot, on=7 + by)

    assert told["current_version"] == 7 + by


@pytest.mark.parametrize("by", [-1, 1, 100])
def test_any_other_authority_version(snapshot: str, by: int) -> None:
    given_under = Decision.objects.get().authority_version

    with changed(only(Decision), authority_version=given_under + by):
        told = refusal(ApprovalMissing, snapshot)

    assert told["because"] == ["given under an older authority of the workflow"]


def test_an_approval_of_other_bytes(snapshot: str) -> None:
    with changed(only(Decision), manifest_sha256=tagged(b"other")):
        assert refusal(ApprovalMissing, snapshot)["actual"] == 0


# ---- and nothing else ------------------------------------------------------------------------------------


def test_without_a_change_it_is_authorized(snapshot: str) -> None:
    assert review.authorize(cast.ada(), snapshot, on=7).answer["effect"] == "R-42:send:v8"


def test_a_budget_refuses_nothing() -> None:
    snapshot = review.report_reviewed()
    before = PolicyVersion.objects.count()
    cast.policy("report", budget=Budget(9, 60))

    assert PolicyVersion.objects.count() == before + 1
    assert review.authorize(cast.ada(), snapshot, on=7).answer["effect"] == "R-42:send:v8"


def test_under_a_contract_about_facts_a_note_refuses_nothing() -> None:
    review.workflow("refund", ('authorize = "automatic"                 ', 'authorize = "coordinator" '))
    snapshot = review.refund_ready_for_review()
    review.approve(cast.ben(), snapshot)
    cast.command(cast.ada(), REFUND, "add-note", note={"id": "n1", "text": "called back"})

    assert review.authorize(cast.ada(), snapshot).answer["effect"] == "R-7:pay:v5"
