"""What the ledger of a run says about its past: who changed each field last, and the timeline backwards.

Writes nothing and takes no locks.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q

from runs.errors import NotFound
from runs.models import LedgerEntry
from runs.queries import ENTRY_COLUMNS, Entry
from runs.transactions import execute

JSON = Any

_LAST_CHANGES = """
SELECT DISTINCT ON (name) name, seq, version, actor, command_id, at
FROM runs_ledgerentry e, unnest(CASE WHEN e.seq = 1 THEN ARRAY[''] ELSE e.touched END) AS name
WHERE e.run_id = %s AND (e.seq = 1 OR cardinality(e.touched) > 0)
ORDER BY name, seq DESC
"""


@dataclass(frozen=True, slots=True)
class LastChange:
    """The ledger entry that touched something last."""

    seq: int
    version: int
    actor: str
    command_id: str | None
    at: datetime

    @property
    def is_creation(self) -> bool:
        return self.seq == 1


@dataclass(frozen=True, slots=True)
class LastChanges:
    """The last change of each field of a run; what nobody touched is as its creation left it."""

    by_name: dict[str, LastChange]

    def of(self, name: str) -> LastChange:
        return self.by_name.get(name) or self.by_name[""]


def read_last_changes(run_id: int) -> LastChanges:
    """Who changed each field of a run last, and with which version, in one statement."""
    rows = execute(_LAST_CHANGES, [run_id]).fetchall()
    return LastChanges({name: LastChange(*rest) for name, *rest in rows})


def list_backwards(run_id: int, limit: int, *, before: int | None = None) -> list[Entry]:
    """The ledger entries of a run, the newest first, those before entry `before`."""
    entries = LedgerEntry.objects.filter(run_id=run_id)
    if before is not None:
        entries = entries.filter(seq__lt=before)
    return [Entry(*row) for row in entries.order_by("-seq").values_list(*ENTRY_COLUMNS)[:limit]]


def list_of_case(run_id: int, base: int, until: int, command: tuple[str, str], limit: int) -> list[Entry]:
    """What lies between the base of a command and version `until`, with the entry that tells the command itself.

    In order; of more than `limit`, the newest. `command` is its principal and id.
    """
    principal, command_id = command
    between = Q(version__gt=base, version__lte=until) | Q(actor=principal, command_id=command_id)
    entries = LedgerEntry.objects.filter(between, run_id=run_id).order_by("-seq")
    return [Entry(*row) for row in entries.values_list(*ENTRY_COLUMNS)[:limit]][::-1]


def get_entry(run_id: int, seq: int) -> Entry:
    """One ledger entry of a run. Raises `NotFound`."""
    row = LedgerEntry.objects.filter(run_id=run_id, seq=seq).values_list(*ENTRY_COLUMNS).first()
    if row is None:
        raise NotFound
    return Entry(*row)
