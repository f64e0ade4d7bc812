"""The halt of the whole installation, as admins switch it over the console and the API, and how it stands."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models.functions import Now

from runs.administration import By, authority_change, write_halt
from runs.models import Installation
from runs.requests import Answer, once
from runs.transactions import AUTHORITY_LOCK, fetch_row
from runs.values import Principal

JSON = Any

#: A change of authority waits no longer than this for older writes to end, and no write lasts as long.
SETTLED_AFTER = timedelta(seconds=120)


@dataclass(frozen=True, slots=True)
class Halt:
    """A halt that is on: since when, by whom, why, and whether every older write has ended."""

    since: datetime
    by: str
    reason: str
    in_force: bool


def read_halt() -> Halt | None:
    """The halt, while it is on."""
    row = Installation.objects.annotate(now=Now()).get(id=1)
    if not row.is_halted:
        return None
    since = row.halted_at or row.now
    in_force = row.now - since > SETTLED_AFTER or _no_change_settles()
    return Halt(since, row.halted_by, row.halt_reason, in_force)


def _no_change_settles() -> bool:
    """Whether no change of authority waits for older writes at this moment: the shared lock is free to take."""
    (is_free,) = fetch_row("SELECT pg_try_advisory_xact_lock_shared(%s, %s)", AUTHORITY_LOCK)
    return bool(is_free)


@dataclass(frozen=True, slots=True)
class HaltRequest:
    """Halt the installation, or let it go on."""

    id: str
    on: bool
    reason: str
    evidence: tuple[str, ...] = ()

    def identity(self) -> dict[str, JSON]:
        return {"name": "halt", "on": self.on, "reason": self.reason, "evidence": list(self.evidence)}


@authority_change
def switch_halt(principal: Principal, request: HaltRequest) -> Answer:
    """Halt the installation or let it go on, as an admin. In force when this returns. Neither waits for anybody.

    Locks: authority (shared), the installation's row, then authority (exclusive) before it answers. Raises
    `CommandIdReused`, `AgentsCannotDecide`, `Forbidden`.
    """

    def act(admin: Principal) -> Answer:
        epoch = write_halt(request.on, By(admin.actor, request.reason))
        return Answer({"on": request.on, "authority_epoch": epoch})

    return once(principal, request.id, request.identity(), act)
