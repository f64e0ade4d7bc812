"""The checker is seen to fail: each invariant of review is broken behind the back of the guards, and found by name."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from approvals import blobs
from approvals.verify import INVARIANTS
from runs import authority
from runs.administration import set_person
from runs.states import Role
from runs.values import Principal
from tests import cast, review
from tests.approvals.scene import scene_of_review
from tests.approvals.test_artifacts import LARGE
from tests.unguarded import take_guards_away
from tests.verifying import broken, do

pytestmark = pytest.mark.django_db


@pytest.fixture
def history() -> None:
    """R-42 is approved by Ben, no longer by Cleo; R-7 is under review anew after a deny; R-8 went out standing."""
    scene_of_review()


@pytest.fixture
def unguarded(history: None) -> None:
    take_guards_away()


def test_a_history_that_the_actions_made_breaks_nothing(history: None) -> None:
    seen: Counter[str] = Counter()

    assert broken(seen=seen) == {}
    assert (seen["snapshots"], seen["contents"], seen["erased payloads"]) == (4, 2, 0)


def test_an_installation_without_anything_breaks_nothing() -> None:
    assert broken() == {}


R42, R7 = "R-42:review:v7:c1", "R-7:review:v5:c2"
BEN = "person_id = (SELECT id FROM runs_person WHERE username = 'ben') AND verdict = 'approve'"

#: (invariant, what breaks it)
BREAKS = [
    ("content-hash", "UPDATE approvals_content SET body = 'x'"),
    ("content-hash", "UPDATE approvals_content SET body = NULL"),
    ("content-hash", "UPDATE approvals_content SET body = NULL, in_storage = true"),
    ("frozen-bytes", f"UPDATE approvals_snapshot SET manifest = manifest || ' ' WHERE id = '{R42}'"),
    ("frozen-bytes", f"UPDATE approvals_snapshot SET payload = payload || ' ' WHERE id = '{R42}'"),
    ("frozen-bytes", "DELETE FROM approvals_artifact WHERE slot = 'research'"),
    (
        "frozen-bytes",
        "UPDATE approvals_artifact SET content_id ="
        " (SELECT content_id FROM approvals_artifact WHERE slot = 'calculation')",
    ),
    ("manifest-members", f"UPDATE approvals_snapshot SET destination_revision = 9 WHERE id = '{R42}'"),
    (
        "manifest-members",
        f"UPDATE approvals_snapshot SET payload_sha256 = 'sha256:0', payload = NULL WHERE id = '{R42}'",
    ),
    ("manifest-members", f"UPDATE approvals_snapshot SET proposed_by = 'user:ben' WHERE id = '{R42}'"),
    ("manifest-members", f"UPDATE approvals_snapshot SET facts_sha256 = 'sha256:0' WHERE id = '{R42}'"),
    ("pointer", "UPDATE runs_run SET active_snapshot = 'R-7:review:v9:c9' WHERE key = 'R-7'"),
    ("pointer", f"UPDATE runs_run SET active_snapshot = '{R42}' WHERE key = 'R-7'"),
    ("pointer", "UPDATE runs_run SET active_snapshot = NULL, consent_contract = NULL, consent_facts = NULL"),
    ("pointer", "UPDATE runs_run SET consent_contract = 'exact' WHERE key = 'R-7'"),
    ("pointer", "UPDATE runs_run SET version = version + 1 WHERE key = 'R-42'"),
    ("pointer", "UPDATE runs_run SET status = 'working' WHERE key = 'R-7'"),
    ("candidates", "UPDATE runs_run SET candidate_count = 3 WHERE key = 'R-7'"),
    ("candidates", "UPDATE approvals_snapshot SET candidate = 7 WHERE candidate = 2"),
    ("candidates", f"UPDATE approvals_snapshot SET run_version = 4 WHERE id = '{R7}'"),
    ("decision-of-manifest", f"UPDATE approvals_decision SET snapshot_id = '{R7}' WHERE {BEN}"),
    ("decision-of-manifest", f"UPDATE approvals_decision SET manifest_sha256 = 'sha256:0' WHERE {BEN}"),
    ("decision-told", f"UPDATE approvals_decision SET seq = seq - 1 WHERE {BEN}"),
    ("decision-told", f"UPDATE approvals_decision SET verdict = 'deny' WHERE {BEN}"),
    ("decision-told", "UPDATE approvals_decision SET person_id = (SELECT id FROM runs_person WHERE username = 'bea')"),
    ("decision-told", "UPDATE approvals_decision SET revoked_by = 'user:cleo' WHERE revoked_at IS NOT NULL"),
    ("decision-told", "UPDATE approvals_decision SET revoked_seq = seq WHERE revoked_at IS NOT NULL"),
    ("decision-told", f"DELETE FROM approvals_decision WHERE {BEN}"),
    ("decision-shown", "DELETE FROM approvals_shown"),
    ("decision-shown", "UPDATE approvals_shown SET manifest_sha256 = 'sha256:0'"),
    ("decision-shown", "UPDATE approvals_shown SET first_at = now() + interval '1 day'"),
    (
        "four-eyes",
        "UPDATE approvals_snapshot s SET parts = (SELECT json_build_array(json_build_object('person_id', d.person_id,"
        " 'username', 'ben', 'because', ''))::text FROM approvals_decision d WHERE d.snapshot_id = s.id LIMIT 1)"
        f" WHERE s.id = '{R42}'",
    ),
    ("standing-spent", "UPDATE approvals_standingapproval SET used = used + 1"),
    ("standing-spent", "UPDATE approvals_decision SET standing_approval_id = NULL"),
    (
        "standing-spent",
        "UPDATE approvals_standingapproval SET giver_id = (SELECT id FROM runs_person WHERE username = 'ben')",
    ),
]


@pytest.mark.parametrize(
    ("name", "statement"), [pytest.param(*each, id=f"{each[0]}-{n}") for n, each in enumerate(BREAKS)]
)
def test_what_was_changed_behind_the_guards_is_found(unguarded: None, name: str, statement: str) -> None:
    do(statement)

    assert name in broken(INVARIANTS)


def test_every_invariant_is_broken_somewhere_above() -> None:
    assert {name for name, _ in BREAKS} == {name for check in INVARIANTS for name in check.rules}


def test_a_file_that_was_altered_or_lost_is_found(settings: Settings, tmp_path: Path) -> None:
    storage: dict[str, Any] = {
        "BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": str(tmp_path)},
    }  # fmt: skip
    settings.STORAGES = settings.STORAGES | {blobs.STORAGE: storage}
    review.report_working()
    review.artifact(review.coordinator(), review.REPORT, "research", 6, LARGE)
    sha256 = review.tagged(LARGE)
    file = tmp_path / blobs.file_name(sha256)
    sound = broken(INVARIANTS)
    file.write_bytes(LARGE + b"y")
    altered = broken(INVARIANTS)
    file.unlink()

    assert (sound, altered, broken(INVARIANTS)) == ({}, {"content-hash": [sha256]}, {"content-hash": [sha256]})


def test_an_approval_under_relaxed_separation_breaks_nothing() -> None:
    cast.workflow("refund")
    cast.policy("refund", separation="relaxed")
    review.refund_working()
    groups = ["refund-operators", "refund-reviewers"]
    set_person("ada", cast.SETUP, roles=[Role.OPERATOR, Role.REVIEWER], groups=groups)
    ada = authority.current(Principal("person", "ada"))
    review.approve(ada, review.freeze(ada, review.REFUND, "pay").answer["snapshot"])

    assert broken() == {}
