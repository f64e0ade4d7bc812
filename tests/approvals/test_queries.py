"""What screens read about snapshots beside the snapshot itself."""

import json

import pytest

from approvals.models import Snapshot
from approvals.queries import artifacts_named, freeze_of, last_decided_before, list_snapshots
from runs.models import LedgerEntry
from tests import cast, review
from tests.unguarded import take_guards_away

pytestmark = pytest.mark.django_db


def again(amount: str) -> Snapshot:
    """Another candidate of the refund, with another amount."""
    cast.command(cast.ada(), review.REFUND, "set-refund-amount", amount=amount, currency="EUR")
    return Snapshot.objects.get(pk=review.freeze(review.cashier(), review.REFUND, "pay").answer["snapshot"])


def test_a_candidate_is_compared_with_the_newest_one_that_anybody_decided_on() -> None:
    first = Snapshot.objects.get(pk=review.refund_ready_for_review())
    assert last_decided_before(first) is None

    review.deny(cast.ben(), first.pk)
    undecided = again("20.00")
    third = again("21.00")

    assert last_decided_before(undecided) == first
    assert last_decided_before(third) == first
    assert last_decided_before(first) is None


def test_candidates_of_another_action_or_run_are_not_compared() -> None:
    review.deny(cast.ben(), review.refund_ready_for_review("R-8"))

    assert last_decided_before(Snapshot.objects.get(pk=review.refund_ready_for_review("R-7"))) is None


def test_what_was_said_when_it_was_frozen_is_read_from_the_ledger_until_it_is_erased() -> None:
    review.refund_working()
    frozen = review.freeze(review.cashier(), review.REFUND, "pay", reason="Photos.", evidence=("message:m4",))
    row = Snapshot.objects.get(pk=frozen.answer["snapshot"])

    assert {name: freeze_of(row)[name] for name in ("reason", "evidence")} == {
        "reason": "Photos.",
        "evidence": ["message:m4"],
    }
    take_guards_away()
    LedgerEntry.objects.filter(kind="snapshot.frozen").update(body=None)
    assert freeze_of(row) == {}


def test_the_artifacts_that_a_manifest_names_are_found_by_their_ids() -> None:
    row = Snapshot.objects.get(pk=review.report_ready_for_review())

    found = artifacts_named(json.loads(bytes(row.manifest)))

    assert sorted(found) == ["R-42:calculation:6:a", "R-42:research:6:a"]
    assert artifacts_named({"artifacts": []}) == {}


def test_candidates_of_a_run_come_newest_first_with_what_was_said_of_them() -> None:
    review.deny(cast.ben(), review.refund_ready_for_review())
    second = again("20.00")
    decision = review.approve(cast.ben(), second.pk).answer["decision"]

    before = [(row.candidate, row.approvals, row.denials) for row in list_snapshots(second.run_id, 10)]  # type: ignore[attr-defined]  # counted
    review.revoke(cast.ben(), decision)
    after = [(row.candidate, row.approvals, row.denials) for row in list_snapshots(second.run_id, 1)]  # type: ignore[attr-defined]  # counted

    assert before == [(2, 1, 0), (1, 0, 1)]
    assert after == [(2, 0, 0)]
