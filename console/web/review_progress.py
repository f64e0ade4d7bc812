"""How a snapshot stands at this moment, for one person: consent, approvals, the boundary, and what they may do.

Everything here moves and is read anew whenever it is shown. What may be done is judged by the very checks that judge
the press of a button, so a button is never offered that would be refused, and a refusal is told in its own words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from approvals.deciding import DecisionRequest, require_decidable
from approvals.reviewing import Review
from approvals.states import Boundary, SnapshotState, Verdict
from console import stories
from console.stories import Story
from console.web.review_card import duration
from console.web.review_lines import DecisionLine, FactLine, PersonLine, barred_lines, decision_lines, fact_lines
from outbox.authorizing import require_authorizable
from outbox.models import Effect
from outbox.queries import consent_of
from outbox.receipts import boundary_of, effect_of, state_of
from runs import history
from runs.errors import ClearanceError
from runs.history import LastChanges
from runs.permissions import is_admin, is_reviewer, require_scope

JSON = Any

#: Names that are listed one by one; beyond it a number says the rest.
MOST_NAMES = 8
#: Entries of the ledger beside a snapshot.
ENTRIES = 8


@dataclass(frozen=True)
class Progress:
    """A snapshot as one person meets it now."""

    review: Review
    state: SnapshotState
    effect: Effect | None
    boundary: Boundary
    stands: bool
    because: str
    timeline: tuple[Story, ...]
    last: LastChanges
    proven_at: datetime | None  # when the person last proved who they are

    # ---- consent ---------------------------------------------------------------------------------------------

    @cached_property
    def facts(self) -> tuple[FactLine, ...]:
        """The facts of consent: what no longer holds first, then what is material."""
        return fact_lines(self.review, self.last)

    @property
    def moved_facts(self) -> list[FactLine]:
        return [line for line in self.facts if not line.holds]

    # ---- approvals -------------------------------------------------------------------------------------------

    @property
    def needed(self) -> int:
        return self.review.policy.quorum

    @cached_property
    def given(self) -> int:
        """The approvals that count now; of an authorized snapshot those that were spent."""
        return len(self.effect.approvals) if self.effect else len(self.review.counting)

    @property
    def is_active(self) -> bool:
        return self.state is SnapshotState.ACTIVE

    @property
    def is_open(self) -> bool:
        """Whether anything about it can still move."""
        return self.is_active or (self.effect is not None and self.effect.ended_at is None)

    @property
    def missing(self) -> int:
        return max(0, self.needed - self.given)

    @property
    def counts_for(self) -> str:
        """How long an approval counts once it is given."""
        return duration(self.review.policy.decision_expires_after)

    @property
    def too_few(self) -> bool:
        """Whether fewer people could still approve than approvals are missing."""
        return self.is_active and len(self.review.possible) < self.missing

    @property
    def possible(self) -> Sequence[str]:
        return sorted(self.review.possible)[:MOST_NAMES]

    @property
    def more_possible(self) -> int:
        return max(0, len(self.review.possible) - MOST_NAMES)

    @property
    def barred(self) -> Sequence[PersonLine]:
        """Reviewers who took part in it, and how."""
        return barred_lines(self.review)

    @cached_property
    def decisions(self) -> tuple[DecisionLine, ...]:
        """The newest first."""
        return tuple(decision_lines(self.review, self.effect))[::-1]

    @property
    def revocable(self) -> list[DecisionLine]:
        """The approvals that this person may revoke."""
        return [line for line in self.decisions if line.boundary is not None] if self.may_revoke else []

    @property
    def mine(self) -> DecisionLine | None:
        """What this person said of it last."""
        return next((line for line in self.decisions if line.row.person_id == self.review.principal.id), None)

    # ---- what this person may do -----------------------------------------------------------------------------

    @property
    def is_reviewer(self) -> bool:
        return is_reviewer(self.review.principal, self.review.policy)

    @property
    def may_revoke(self) -> bool:
        return self.is_reviewer or is_admin(self.review.principal)

    @property
    def groups(self) -> list[str]:
        """Who reviews this workflow."""
        return sorted(self.review.policy.reviewers)

    @cached_property
    def against_approving(self) -> ClearanceError | None:
        return self.against(Verdict.APPROVE, self.review.run.version, self.epoch)

    @cached_property
    def against_denying(self) -> ClearanceError | None:
        return self.against(Verdict.DENY, self.review.run.version, self.epoch)

    def against(self, verdict: Verdict, run_version: int, authority_epoch: int) -> ClearanceError | None:
        """What would be refused about a verdict, given now on what was shown at that version and epoch."""
        seen = DecisionRequest(
            id="-",
            verdict=verdict,
            manifest_sha256=self.review.row.manifest_sha256,
            run_version=run_version,
            authority_epoch=authority_epoch,
            reason="as shown",
            authenticated_at=self.proven_at,
        )
        try:
            require_decidable(self.review, seen)
        except ClearanceError as refusal:
            return refusal
        return None

    @cached_property
    def against_authorizing(self) -> ClearanceError | None:
        """Why this person cannot spend the approvals now; None when they can."""
        review = self.review
        try:
            require_scope(review.principal, review.run.workflow, review.action.scope, review.policy)
            require_authorizable(review, review.row.manifest_sha256, review.run.version, request_id="")
        except ClearanceError as refusal:
            return refusal
        return None

    @property
    def is_last(self) -> bool:
        """Whether one more approval completes the quorum and so authorizes at once."""
        return self.review.action.authorize == "automatic" and self.missing == 1

    @property
    def waits_for_coordinator(self) -> bool:
        """Whether the approvals are there and somebody has to spend them."""
        return self.is_active and self.stands and self.missing == 0

    # ---- where it stands -------------------------------------------------------------------------------------

    @property
    def epoch(self) -> int:
        return self.review.found.authority_epoch

    @property
    def newer(self) -> str | None:
        """The candidate that is under review in its place."""
        active = self.review.run.state.active_snapshot
        return active if active != self.review.row.pk else None

    @property
    def now(self) -> datetime:
        return self.review.found.now

    @cached_property
    def offers(self) -> str:
        """What is open to this person now, as a page that is drawn carries it."""
        open_to = {
            Verdict.APPROVE.value: self.is_reviewer and self.against_approving is None,
            Verdict.DENY.value: self.is_reviewer and self.against_denying is None,
            "authorize": self.waits_for_coordinator and self.against_authorizing is None,
        }
        revoking = [f"revoke-{line.boundary}" for line in self.revocable]
        return " ".join([name for name, is_open in open_to.items() if is_open] + revoking)

    @property
    def tag(self) -> str:
        """What this depends on: while it is the same, nothing of it has changed for this person."""
        found, run, effect = self.review.found, self.review.run, self.effect
        parts = (found.ledger_epoch, found.authority_epoch, found.is_halted, run.version, run.head_seq)
        rest = (effect.version if effect else 0, self.given, self.offers.replace(" ", "_"))
        return ".".join(str(part) for part in (*parts, *rest))


def read_progress(review: Review, proven_at: datetime | None) -> Progress:
    """Read how a snapshot stands for somebody who proved who they are at `proven_at`."""
    effect, state = effect_of(review.row.pk), state_of(review)
    stands, because = consent_of(review, state)
    entries = history.list_backwards(review.run.id, ENTRIES)
    return Progress(
        review=review,
        state=state,
        effect=effect,
        boundary=boundary_of(review, effect),
        stands=stands,
        because=because,
        timeline=tuple(stories.tell(entry, review.workflow) for entry in entries),
        last=history.read_last_changes(review.run.id),
        proven_at=proven_at,
    )
