"""Which reviewers are told of which snapshot: who may approve it, once, and nobody of what waits no more."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from approvals.notices import note_new_reviews
from runs.administration import By, set_person, set_person_active
from runs.models import Notification, Run
from runs.notifications import begin, due_notifications, note_sent
from runs.preferences import Choice, choose
from runs.states import Role
from runs.transactions import constraint_of
from runs.values import Principal
from tests import cast, review
from tests.admins import confirmed, dan, policy_change
from tests.outbox import settling

pytestmark = pytest.mark.django_db

BY = By("user:dora", "because the test says so")


def wants_mail(who: Principal) -> Principal:
    choose(who, Choice(f"{who.name}@example.com", by_email=True))
    return who


def told(*, with_slack: bool = False) -> list[tuple[str | None, str, str | None]]:
    """Whom the sweep notes: of which snapshot, over which channel, by name."""
    note_new_reviews(with_slack=with_slack)
    rows = Notification.objects.order_by("snapshot", "channel", "person__username")
    return list(rows.values_list("snapshot", "channel", "person__username"))


# ---- who -----------------------------------------------------------------------------------------------------


def test_reviewers_who_chose_it_are_told_once_of_a_new_review() -> None:
    wants_mail(cast.ben())
    wants_mail(review.bea())
    snapshot = review.refund_ready_for_review()

    both = [(snapshot, "email", "bea"), (snapshot, "email", "ben")]
    assert told() == both
    assert told() == both


@pytest.mark.parametrize("who", [cast.cy, cast.dora, cast.eli])
def test_others_are_not_told(who: Any) -> None:
    wants_mail(who())
    review.refund_ready_for_review()

    assert told() == []


def test_who_reviews_other_workflows_only_is_not_told() -> None:
    wants_mail(cast.person("rae", Role.REVIEWER, groups=("report-reviewers",)))
    review.refund_ready_for_review()

    assert told() == []


def test_who_took_part_is_told_only_where_that_does_not_keep_them_from_approving() -> None:
    ada = cast.ada()
    set_person("ada", BY, roles=[Role.OPERATOR, Role.REVIEWER], groups=["refund-operators", "refund-reviewers"])
    wants_mail(ada)
    snapshot = review.refund_ready_for_review()  # Ada created the refund and named who gets it

    assert told() == []

    confirmed(dan(), policy_change(cast.dora(), separation="relaxed").waiting)
    assert told() == [(snapshot, "email", "ada")]


def test_who_chose_it_after_the_freeze_is_not_told_of_it() -> None:
    review.refund_ready_for_review()
    wants_mail(cast.ben())

    assert told() == []


def test_who_may_review_no_more_is_not_told() -> None:
    for who in (cast.ben(), review.bea()):
        wants_mail(who)
    review.refund_ready_for_review()
    set_person_active("ben", False, BY)
    set_person("bea", BY, roles=[Role.AUDITOR])

    assert told() == []


def test_who_has_answered_already_is_not_asked_again() -> None:
    review.bea()
    snapshot = review.report_ready_for_review()
    wants_mail(cast.ben())
    review.approve(cast.ben(), snapshot)

    assert told() == []


def test_of_a_review_that_has_its_approvals_nobody_is_told() -> None:
    wants_mail(review.bea())
    review.approve(cast.ben(), snapshot := review.report_ready_for_review())
    review.approve(review.reviewer("kim"), snapshot)

    assert told() == []


def test_approvals_that_count_no_more_leave_the_review_waiting() -> None:
    wants_mail(review.bea())
    review.approve(cast.ben(), snapshot := review.report_ready_for_review())
    review.approve(review.reviewer("kim"), snapshot)
    policy_change(cast.dora(), "report", quorum=2)  # who approved under the old terms is asked again

    assert told() == [(snapshot, "email", "bea")]


def test_of_a_compensation_reviewers_are_told_though_its_run_was_sent() -> None:
    wants_mail(cast.ben())
    review.bea()
    review.destination("payments-recall", url="https://provider.example.com/recall")
    sent = settling.succeed(review.refund_approved())
    snapshot = review.freeze(review.cashier(), review.REFUND, "recall", of=sent.pk).answer["snapshot"]

    assert told() == [(snapshot, "email", "ben")]


def test_the_group_is_told_once_over_slack_where_it_is_set_up() -> None:
    snapshot = review.refund_ready_for_review()

    assert told(with_slack=True) == [(snapshot, "slack", None)]
    assert told(with_slack=True) == [(snapshot, "slack", None)]


# ---- what waits no more ----------------------------------------------------------------------------------------


@pytest.fixture
def snapshot() -> str:
    """A frozen refund that Ben is to be told of."""
    wants_mail(cast.ben())
    snapshot = review.refund_ready_for_review()
    note_new_reviews(with_slack=False)
    return snapshot


def the_only() -> int:
    return Notification.objects.values_list("pk", flat=True).get()


def test_a_message_is_begun_once_and_names_its_snapshot(snapshot: str) -> None:
    assert due_notifications(10) == [the_only()]

    first = begin(the_only())

    assert first is not None
    assert (first.address, first.run, first.workflow) == ("ben@example.com", review.REFUND, "refund")
    assert (first.snapshot, first.escalation, first.is_material) == (snapshot, None, False)
    assert begin(the_only()) is None
    assert due_notifications(10) == []


def test_of_a_review_that_was_decided_meanwhile_nobody_is_told(snapshot: str) -> None:
    review.bea()
    review.deny(review.bea(), snapshot)

    assert due_notifications(10) == []
    assert begin(the_only()) is None


def test_who_is_no_reviewer_any_more_when_the_message_would_leave_is_not_told(snapshot: str) -> None:
    set_person("ben", BY, roles=[Role.OPERATOR])

    assert due_notifications(10) == []
    assert begin(the_only()) is None


def test_a_snapshot_that_replaced_another_is_told_in_its_place(snapshot: str) -> None:
    cast.command(review.cashier(), review.REFUND, "set-refund-amount", amount="26.00", currency="EUR")
    newer = review.freeze(review.cashier(), review.REFUND, "pay").answer["snapshot"]
    note_new_reviews(with_slack=False)

    due = due_notifications(10)

    assert list(Notification.objects.filter(pk__in=due).values_list("snapshot", flat=True)) == [newer]


# ---- what the database refuses ---------------------------------------------------------------------------------


def test_what_was_sent_of_a_snapshot_stays_so(snapshot: str) -> None:
    begin(the_only())
    note_sent(the_only())

    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        Notification.objects.update(snapshot="R-43:pay:v1:c1")
    assert constraint_of(refused.value) == "runs_notification_sent"


@pytest.mark.parametrize(
    "subject", [{}, {"snapshot": "R-42:pay:v3:c1"}, {"run": True}], ids=["none", "no run", "no snapshot"]
)
def test_a_message_is_about_one_thing(snapshot: str, subject: dict[str, Any]) -> None:
    if subject.pop("run", False):
        subject["run"] = Run.objects.get()
    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        Notification.objects.create(channel="slack", due_at="2020-01-01T00:00:00Z", **subject)
    assert constraint_of(refused.value) == "runs_notification_one_subject"
