"""Snapshots under review as a queue of the inbox: for a reviewer those that they may approve, for admins those that
nobody can complete any more."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from approvals.queries import ReviewPlace, ReviewsAsked, WaitingReview
from approvals.reviewing import ReviewTerms, terms_of
from console.cursors import CursorType
from console.hostile import Shown
from console.lookalikes import inspect_name
from console.payloads import cut
from console.web.case_line import DUE_AFTER, ageing
from console.web.gate import Viewer
from console.web.queues import COUNTED_AT_MOST, Item
from runs import authority, catalog
from runs.definitions import Workflow
from runs.permissions import is_admin, is_reviewer

CURSORS: CursorType[datetime, str] = CursorType("inbox-reviews", datetime, str)

#: Something may leave by it: it comes before what moves nothing outside.
RANK = 1
LONGEST_SENTENCE = 140


@dataclass(frozen=True, slots=True)
class ReviewLine:
    """A snapshot that waits, as the inbox shows it."""

    waiting: WaitingReview
    workflow: Workflow
    sentence: Shown
    ageing: str  # quiet | warn | bad: the tone of how long it has waited
    is_stuck: bool  # too few people could still approve it

    @property
    def due_at(self) -> datetime:
        return self.waiting.row.frozen_at + DUE_AFTER

    @property
    def title(self) -> str:
        return self.workflow.actions[self.waiting.row.action].title


class ReviewQueue:
    """The queue of snapshots under review."""

    key = "reviews"
    label = "Reviews"

    def is_for(self, viewer: Viewer) -> bool:
        return is_admin(viewer.principal) or bool(_terms(viewer, stuck=False))

    def count(self, viewer: Viewer) -> int:
        counted = sum(asked.count() for asked in _asked(viewer))
        return min(counted, COUNTED_AT_MOST)

    def items(self, viewer: Viewer, limit: int, after: str | None) -> Sequence[Item]:
        place = ReviewPlace(*CURSORS.read(after)) if after else None
        found = {}
        for asked in _asked(viewer):
            found.update({waiting.row.pk: (waiting, asked.stuck) for waiting in asked.page(limit, place)})
        in_order = sorted(found.values(), key=lambda pair: (pair[0].row.frozen_at, pair[0].row.pk))
        return [_item(viewer, waiting, is_stuck=is_stuck) for waiting, is_stuck in in_order[:limit]]


def _asked(viewer: Viewer) -> list[ReviewsAsked]:
    """What is asked for: the person's own reviews, and as an admin those that nobody can complete."""
    epoch = authority.ledger_epoch()
    kinds = [False, True] if is_admin(viewer.principal) else [False]
    made = [(stuck, _terms(viewer, stuck=stuck)) for stuck in kinds]
    return [ReviewsAsked(viewer.principal.id, epoch, terms, stuck) for stuck, terms in made if terms]


def _terms(viewer: Viewer, *, stuck: bool) -> list[ReviewTerms]:
    """The terms of the workflows that this person reviews; all that they see when it is about stuck ones."""
    terms = []
    for slug in viewer.sees:
        policy = authority.policy_of(slug, viewer.epoch)
        if not stuck and not is_reviewer(viewer.principal, policy):
            continue
        terms.append(terms_of(policy, slug, viewer.epoch))
    return terms


def _item(viewer: Viewer, waiting: WaitingReview, *, is_stuck: bool) -> Item:
    row = waiting.row
    line = ReviewLine(
        waiting=waiting,
        workflow=catalog.definition(row.run.workflow, row.run.revision),
        sentence=cut(inspect_name(row.sentence), LONGEST_SENTENCE),
        ageing=ageing(row.frozen_at, viewer.now),
        is_stuck=is_stuck,
    )
    return Item(
        template="inbox/_review_row.html",
        line=line,
        rank=RANK,
        since=row.frozen_at,
        place=CURSORS.write(row.frozen_at, row.pk),
        mark=f"{row.pk}.{waiting.given}.{line.ageing}.{is_stuck}",
    )
