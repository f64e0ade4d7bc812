"""What conflicts tell about the boundaries of records: how many of each kind over time, and where they keep meeting.

Writes nothing and takes no locks. Every query is bounded by a span of time, read by the order in which conflicts were
made, so none looks at more than that span.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from runs.concentration import Concentration, sustained
from runs.states import Disposition
from runs.transactions import execute

JSON = Any

MOST_NAMES = 10

_CONFLICTS = """
SELECT width_bucket(extract(epoch FROM c.at), %(begin)s, %(end)s, %(stretches)s) AS stretch,
       c.disposition, c.rule = 'budget-exhausted' AS is_exhausted, c.run_id, c.workflow, c.name, c.fields_touched,
       count(*)
FROM runs_conflict c
WHERE c.workflow = ANY(%(workflows)s) AND c.id >= %(first)s
  AND c.at >= to_timestamp(%(begin)s) AND c.at < to_timestamp(%(end)s)
GROUP BY 1, 2, 3, 4, 5, 6, 7
"""
_KEYS = "SELECT id, key FROM runs_run WHERE id = ANY(%s)"


@dataclass(frozen=True, slots=True)
class Span:
    """A span of time that ends now, cut into stretches."""

    name: str
    label: str
    stretch: timedelta
    stretches: int

    def begin(self, now: datetime) -> datetime:
        return now - self.stretch * self.stretches


SPANS = (
    Span("day", "24 hours", timedelta(hours=1), 24),
    Span("week", "7 days", timedelta(hours=6), 28),
    Span("month", "30 days", timedelta(days=1), 30),
)


@dataclass(frozen=True, slots=True)
class Stretch:
    """One stretch of time: when it began, and how many conflicts of each disposition it had."""

    at: datetime
    counts: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class Ranked:
    """A run, field or command by the conflicts it met, of each disposition."""

    name: str
    total: int
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Insights:
    """Everything that the conflicts of a span tell."""

    stretches: tuple[Stretch, ...]
    totals: Mapping[str, int]
    exhausted: int
    runs: tuple[Ranked, ...]
    fields: tuple[Ranked, ...]
    commands: tuple[Ranked, ...]
    hot_runs: tuple[Concentration, ...]
    hot_fields: tuple[Concentration, ...]

    @property
    def total(self) -> int:
        return sum(self.totals.values())


@dataclass(frozen=True, slots=True)
class _Group:
    """Conflicts that are alike in everything that is counted."""

    stretch: int
    disposition: str
    is_exhausted: bool
    run_id: int
    workflow: str
    command: str
    fields: tuple[str, ...]
    count: int

    @property
    def field_names(self) -> list[str]:
        return [f"{self.workflow}.{field}" for field in self.fields]

    @property
    def command_name(self) -> str:
        return f"{self.workflow}.{self.command}"


def read_insights(workflows: Collection[str], span: Span, now: datetime) -> Insights:
    """What the conflicts of `workflows` in a span that ends `now` tell, in two statements."""
    groups = _read(workflows, span, now)
    keys = _keys_of(groups)
    begin = span.begin(now)
    per_stretch = [[group for group in groups if group.stretch == at] for at in range(1, span.stretches + 1)]
    stretches = tuple(
        Stretch(begin + span.stretch * at, _by_disposition(found)) for at, found in enumerate(per_stretch)
    )
    totals = [stretch.total for stretch in stretches]
    by_run = [_counted((keys[group.run_id], group.count) for group in found) for found in per_stretch]
    by_field = [_counted((name, group.count) for group in found for name in group.field_names) for found in per_stretch]
    return Insights(
        stretches=stretches,
        totals=_by_disposition(groups),
        exhausted=sum(group.count for group in groups if group.is_exhausted),
        runs=_ranked((keys[group.run_id], group) for group in groups),
        fields=_ranked((name, group) for group in groups for name in group.field_names),
        commands=_ranked((group.command_name, group) for group in groups),
        hot_runs=tuple(sustained(by_run, totals)),
        hot_fields=tuple(sustained(by_field, totals)),
    )


def _read(workflows: Collection[str], span: Span, now: datetime) -> list[_Group]:
    begin = span.begin(now)
    params = {
        "workflows": list(workflows),
        "first": _first_id_at(begin),
        "begin": begin.timestamp(),
        "end": now.timestamp(),
        "stretches": span.stretches,
    }
    rows = execute(_CONFLICTS, params).fetchall()
    return [
        _Group(stretch, disposition, is_exhausted, run, workflow, command, tuple(fields), count)
        for stretch, disposition, is_exhausted, run, workflow, command, fields, count in rows
    ]


def _first_id_at(moment: datetime) -> UUID:
    """The smallest id that a conflict of that moment can have: ids begin with the milliseconds of their making.

    An hour is taken off, because an id is made by the clock of a process and the time by that of the database.
    """
    milliseconds = int((moment - timedelta(hours=1)).timestamp() * 1000)
    return UUID(int=milliseconds << 80)


def _keys_of(groups: Sequence[_Group]) -> Mapping[int, str]:
    numbers = sorted({group.run_id for group in groups})
    return dict(execute(_KEYS, [numbers]).fetchall()) if numbers else {}


def _by_disposition(groups: Sequence[_Group]) -> Mapping[str, int]:
    counted = _counted((group.disposition, group.count) for group in groups)
    return {disposition.value: counted[disposition.value] for disposition in Disposition}


def _counted(pairs: Any) -> Counter[str]:
    counted: Counter[str] = Counter()
    for name, count in pairs:
        counted[name] += count
    return counted


def _ranked(pairs: Any) -> tuple[Ranked, ...]:
    """The names with most conflicts, the first `MOST_NAMES` of them."""
    counts: dict[str, Counter[str]] = {}
    for name, group in pairs:
        counts.setdefault(name, Counter())[group.disposition] += group.count
    ranked = [Ranked(name, sum(found.values()), found) for name, found in counts.items()]
    return tuple(sorted(ranked, key=lambda item: (-item.total, item.name))[:MOST_NAMES])
