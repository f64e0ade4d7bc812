"""Which reviewers are told that a snapshot waits for them: once, who may approve it and has not answered yet."""

from approvals.queries import TOOK_NO_PART, UNDER_REVIEW, terms_params
from approvals.reviewing import terms_of
from runs import authority
from runs.models import Run
from runs.notifications import TOLD_WITHIN, note
from runs.transactions import durable

_RECENT = "WHERE d.given < t.quorum AND s.frozen_at > clock_timestamp() - %(within)s"
_REVIEWERS = f"""
SELECT NULL::uuid, r.id, s.id, 'email', c.person_id
{UNDER_REVIEW}
JOIN runs_notificationchoice c ON c.by_email AND c.since <= s.frozen_at AND t.reviewers @> to_jsonb(c.person_id)
{_RECENT} AND {TOOK_NO_PART.format("c.person_id")}
  AND NOT EXISTS (SELECT FROM approvals_decision a WHERE a.snapshot_id = s.id AND a.person_id = c.person_id)
"""
_SLACK = f"SELECT NULL::uuid, r.id, s.id, 'slack', NULL::bigint {UNDER_REVIEW} {_RECENT}"


@durable
def note_new_reviews(*, with_slack: bool) -> None:
    """Note everybody who is to be told of a snapshot that waits for them. Repeating it changes nothing."""
    epoch, ledger_epoch = authority.current_epoch(), authority.ledger_epoch()
    waiting = Run.objects.filter(active_snapshot__isnull=False).values_list("workflow", flat=True).distinct()
    terms = [terms_of(authority.policy_of(slug, epoch), slug, epoch) for slug in waiting]
    params = {**terms_params(terms, ledger_epoch), "within": TOLD_WITHIN}
    note(_REVIEWERS, params)
    if with_slack:
        note(_SLACK, params)
