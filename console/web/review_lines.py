"""What a review card lists of consent: facts as frozen and now, decisions and whether they count, who is barred."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from approvals.models import Decision
from approvals.reviewing import Review
from approvals.states import Boundary, Verdict
from outbox.models import Effect
from outbox.receipts import boundary_of
from runs.fields import same
from runs.history import LastChange, LastChanges

JSON = Any


@dataclass(frozen=True, slots=True)
class PersonLine:
    """Somebody who may not approve, and why."""

    username: str
    because: str


@dataclass(frozen=True, slots=True)
class FactLine:
    """A fact of consent: as it was frozen, as it is now, and who wrote it last."""

    name: str
    is_material: bool
    frozen: JSON
    now: JSON
    change: LastChange

    @property
    def holds(self) -> bool:
        return same(self.frozen, self.now)


@dataclass(frozen=True, slots=True)
class DecisionLine:
    """A decision with whether it counts and, where it can be revoked, what revoking it does now."""

    ref: str
    row: Decision
    counts: bool
    because: str
    boundary: Boundary | None  # None: nothing to revoke

    @property
    def actor(self) -> str:
        return f"user:{self.row.person.username}"

    @property
    def is_approval(self) -> bool:
        return self.row.verdict == Verdict.APPROVE


def fact_lines(review: Review, last: LastChanges) -> tuple[FactLine, ...]:
    """The facts of consent: what no longer holds first, then what is material."""
    frozen: Mapping[str, JSON] = review.manifest["facts"]["values"]
    material, now = review.workflow.material, review.run.state.fields
    lines = [FactLine(name, name in material, frozen[name], now.get(name), last.of(name)) for name in frozen]
    return tuple(sorted(lines, key=lambda line: (line.holds, not line.is_material)))


def decision_lines(review: Review, effect: Effect | None) -> Iterator[DecisionLine]:
    """What people said, the earliest first."""
    for given, row in zip(review.given, review.decisions, strict=True):
        standing = review.standing_of(given)
        boundary = None
        if row.verdict == Verdict.APPROVE and row.revoked_at is None:
            boundary = boundary_of(review, effect if effect and row.pk in effect.approvals else None)
        yield DecisionLine(given.id, row, standing.counts, standing.because, boundary)


def barred_lines(review: Review) -> list[PersonLine]:
    """Reviewers who took part in it, and how."""
    parts = (review.part_of(number) for number in review.reviewers)
    return [PersonLine(part.username, part.because) for part in parts if part]
