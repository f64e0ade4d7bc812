"""Everything a decision about an effect rests on, read for a whole batch in a few statements. Writes nothing.

Whoever acts on it holds the locks of the runs in the same transaction: then nothing of it can change before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from approvals.models import DestinationRevision
from outbox.models import Effect
from outbox.retry import Capabilities, Position
from outbox.targets import capabilities_of
from runs import many
from runs.transactions import execute
from runs.values import RunReading

_ATTEMPTS = """
SELECT e.id, coalesce(a.number, 0), a.send_by, coalesce(a.was_accepted_late, false) FROM unnest(%s::text[]) AS e (id)
CROSS JOIN LATERAL (
    SELECT max(number) AS number, max(send_by) AS send_by,
           bool_or(late::jsonb ->> 'outcome' = 'accepted') AS was_accepted_late
    FROM outbox_attempt WHERE effect_id = e.id
) AS a
"""
_REVOKED = """
SELECT d.id FROM approvals_decision d LEFT JOIN approvals_standingapproval s ON s.id = d.standing_approval_id
WHERE d.id = ANY(%s) AND (d.revoked_at IS NOT NULL OR s.revoked_at IS NOT NULL)
"""


@dataclass(frozen=True, slots=True)
class Bearing:
    """An effect with its run, where it goes, and what became of it so far."""

    effect: Effect
    run: RunReading
    destination: DestinationRevision
    attempts: int
    last_send_by: datetime | None
    was_accepted_late: bool  # whether a result that came too late to be applied says that it was accepted
    revoked: str | None  # an approval of it that was revoked, or whose standing approval was

    @property
    def can(self) -> Capabilities:
        """What its destination declares, as far as the adapter can do it."""
        return capabilities_of(self.destination)

    def position(self, now: datetime, *, may_have_left: bool) -> Position:
        """Where it stands when its next step is decided at `now`."""
        timeout = timedelta(seconds=self.effect.timeout_seconds)
        return Position(
            now=now,
            may_have_left=may_have_left,
            attempts_used=self.effect.attempts_used,
            attempts_allowed=self.effect.attempts_allowed,
            key_clock_started_at=self.effect.key_clock_started_at,
            lease_expired_at=None if self.last_send_by is None else self.last_send_by + timeout,
            send_timeout=timeout,
            is_revoked=self.revoked is not None,
        )


def read_bearings(operation_ids: Sequence[str], *, with_snapshots: bool = False) -> list[Bearing]:
    """The bearings of these effects, in the order given; with what was frozen, where that is to be looked into."""
    rows = Effect.objects.select_related("snapshot") if with_snapshots else Effect.objects.all()
    effects = rows.in_bulk(operation_ids)
    runs = many.read_runs([effect.run_id for effect in effects.values()])
    return bearings_of([(effects[number], runs[effects[number].run_id]) for number in operation_ids])


def bearings_of(pairs: Sequence[tuple[Effect, RunReading]]) -> list[Bearing]:
    """The bearings of effects that were read already, each with its run."""
    effects = [effect for effect, _ in pairs]
    names = {effect.destination for effect in effects}
    rows = {(row.name, row.revision): row for row in DestinationRevision.objects.filter(name__in=names)}
    tried = {number: rest for number, *rest in execute(_ATTEMPTS, [[effect.pk for effect in effects]]).fetchall()}
    spent = [number for effect in effects for number in effect.approvals]
    revoked = {number for (number,) in execute(_REVOKED, [spent]).fetchall()}
    bearings = []
    for effect, run in pairs:
        row = rows[effect.destination, effect.destination_revision]
        withdrawn = next((str(number) for number in effect.approvals if number in revoked), None)
        attempts, last_send_by, was_accepted_late = tried[effect.pk]
        bearings.append(Bearing(effect, run, row, attempts, last_send_by, was_accepted_late, withdrawn))
    return bearings
