"""Who is to be told of what waits, once: the rows are the truth, and sending only follows them.

A row is due until somebody begins to send it. What was begun is never begun again by itself, unless it is known that
nothing left; so nobody is told twice, and a message of a lost worker is a message less.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import F
from django.db.models.functions import Now

from runs import authority
from runs.models import Escalation, Notification
from runs.refusals import escalation_ref
from runs.states import Role
from runs.transactions import durable, execute

EMAIL, SLACK = "email", "slack"

#: What has waited for longer is not told any more: the inbox has it.
TOLD_WITHIN = timedelta(days=1)
MOST_FAILURES = 6
FIRST_PAUSE = timedelta(seconds=30)

_NOTE = """
INSERT INTO runs_notification (escalation_id, run_id, snapshot, channel, person_id, due_at, failed_count, last_failure)
SELECT told.*, clock_timestamp(), 0, '' FROM ({told}) AS told (escalation_id, run_id, snapshot, channel, person_id)
ON CONFLICT DO NOTHING
"""
_OPERATORS = """
SELECT e.id, NULL::bigint, NULL, 'email', c.person_id
FROM runs_escalation e
JOIN runs_notificationchoice c ON c.by_email AND c.since <= e.opened_at
JOIN runs_person p ON p.id = c.person_id AND p.is_active AND p.roles @> ARRAY[%(role)s]::varchar[]
                  AND p.workflow_groups && %(groups)s::varchar[]
WHERE e.state = 'open' AND e.workflow = %(workflow)s AND e.opened_at > clock_timestamp() - %(within)s
"""
_SLACK = """
SELECT e.id, NULL::bigint, NULL, 'slack', NULL::bigint
FROM runs_escalation e WHERE e.state = 'open' AND e.opened_at > clock_timestamp() - %(within)s
"""
# Still due: what it is about waits, and whoever is to be told still has the role that makes it theirs.
_IS_DUE = """
n.begun_at IS NULL AND n.due_at <= clock_timestamp() AND (
    EXISTS (SELECT FROM runs_escalation e WHERE e.id = n.escalation_id AND e.state = 'open')
    OR EXISTS (SELECT FROM runs_run r WHERE r.id = n.run_id AND r.active_snapshot = n.snapshot))
AND (n.person_id IS NULL OR EXISTS (
    SELECT FROM runs_person p WHERE p.id = n.person_id AND p.is_active
    AND p.roles @> ARRAY[CASE WHEN n.escalation_id IS NULL THEN 'reviewer' ELSE 'operator' END]::varchar[]))
"""
_DUE = f"SELECT n.id FROM runs_notification n WHERE {_IS_DUE} AND n.failed_count < %s ORDER BY n.due_at LIMIT %s"
_BEGIN = f"UPDATE runs_notification n SET begun_at = clock_timestamp() WHERE n.id = %s AND {_IS_DUE} RETURNING n.id"


@dataclass(frozen=True, slots=True)
class Due:
    """One message that was begun: over which channel, to which address, about which escalation or snapshot."""

    id: int
    channel: str
    address: str
    run: str
    workflow: str
    escalation: str | None
    snapshot: str | None
    is_material: bool


def note(told: str, params: Mapping[str, Any]) -> None:
    """Make a row for everybody that the statement `told` gives and that has none yet. Needs an open transaction.

    `told` selects escalation or else run and snapshot, then channel and person. Repeating it changes nothing.
    """
    execute(_NOTE.format(told=told), params)


@durable
def note_new_cases(*, with_slack: bool) -> None:
    """Note everybody who is to be told of an open case. Repeating it changes nothing."""
    recent = {"within": TOLD_WITHIN}
    for workflow in Escalation.objects.filter(state="open").values_list("workflow", flat=True).distinct():
        groups = sorted(authority.policy_of(workflow).operators)
        note(_OPERATORS, {**recent, "workflow": workflow, "groups": groups, "role": Role.OPERATOR.value})
    if with_slack:
        note(_SLACK, recent)


@durable
def due_notifications(limit: int) -> list[int]:
    """The rows that wait to be sent, the oldest first. Of what does not wait any more nobody needs to be told."""
    return [number for (number,) in execute(_DUE, [MOST_FAILURES, limit]).fetchall()]


@durable
def begin(number: int) -> Due | None:
    """Take a row to send it; None when another did, or when it is not due any more."""
    if execute(_BEGIN, [number]).fetchone() is None:
        return None
    related = ("escalation__run", "run", "person__notifications")
    row = Notification.objects.select_related(*related).get(pk=number)
    case = row.escalation
    run = case.run if case else row.run
    assert run is not None  # a row has one subject
    return Due(
        id=row.pk,
        channel=row.channel,
        address=row.person.notifications.address if row.person else "",
        run=run.key,
        workflow=run.workflow,
        escalation=escalation_ref(case.pk) if case else None,
        snapshot=row.snapshot,
        is_material=bool(case and case.is_material),
    )


@durable
def note_sent(number: int) -> None:
    """Note that a message was taken by whoever carries it."""
    Notification.objects.filter(pk=number, sent_at=None).update(sent_at=Now(), last_failure="")


@durable
def note_unsent(number: int, failure: str) -> None:
    """Note that nothing left, for a reason that has a name: it is due again, later each time."""
    row = Notification.objects.get(pk=number)
    pause = FIRST_PAUSE * 2**row.failed_count
    Notification.objects.filter(pk=number, sent_at=None).update(
        begun_at=None, failed_count=F("failed_count") + 1, last_failure=failure[:100], due_at=Now() + pause
    )


@durable
def note_unknown(number: int, failure: str) -> None:
    """Note that a message may have left or not: it is not sent again."""
    Notification.objects.filter(pk=number, sent_at=None).update(last_failure=failure[:100])
