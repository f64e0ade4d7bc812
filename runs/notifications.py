"""Who is to be told of which open case, once: the rows are the truth, and sending only follows them.

A row is due until somebody begins to send it. What was begun is never begun again by itself, unless it is known that
nothing left; so nobody is told twice, and a message of a lost worker is a message less.
"""

from dataclasses import dataclass
from datetime import timedelta

from django.db.models import F
from django.db.models.functions import Now

from runs import authority
from runs.models import Escalation, Notification
from runs.refusals import escalation_ref
from runs.states import Role
from runs.transactions import durable, execute

EMAIL, SLACK = "email", "slack"

#: Cases that have been open for longer are not told any more: the inbox has them.
TOLD_WITHIN = timedelta(days=1)
MOST_FAILURES = 6
FIRST_PAUSE = timedelta(seconds=30)

_FOR_OPERATORS = """
INSERT INTO runs_notification (escalation_id, channel, person_id, due_at, failed_count, last_failure)
SELECT e.id, 'email', c.person_id, clock_timestamp(), 0, ''
FROM runs_escalation e
JOIN runs_notificationchoice c ON c.by_email AND c.since <= e.opened_at
JOIN runs_person p ON p.id = c.person_id AND p.is_active AND p.roles @> ARRAY[%(role)s]::varchar[]
                  AND p.workflow_groups && %(groups)s::varchar[]
WHERE e.state = 'open' AND e.workflow = %(workflow)s AND e.opened_at > clock_timestamp() - %(within)s
ON CONFLICT DO NOTHING
"""
_FOR_SLACK = """
INSERT INTO runs_notification (escalation_id, channel, person_id, due_at, failed_count, last_failure)
SELECT e.id, 'slack', NULL, clock_timestamp(), 0, ''
FROM runs_escalation e WHERE e.state = 'open' AND e.opened_at > clock_timestamp() - %(within)s
ON CONFLICT DO NOTHING
"""
_BEGIN = """
UPDATE runs_notification n SET begun_at = clock_timestamp()
FROM runs_escalation e
WHERE n.id = %s AND n.escalation_id = e.id AND e.state = 'open' AND n.begun_at IS NULL AND n.due_at <= clock_timestamp()
RETURNING n.id
"""


@dataclass(frozen=True, slots=True)
class Due:
    """One message that was begun: over which channel, to which address, about which case."""

    id: int
    channel: str
    address: str
    escalation: str
    run: str
    workflow: str
    is_material: bool


@durable
def note_new_cases(*, with_slack: bool) -> None:
    """Make a row for everybody who is to be told of an open case and has none yet. Repeating it changes nothing."""
    recent = {"within": TOLD_WITHIN}
    for workflow in Escalation.objects.filter(state="open").values_list("workflow", flat=True).distinct():
        groups = sorted(authority.policy_of(workflow).operators)
        execute(_FOR_OPERATORS, {**recent, "workflow": workflow, "groups": groups, "role": Role.OPERATOR.value})
    if with_slack:
        execute(_FOR_SLACK, recent)


def due_notifications(limit: int) -> list[int]:
    """The rows that wait to be sent, the oldest first. Of a settled case nobody needs to be told."""
    rows = Notification.objects.filter(
        begun_at=None, due_at__lte=Now(), failed_count__lt=MOST_FAILURES, escalation__state="open"
    )
    return list(rows.order_by("due_at").values_list("id", flat=True)[:limit])


@durable
def begin(number: int) -> Due | None:
    """Take a row to send it; None when another did, or when it is not due any more."""
    if execute(_BEGIN, [number]).fetchone() is None:
        return None
    row = Notification.objects.select_related("escalation__run", "person__notifications").get(pk=number)
    case = row.escalation
    return Due(
        id=row.pk,
        channel=row.channel,
        address=row.person.notifications.address if row.person else "",
        escalation=escalation_ref(case.pk),
        run=case.run.key,
        workflow=case.workflow,
        is_material=case.is_material,
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
