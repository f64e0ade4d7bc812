"""What the page of a run shows of consent and effects: its candidates, and what left or may have left."""

from dataclasses import dataclass

from approvals.models import Snapshot
from approvals.queries import list_snapshots
from approvals.states import SnapshotState, snapshot_state
from console.hostile import Shown
from console.lookalikes import inspect_name
from console.payloads import cut
from console.web.effect_words import STAGE_LOOKS, StageLook, stage_of
from outbox.models import Effect
from runs.values import RunReading

#: Candidates and effects on the page itself, the newest.
MOST = 6
LONGEST_SENTENCE = 120


@dataclass(frozen=True, slots=True)
class SnapshotLine:
    """A candidate with its state and what was said of it."""

    row: Snapshot
    state: SnapshotState
    sentence: Shown
    approvals: int
    denials: int


@dataclass(frozen=True, slots=True)
class RunEffectLine:
    """An effect of the run."""

    row: Effect
    look: StageLook


@dataclass(frozen=True, slots=True)
class RunReviews:
    """The newest candidates and effects of a run, the newest first."""

    snapshots: tuple[SnapshotLine, ...]
    effects: tuple[RunEffectLine, ...]


def read_run_reviews(run: RunReading) -> RunReviews:
    """Read both, in two statements."""
    effects = list(Effect.objects.filter(run_id=run.id).order_by("-authorized_at", "-pk")[:MOST])
    authorized = {effect.snapshot_id for effect in effects}
    return RunReviews(
        tuple(_line(run, row, has_effect=row.pk in authorized) for row in list_snapshots(run.id, MOST)),
        tuple(RunEffectLine(effect, STAGE_LOOKS[stage_of(effect)]) for effect in effects),
    )


def _line(run: RunReading, row: Snapshot, *, has_effect: bool) -> SnapshotLine:
    approvals, denials = row.approvals, row.denials  # type: ignore[attr-defined]  # counted by the query
    is_active = run.state.active_snapshot == row.pk
    state = snapshot_state(has_effect=has_effect, is_pointed_at=is_active, has_deny=bool(denials))
    return SnapshotLine(row, state, cut(inspect_name(row.sentence), LONGEST_SENTENCE), approvals, denials)
