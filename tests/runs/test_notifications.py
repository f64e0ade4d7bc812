"""Who is told of which case: operators who chose it, once, and never again when it may have left."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from runs import authority
from runs.administration import By, set_person, set_person_active
from runs.escalations import ResolutionRequest, resolve
from runs.models import Escalation, Notification
from runs.notifications import (
    MOST_FAILURES,
    begin,
    due_notifications,
    note_new_cases,
    note_sent,
    note_unknown,
    note_unsent,
)
from runs.preferences import Choice, choose
from runs.refusals import escalation_ref
from runs.states import Role
from runs.transactions import constraint_of
from runs.values import Principal
from runs.verbs import Verb
from tests import cast

pytestmark = pytest.mark.django_db

BY = By("user:dora", "because the test says so")


def wants_mail(who: Principal) -> Principal:
    choose(who, Choice(f"{who.name}@example.com", by_email=True))
    return who


def told(*, with_slack: bool = False) -> list[tuple[str, str | None]]:
    """Whom the sweep notes, by channel and name."""
    note_new_cases(with_slack=with_slack)
    rows = Notification.objects.order_by("channel", "person__username")
    return list(rows.values_list("channel", "person__username"))


def the_only() -> int:
    return Notification.objects.values_list("pk", flat=True).get()


def settle() -> None:
    ref = escalation_ref(Escalation.objects.get().pk)
    resolve(cast.person_operating("mara"), ref, ResolutionRequest("r-1", Verb.KEEP, "So it is.", 2, 1))


# ---- who -----------------------------------------------------------------------------------------------------


def test_operators_who_chose_it_are_told_once_of_a_new_case() -> None:
    wants_mail(cast.ada())
    wants_mail(cast.person_operating("mara"))
    cast.run_with_open_case()

    assert told() == [("email", "ada"), ("email", "mara")]
    assert told() == [("email", "ada"), ("email", "mara")]


@pytest.mark.parametrize("who", [cast.ben, cast.cy, cast.dora, cast.eli])
def test_others_are_not_told(who: Any) -> None:
    wants_mail(who())
    cast.run_with_open_case()

    assert told() == []


def test_who_chose_it_after_the_case_was_opened_is_not_told_of_it() -> None:
    cast.run_with_open_case()
    wants_mail(cast.ada())

    assert told() == []


def test_who_is_no_operator_any_more_is_not_told() -> None:
    wants_mail(cast.ada())
    wants_mail(cast.person_operating("mara"))
    cast.run_with_open_case()
    set_person_active("ada", False, BY)
    set_person("mara", BY, roles=[Role.AUDITOR])

    assert told() == []


def test_nothing_is_told_of_a_settled_case_or_of_an_old_one() -> None:
    wants_mail(cast.ada())
    cast.run_with_open_case()
    settle()

    assert told() == []


def test_the_group_is_told_once_over_slack_where_it_is_set_up() -> None:
    cast.run_with_open_case()

    assert told(with_slack=True) == [("slack", None)]
    assert told(with_slack=True) == [("slack", None)]


# ---- once ------------------------------------------------------------------------------------------------------


@pytest.fixture
def due() -> int:
    """One message that waits to be sent to Ada."""
    wants_mail(cast.ada())
    cast.run_with_open_case()
    note_new_cases(with_slack=False)
    return the_only()


def test_a_message_is_begun_once(due: int) -> None:
    assert due_notifications(10) == [due]

    first = begin(due)

    assert first is not None
    assert (first.address, first.run, first.workflow) == ("ada@example.com", "R-42", "refund")
    assert begin(due) is None
    assert due_notifications(10) == []


def test_what_was_sent_stays_sent(due: int) -> None:
    begin(due)
    note_sent(due)

    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        Notification.objects.filter(pk=due).update(sent_at=None)
    assert constraint_of(refused.value) == "runs_notification_sent"
    assert due_notifications(10) == []


def test_what_did_not_leave_is_due_again_later_each_time_and_not_for_ever(due: int) -> None:
    for number in range(MOST_FAILURES):
        Notification.objects.filter(pk=due).update(due_at="2020-01-01T00:00:00Z")
        assert begin(due) is not None
        note_unsent(due, "ConnectionRefusedError")
        _, now = authority.epoch_and_now()
        row = Notification.objects.get(pk=due)
        assert row.due_at - now > timedelta(seconds=25) * 2**number
        assert (row.failed_count, row.last_failure) == (number + 1, "ConnectionRefusedError")

    Notification.objects.filter(pk=due).update(due_at="2020-01-01T00:00:00Z")
    assert due_notifications(10) == []


def test_what_may_have_left_is_not_sent_again(due: int) -> None:
    begin(due)
    note_unknown(due, "SMTPServerDisconnected")

    assert due_notifications(10) == []
    assert begin(due) is None


def test_a_case_that_was_settled_meanwhile_is_not_told(due: int) -> None:
    settle()

    assert due_notifications(10) == []
    assert begin(due) is None


@pytest.mark.parametrize(
    "leaves",
    [lambda: set_person_active("ada", False, BY), lambda: set_person("ada", BY, roles=[Role.AUDITOR])],
    ids=["suspended", "another role"],
)
def test_who_lost_the_role_before_the_message_left_is_not_told(due: int, leaves: Any) -> None:
    leaves()

    assert due_notifications(10) == []
    assert begin(due) is None
