"""Artifacts: one worker's immutable output for one slot, found again by its bytes, and unaltered wherever it lies."""

from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import storages
from pytest_django import Settings

from approvals import blobs
from approvals.artifacts import letters, submit_artifact
from approvals.errors import HashMismatch
from approvals.models import Artifact, Content
from runs.administration import set_halt, set_workflow_suspended
from runs.errors import CommandIdReused, Halted, InvalidParams, NotFound, ScopeMissing, WorkflowSuspended
from runs.models import LedgerEntry
from runs.values import Principal
from tests import cast, review
from tests.review import REPORT as KEY
from tests.review import coordinator, submission

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> None:
    """A report whose inputs changed at version 3; the notes changed at version 4."""
    who = coordinator()
    cast.run_received(KEY, "report", question="Q3 churn?", audience="team")
    cast.command(who, KEY, "start")
    cast.command(who, KEY, "set-audience", audience="board")
    cast.command(who, KEY, "add-note", note={"id": "n1", "text": "Use the warehouse."})


def submit(content: bytes = b"{}", slot: str = "research", inputs: int = 3, **other: Any) -> str:
    return submit_artifact(coordinator(), KEY, submission(slot, inputs, content, **other)).artifact.pk


# ---- ids -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "text"), [(1, "a"), (26, "z"), (27, "aa"), (52, "az"), (53, "ba"), (702, "zz"), (703, "aaa")]
)
def test_artifacts_are_told_apart_by_letters(number: int, text: str) -> None:
    assert letters(number) == text


def test_each_slot_and_input_version_counts_its_own(run: None) -> None:
    made = [submit(b"1"), submit(b"2"), submit(b"1", inputs=1), submit(b"1", slot="calculation"), submit(b"3")]

    assert made == ["R-42:research:3:a", "R-42:research:3:b", "R-42:research:1:a", "R-42:calculation:3:a",
                    "R-42:research:3:c"]  # fmt: skip


# ---- what is kept ----------------------------------------------------------------------------------------


def test_an_artifact_is_an_entry_of_the_ledger_and_no_version_step(run: None) -> None:
    sent = submission("research", 3, b'{"n": 1}', sources=["warehouse:7"])

    row = submit_artifact(coordinator(), KEY, sent).artifact

    entry = LedgerEntry.objects.order_by("-seq")[0]
    assert (entry.kind, entry.version, entry.actor, entry.touched) == (
        "artifact.submitted", 4, "agent:coordinator", [],
    )  # fmt: skip
    assert (row.author, row.sources, row.media_type) == ("agent:coordinator", ["warehouse:7"], "application/json")
    assert row.author_person_id == cast.ada().id
    assert blobs.read(row.content_id) == b'{"n": 1}'


@pytest.mark.parametrize("who", [coordinator, cast.ada])
def test_the_same_bytes_for_the_same_slot_and_inputs_are_the_same_artifact(run: None, who: Any) -> None:
    first = submit(b"{}")

    again = submit_artifact(who(), KEY, submission("research", 3, b"{}"))

    assert (again.artifact.pk, again.is_replay) == (first, True)
    assert LedgerEntry.objects.filter(kind="artifact.submitted").count() == 1


def test_the_same_bytes_elsewhere_are_another_artifact_and_kept_once(run: None) -> None:
    submit(b"{}")
    submit(b"{}", slot="calculation")
    submit(b"{}", inputs=1)

    assert (Artifact.objects.count(), Content.objects.count()) == (3, 1)


def test_an_id_stands_for_one_submission_even_where_the_bytes_were_there_already(run: None) -> None:
    submit(b"1", id="a-1")
    submit(b"1", id="a-2")

    for number in ("a-1", "a-2"):
        assert submit(b"1", id=number) == "R-42:research:3:a"
        with pytest.raises(CommandIdReused):
            submit(b"2", id=number)


# ---- what is refused -------------------------------------------------------------------------------------


def refused(error: type[Exception], who: Principal | None = None, **other: Any) -> Any:
    """The refusal of a submission that is fine but for these members; nothing is kept of it."""
    given: dict[str, Any] = {"slot": "research", "inputs": 3, "content": b"{}"} | other
    sent = submission(**given)
    with pytest.raises(error) as refusal:
        submit_artifact(who or coordinator(), KEY, sent)
    assert not Artifact.objects.exists()
    return refusal.value


def test_content_that_is_not_what_its_hash_says_is_refused(run: None) -> None:
    refusal = refused(HashMismatch, sha256=review.tagged(b"other"))

    assert refusal.members == {"expected": review.tagged(b"other"), "actual": review.tagged(b"{}")}
    assert not Content.objects.exists()


@pytest.mark.parametrize(
    ("other", "pointer"),
    [
        ({"slot": "poetry"}, "/slot"),
        ({"media_type": "text/html"}, "/media_type"),
        ({"slot": "calculation", "media_type": "text/markdown"}, "/media_type"),
        ({"inputs": 0}, "/input_version"),
        ({"inputs": 2}, "/input_version"),
        ({"inputs": 4}, "/input_version"),
        ({"inputs": 5}, "/input_version"),
    ],
)
def test_what_does_not_fit_the_slot_or_the_run_is_refused_with_its_place(
    run: None, other: dict[str, Any], pointer: str
) -> None:
    assert refused(InvalidParams, **other).errors[0].pointer == pointer


def test_each_slot_belongs_to_its_scope(run: None) -> None:
    researcher = cast.agent("researcher", ("report:research",), ("report",)).principal

    refusal = refused(ScopeMissing, researcher, slot="calculation")

    assert refusal.members["missing"] == "report:calculate"
    assert submit_artifact(researcher, KEY, submission("research", 3, b"{}")).artifact.author == "agent:researcher"


def test_outsiders_are_told_nothing(run: None) -> None:
    refused(NotFound, cast.cy())
    refused(NotFound, cast.agent("classifier").principal)
    with pytest.raises(NotFound):
        submit_artifact(coordinator(), "R-99", submission("research", 1, b"{}"))


def test_reviewers_read_and_do_not_write(run: None) -> None:
    refused(ScopeMissing, cast.ben())


def test_a_halt_or_a_suspension_stops_agents_and_not_people(run: None) -> None:
    set_halt(True, cast.SETUP)
    refused(Halted)
    set_halt(False, cast.SETUP)
    set_workflow_suspended("report", True, cast.SETUP)
    refused(WorkflowSuspended)

    assert submit_artifact(cast.ada(), KEY, submission("research", 3, b"{}")).artifact.author == "user:ada"


def test_a_repeat_is_answered_whatever_has_changed_since(run: None) -> None:
    made = submit(b"{}", id="a-1")
    set_halt(True, cast.SETUP)

    assert submit(b"{}", id="a-1") == made


# ---- large contents --------------------------------------------------------------------------------------

LARGE = b"x" * (blobs.IN_DATABASE + 1)


@pytest.fixture
def folder(settings: Settings, tmp_path: Path) -> Path:
    """Where large contents of this test lie."""
    storage = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": str(tmp_path)}}
    settings.STORAGES = settings.STORAGES | {blobs.STORAGE: storage}
    return tmp_path


def file_of(folder: Path, content: bytes) -> Path:
    return folder / blobs.file_name(review.tagged(content))


def test_up_to_a_mebibyte_is_kept_in_the_database_and_beyond_in_a_file(run: None, folder: Path) -> None:
    submit(LARGE[:-1])
    submit(LARGE)

    kept = {row.size: (row.in_storage, row.body is not None) for row in Content.objects.all()}
    assert kept == {blobs.IN_DATABASE: (False, True), blobs.IN_DATABASE + 1: (True, False)}
    assert file_of(folder, LARGE).read_bytes() == LARGE
    assert not file_of(folder, LARGE[:-1]).exists()
    assert blobs.read(review.tagged(LARGE)) == LARGE


def test_a_file_that_was_altered_is_noticed_whoever_reads_it(run: None, folder: Path) -> None:
    review.destination("customer-reports")
    artifacts = {"research": submit(LARGE), "calculation": submit(b"1", slot="calculation")}
    file_of(folder, LARGE).write_bytes(LARGE[:-1] + b"y")

    with pytest.raises(HashMismatch):
        blobs.read(review.tagged(LARGE))
    with pytest.raises(HashMismatch):
        review.freeze(coordinator(), KEY, "send", artifacts=artifacts, payload={})


def test_a_file_that_was_lost_is_told_as_what_it_is(run: None, folder: Path) -> None:
    submit(LARGE)
    storages[blobs.STORAGE].delete(blobs.file_name(review.tagged(LARGE)))

    with pytest.raises(NotFound):
        blobs.read(review.tagged(LARGE))


def test_a_refused_submission_leaves_at_most_a_file_that_its_repeat_finds(run: None, folder: Path) -> None:
    refused(ScopeMissing, cast.ben(), content=LARGE)

    submit(LARGE)

    assert blobs.read(review.tagged(LARGE)) == LARGE
