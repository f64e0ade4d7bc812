"""The checker is seen to fail: each invariant of effects is broken behind the back of the guards, and found by name."""

import pytest

from outbox.models import Effect
from outbox.quarantine import quarantine_all
from outbox.states import Finding, RepairKind
from outbox.verify import INVARIANTS
from tests import cast, review
from tests.outbox.settling import ACCEPTED, NEVER_LEFT, REFUSED, UNKNOWN, attempt, change, claimed, let_pass, succeed
from tests.outbox.test_findings import confirmed, judge, order
from tests.outbox.test_guards import sent_and_recalled
from tests.outbox.test_leases import now
from tests.unguarded import take_guards_away
from tests.verifying import broken, do

pytestmark = pytest.mark.django_db


@pytest.fixture
def history() -> None:
    """R-1 is authorized, R-2 held, R-3 failed, R-4 cancelled, R-5 unknown; R-6 sent again by order, R-8 recalled."""
    review.destination("payments", recognises_repeats=False, key_retention_seconds=None)
    review.refund_approved("R-1")
    claimed(review.refund_approved("R-2"))
    failed = attempt(review.refund_approved("R-3"), NEVER_LEFT)
    attempt(change(failed, next_at=now()), REFUSED)
    review.revoke(review.bea(), review.approval_of(review.refund_approved("R-4")))
    attempt(review.refund_approved("R-5"), UNKNOWN)
    found_out()
    sent_and_recalled()


def found_out() -> Effect:
    effect = let_pass(attempt(review.refund_approved("R-6"), UNKNOWN), hours=1)
    judge(effect, Finding.DID_NOT_HAPPEN)
    confirmed(effect, order(effect, RepairKind.RESEND))
    return attempt(effect, ACCEPTED)


@pytest.fixture
def unguarded(history: None) -> None:
    take_guards_away()


def test_a_history_that_the_actions_made_breaks_nothing(history: None) -> None:
    assert broken() == {}


def of(number: str) -> str:
    return f"operation_id LIKE '{number}:%'"


def tried(number: str) -> str:
    return f"effect_id LIKE '{number}:%'"


#: (invariant, what breaks it)
BREAKS = [
    ("effect-of-snapshot", f"UPDATE outbox_effect SET payload_sha256 = 'sha256:0' WHERE {of('R-1')}"),
    ("effect-of-snapshot", f"UPDATE outbox_effect SET destination = 'elsewhere' WHERE {of('R-1')}"),
    ("effect-of-snapshot", f"UPDATE outbox_effect SET snapshot_id = 'R-0:review:v1:c1' WHERE {of('R-1')}"),
    ("effect-approved", f"UPDATE outbox_effect SET approvals = '{{}}' WHERE {of('R-1')}"),
    ("effect-approved", "UPDATE approvals_decision SET manifest_sha256 = 'sha256:0' WHERE spent_by LIKE 'R-1:%'"),
    ("effect-approved", "UPDATE approvals_decision SET expires_at = decided_at WHERE spent_by LIKE 'R-1:%'"),
    (
        "effect-approved",
        "UPDATE approvals_decision SET revoked_at = now(), revoked_by = 'user:bea', revoked_seq = seq"
        " WHERE spent_by LIKE 'R-1:%'",
    ),
    ("effect-approved", "UPDATE approvals_decision SET seq = seq + 100 WHERE spent_by LIKE 'R-1:%'"),
    ("effect-approved", "UPDATE runs_policyversion SET terms = replace(terms, '\"quorum\":1', '\"quorum\":2')"),
    ("approval-spent-once", "UPDATE approvals_decision SET spent_by = 'R-0:pay:v9' WHERE spent_by LIKE 'R-1:%'"),
    ("approval-spent-once", "UPDATE approvals_decision SET spent_by = 'R-2:pay:v4' WHERE spent_by LIKE 'R-1:%'"),
    ("effect-told", f"UPDATE outbox_effect SET authorized_seq = 1 WHERE {of('R-1')}"),
    ("effect-told", f"UPDATE outbox_effect SET authorized_by = 'user:cy' WHERE {of('R-1')}"),
    ("effect-told", f"DELETE FROM outbox_effect WHERE {of('R-1')}"),
    ("run-follows-effect", "UPDATE runs_run SET status = 'sent' WHERE key = 'R-1'"),
    ("run-follows-effect", "UPDATE runs_run SET status = 'working' WHERE key = 'R-1'"),
    ("run-follows-effect", "UPDATE runs_run SET effect = NULL WHERE key = 'R-1'"),
    ("run-follows-effect", "UPDATE runs_run SET effect = 'R-2:pay:v4' WHERE key = 'R-1'"),
    ("run-follows-effect", "UPDATE runs_run SET effect = 'R-8:recall:v10' WHERE key = 'R-8'"),
    ("run-follows-effect", f"UPDATE outbox_effect SET state = 'succeeded' WHERE {of('R-1')}"),
    ("effect-goes-on", f"UPDATE outbox_effect SET next_at = NULL WHERE {of('R-1')}"),
    ("effect-goes-on", f"UPDATE outbox_effect SET next_step = 'person' WHERE {of('R-1')}"),
    ("effect-goes-on", f"UPDATE outbox_effect SET lease_expires_at = now() - interval '11 min' WHERE {of('R-2')}"),
    ("effect-goes-on", f"UPDATE outbox_effect SET next_step = 'send' WHERE {of('R-5')}"),
    ("effect-goes-on", f"UPDATE outbox_effect SET ended_at = NULL WHERE {of('R-3')}"),
    ("attempt-fences", f"UPDATE outbox_attempt SET fence = 9 WHERE {tried('R-2')}"),
    ("attempt-fences", f"UPDATE outbox_attempt SET fence = 7 - fence WHERE {tried('R-3')}"),
    ("attempt-fences", f"UPDATE outbox_attempt SET number = 3 WHERE {tried('R-3')} AND number = 2"),
    ("attempt-fences", f"DELETE FROM outbox_attempt WHERE {tried('R-2')}"),
    ("attempt-settled", f"UPDATE outbox_attempt SET outcome = NULL WHERE {tried('R-3')} AND number = 1"),
    ("attempt-settled", f"UPDATE outbox_effect SET fence = fence + 1 WHERE {of('R-2')}"),
    ("attempt-told", f"DELETE FROM outbox_attempt WHERE {tried('R-3')} AND number = 2"),
    ("attempt-told", "DELETE FROM runs_ledgerentry WHERE kind = 'effect.claimed'"),
    (
        "no-attempt-after-revocation",
        "UPDATE approvals_decision SET revoked_at = decided_at, revoked_by = 'user:bea', revoked_seq = seq + 1"
        " WHERE spent_by LIKE 'R-2:%'",
    ),
    ("no-blind-repeat", f"DELETE FROM outbox_verdict WHERE {tried('R-6')}"),
    ("no-blind-repeat", f"DELETE FROM outbox_repair WHERE {tried('R-6')}"),
    ("no-blind-repeat", f"UPDATE outbox_attempt SET outcome = 'unknown' WHERE {tried('R-3')} AND number = 1"),
    ("no-blind-repeat", f"UPDATE outbox_repair SET at = now() + interval '1 day' WHERE {tried('R-6')}"),
    ("success-proven", f"UPDATE outbox_attempt SET outcome = 'unknown' WHERE {tried('R-8')}"),
    ("nothing-proven", f"UPDATE outbox_attempt SET outcome = 'unknown' WHERE {tried('R-3')}"),
    ("nothing-proven", f"UPDATE outbox_effect SET state = 'failed', may_have_left = false WHERE {of('R-5')}"),
    ("remediation-opened", "DELETE FROM outbox_remediation"),
    ("second-person", f"UPDATE outbox_repair SET confirmed_by = by WHERE {tried('R-6')}"),
    ("second-person", f"UPDATE outbox_verdict SET confirmed_by = by WHERE {tried('R-6')}"),
]


@pytest.mark.parametrize(
    ("name", "statement"), [pytest.param(*each, id=f"{each[0]}-{n}") for n, each in enumerate(BREAKS)]
)
def test_what_was_changed_behind_the_guards_is_found(unguarded: None, name: str, statement: str) -> None:
    do(statement)

    assert name in broken(INVARIANTS)


def test_every_invariant_is_broken_somewhere_above() -> None:
    assert {name for name, _ in BREAKS} == {name for check in INVARIANTS for name in check.rules}


def test_what_a_restore_put_into_quarantine_breaks_nothing() -> None:
    claimed(review.refund_approved("R-1"))
    review.refund_approved("R-2")
    attempt(review.refund_approved("R-3"), UNKNOWN)
    succeed(review.refund_approved("R-4"))

    quarantine_all(cast.SETUP)

    assert broken() == {}
