"""How long effects take, and how often nobody knew what came of them, by destination; and what is due longest.

Writes nothing and takes no locks. Reads the newest effects of a span of time, at most `READ_AT_MOST` of them.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from runs.transactions import execute

READ_AT_MOST = 5000
DESTINATIONS = 12


@dataclass(frozen=True, slots=True)
class Sent:
    """What the newest effects to one destination tell. Times are in seconds; None where nothing was measured."""

    destination: str
    effects: int
    begun_in: float | None  # from authorization to the first attempt, the median
    begun_in_at_most: float | None  # of 95 in 100
    ended_in: float | None  # from authorization to the end, the median
    ended_in_at_most: float | None
    unknown: int  # effects of which at least one attempt had an unknown outcome
    unknown_still: int
    found_out_in: float | None  # from the first unknown outcome to the end, the median


_SENT = """
WITH newest AS (
    SELECT operation_id, destination, authorized_at, ended_at FROM outbox_effect
    WHERE workflow = ANY(%(workflows)s) AND authorized_at >= %(since)s
    ORDER BY authorized_at DESC, operation_id DESC LIMIT %(most)s
), told AS (
    SELECT e.destination, a.unknown_at, e.ended_at,
           extract(epoch FROM a.begun_at - e.authorized_at) AS begun_in,
           extract(epoch FROM e.ended_at - e.authorized_at) AS ended_in,
           extract(epoch FROM e.ended_at - a.unknown_at) AS found_out_in
    FROM newest e CROSS JOIN LATERAL (
        SELECT min(a.started_at) AS begun_at, min(a.finished_at) FILTER (WHERE a.outcome = 'unknown') AS unknown_at
        FROM outbox_attempt a WHERE a.effect_id = e.operation_id
    ) a
)
SELECT destination, count(*),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY begun_in),
       percentile_cont(0.95) WITHIN GROUP (ORDER BY begun_in),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY ended_in),
       percentile_cont(0.95) WITHIN GROUP (ORDER BY ended_in),
       count(unknown_at), count(unknown_at) FILTER (WHERE ended_at IS NULL),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY found_out_in)
FROM told GROUP BY destination
ORDER BY 8 DESC, 7 DESC, 2 DESC, destination LIMIT %(destinations)s
"""


def read_sent(workflows: Collection[str], since: datetime) -> list[Sent]:
    """The effects of these workflows since a time, by destination: those with unknown outcomes first."""
    params = {"workflows": list(workflows), "since": since, "most": READ_AT_MOST, "destinations": DESTINATIONS}
    return [Sent(*row) for row in execute(_SENT, params).fetchall()]


@dataclass(frozen=True, slots=True)
class Overdue:
    """The effect whose next step has been due for longest, and since when."""

    operation_id: str
    destination: str
    step: str
    since: datetime


_OLDEST_DUE = """
SELECT operation_id, destination, next_step, next_at FROM outbox_effect
WHERE next_at <= clock_timestamp() AND lease_owner IS NULL AND workflow = ANY(%(workflows)s)
ORDER BY next_at, operation_id LIMIT 1
"""


def oldest_due(workflows: Collection[str]) -> Overdue | None:
    """What has been due for longest and nobody works on; None when nothing is."""
    row = execute(_OLDEST_DUE, {"workflows": list(workflows)}).fetchone()
    return Overdue(*row) if row else None
