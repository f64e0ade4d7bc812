"""Which reviewers are told that a snapshot waits for them: once, who may approve it and has not answered yet."""

from approvals.queries import TOOK_NO_PART
from approvals.reviewing import eligible_people
from runs import authority
from runs.models import Run
from runs.notifications import TOLD_WITHIN, note
from runs.transactions import durable

_WAITING = """
FROM runs_run r JOIN approvals_snapshot s ON s.id = r.active_snapshot
"""
_RECENT = """
WHERE r.workflow = %(workflow)s AND s.frozen_at > clock_timestamp() - %(within)s
  AND %(quorum)s > (
      SELECT count(DISTINCT d.person_id) FROM approvals_decision d
      WHERE d.snapshot_id = s.id AND d.verdict = 'approve' AND d.revoked_at IS NULL
        AND (d.expires_at IS NULL OR d.expires_at > clock_timestamp()))
"""
_REVIEWERS = f"""
SELECT NULL::uuid, r.id, s.id, 'email', c.person_id
{_WAITING} JOIN runs_notificationchoice c ON c.by_email AND c.since <= s.frozen_at AND c.person_id = ANY(%(reviewers)s)
CROSS JOIN (VALUES (%(is_strict)s)) AS t (is_strict)
{_RECENT} AND {TOOK_NO_PART.format("c.person_id")}
  AND NOT EXISTS (SELECT FROM approvals_decision d WHERE d.snapshot_id = s.id AND d.person_id = c.person_id)
"""
_SLACK = f"SELECT NULL::uuid, r.id, s.id, 'slack', NULL::bigint {_WAITING} {_RECENT}"


@durable
def note_new_reviews(*, with_slack: bool) -> None:
    """Note everybody who is to be told of a snapshot that waits for them. Repeating it changes nothing."""
    waiting = Run.objects.filter(active_snapshot__isnull=False)
    for workflow in waiting.values_list("workflow", flat=True).distinct():
        policy = authority.policy_of(workflow)
        recent = {"workflow": workflow, "within": TOLD_WITHIN, "quorum": policy.quorum}
        reviewers = list(eligible_people(policy))
        note(_REVIEWERS, {**recent, "reviewers": reviewers, "is_strict": policy.separation == "strict"})
        if with_slack:
            note(_SLACK, recent)
