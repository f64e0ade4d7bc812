"""What screens read about snapshots beside the snapshot itself. Writes nothing and takes no locks."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q

from approvals.models import Artifact, Decision, Snapshot
from approvals.reviewing import ReviewTerms
from runs.models import LedgerEntry
from runs.transactions import execute

JSON = Any

#: Counts stop here: beyond it a number says no more, and counting costs.
COUNTED_AT_MOST = 100


# ---- one snapshot ----------------------------------------------------------------------------------------


def last_decided_before(row: Snapshot) -> Snapshot | None:
    """The newest earlier candidate of the same run and action that anybody decided on."""
    earlier = Snapshot.objects.filter(run_id=row.run_id, action=row.action, candidate__lt=row.candidate)
    return earlier.filter(Exists(Decision.objects.filter(snapshot=OuterRef("pk")))).order_by("-candidate").first()


def freeze_of(row: Snapshot) -> Mapping[str, JSON]:
    """What the ledger tells of the freeze: reason, references, for whom. Empty once it has been erased."""
    entry = LedgerEntry.objects.filter(run_id=row.run_id, version=row.run_version, kind="snapshot.frozen").first()
    return {} if entry is None or entry.body is None else json.loads(bytes(entry.body))


def artifacts_named(manifest: Mapping[str, JSON]) -> dict[str, Artifact]:
    """The artifacts that a manifest names, by id."""
    named = [item["id"] for item in manifest["artifacts"]]
    return {row.pk: row for row in Artifact.objects.filter(pk__in=named).select_related("content")} if named else {}


def list_snapshots(run_id: int, limit: int) -> list[Snapshot]:
    """The newest candidates of a run without their bytes, each with the number of `approvals` and `denials` given."""
    rows = Snapshot.objects.filter(run_id=run_id).defer("manifest", "payload", "parts")
    approve = Count("decisions", filter=Q(decisions__verdict="approve", decisions__revoked_at=None))
    deny = Count("decisions", filter=Q(decisions__verdict="deny"))
    return list(rows.annotate(approvals=approve, denials=deny).order_by("-candidate")[:limit])


# ---- what waits for a reviewer ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReviewPlace:
    """Where a list of waiting reviews goes on."""

    frozen_at: datetime
    snapshot: str


#: Every snapshot `s` under review, its run `r`, the terms `t` of its workflow, and in `d` how many approvals count.
UNDER_REVIEW = """
FROM jsonb_to_recordset(%(terms)s::jsonb)
     AS t (workflow text, authority_version int, quorum int, is_strict bool, reviewers jsonb)
JOIN runs_run r ON r.workflow = t.workflow AND r.active_snapshot IS NOT NULL
JOIN approvals_snapshot s ON s.id = r.active_snapshot
CROSS JOIN LATERAL (
    SELECT count(DISTINCT d.person_id) AS given, coalesce(bool_or(d.person_id = %(person)s), false) AS is_mine
    FROM approvals_decision d
    WHERE d.snapshot_id = s.id AND d.verdict = 'approve' AND d.revoked_at IS NULL
      AND (d.expires_at IS NULL OR d.expires_at > clock_timestamp())
      AND d.authority_version = t.authority_version AND d.ledger_epoch = %(ledger_epoch)s
) d
"""
#: That a person took no part in what the snapshot `s` shows, where the terms `t` ask for that.
TOOK_NO_PART = "NOT (t.is_strict AND s.parts::jsonb @> jsonb_build_array(jsonb_build_object('person_id', {})))"
_MINE = f"WHERE NOT d.is_mine AND d.given < t.quorum AND {TOOK_NO_PART.format('%(person)s::bigint')}"
_STUCK = f"""WHERE d.given < t.quorum AND t.quorum > (
    SELECT count(*) FROM jsonb_array_elements(t.reviewers) AS one (number) WHERE {TOOK_NO_PART.format("one.number")})
"""
_AFTER = "AND (%(at)s::timestamptz IS NULL OR (s.frozen_at, s.id) > (%(at)s::timestamptz, %(after)s))"
_IN_ORDER = "ORDER BY s.frozen_at, s.id LIMIT %(limit)s"


def terms_params(terms: Sequence[ReviewTerms], ledger_epoch: int, person: int | None = None) -> dict[str, JSON]:
    """What `UNDER_REVIEW` is asked with: by which terms, and whether a decision is this person's."""
    return {"person": person, "ledger_epoch": ledger_epoch, "terms": json.dumps([asdict(item) for item in terms])}


@dataclass(frozen=True, slots=True)
class WaitingReview:
    """A snapshot under review with how many approvals of it count, as far as a list can tell, and are needed."""

    row: Snapshot
    given: int
    needed: int


@dataclass(frozen=True, slots=True)
class ReviewsAsked:
    """Whose reviews are asked for: those that this person may approve, or all that nobody can complete."""

    person_id: int
    ledger_epoch: int
    terms: Sequence[ReviewTerms]
    stuck: bool = False

    @property
    def _params(self) -> dict[str, JSON]:
        return terms_params(self.terms, self.ledger_epoch, self.person_id)

    def count(self) -> int:
        """How many there are; `COUNTED_AT_MOST` stands for as many or more."""
        condition = _STUCK if self.stuck else _MINE
        statement = f"SELECT count(*) FROM (SELECT {UNDER_REVIEW} {condition} LIMIT {COUNTED_AT_MOST}) found"
        [(number,)] = execute(statement, self._params).fetchall()
        return int(number)

    def page(self, limit: int, after: ReviewPlace | None) -> list[WaitingReview]:
        """The oldest first, after a place."""
        statement = (
            f"SELECT s.id, d.given, t.quorum {UNDER_REVIEW} {_STUCK if self.stuck else _MINE} {_AFTER} {_IN_ORDER}"
        )
        place = {"at": after and after.frozen_at, "after": after and after.snapshot, "limit": limit}
        found = execute(statement, self._params | place).fetchall()
        rows = _without_bytes([number for number, _, _ in found])
        return [WaitingReview(rows[number], given, needed) for number, given, needed in found]


def _without_bytes(numbers: Collection[str]) -> dict[str, Snapshot]:
    if not numbers:
        return {}
    rows = Snapshot.objects.filter(pk__in=numbers).select_related("run").defer("manifest", "payload", "run__fields")
    return {row.pk: row for row in rows}
