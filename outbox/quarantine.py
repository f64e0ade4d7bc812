"""After a restore the database is older than the world: nothing in it may be sent until a person has looked.

What the installation noted outside its database (ledger epoch, identity of the server) is compared before any
claim. A difference means that the database was put back in some way: everything halts and is quarantined.
"""

import os
from pathlib import Path
from tempfile import NamedTemporaryFile

from django.conf import settings

from outbox.following import Fact, Movement, move
from outbox.models import Effect
from outbox.states import ENDS, EffectState, Step
from runs import store
from runs.administration import By, set_halt
from runs.errors import Unavailable
from runs.locks import hold_run
from runs.models import Installation
from runs.transactions import durable, fetch_row

EPOCH_FILE = "ledger_epoch"
IDENTITY_FILE = "database_identity"

WATCH = By("system:watch", "The database is not the one that this installation noted: it was put back in some way.")

_IDENTITY = """
SELECT s.system_identifier::text || ':' || c.timeline_id::text FROM pg_control_system() s, pg_control_checkpoint() c
"""


def may_claim() -> bool:
    """Whether the database is the one that was noted. If it is not: halt, quarantine, and say no.

    What was never noted is noted now.
    """
    return all([_is_noted(EPOCH_FILE, str(_ledger_epoch())), _is_noted(IDENTITY_FILE, _identity())]) or _stop()


def _ledger_epoch() -> int:
    return Installation.objects.values_list("ledger_epoch", flat=True).get(id=1)


@durable
def _identity() -> str:
    (identity,) = fetch_row(_IDENTITY)
    return str(identity)


def _is_noted(name: str, value: str) -> bool:
    file: Path = settings.CLEARANCE_HOME / name
    if not file.exists():
        note(name, value)
    return file.read_text(encoding="ascii").strip() == value


def note(name: str, value: str) -> None:
    """Write down outside the database what it should say: whoever reads finds the old note or the new one, whole."""
    home: Path = settings.CLEARANCE_HOME
    home.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile("w", encoding="ascii", dir=home, prefix=f".{name}.", delete=False) as draft:
        draft.write(f"{value}\n")
        draft.flush()
        os.fsync(draft.fileno())
    os.replace(draft.name, home / name)


def note_database() -> None:
    """Note the database as it is now, so that claims go on from here."""
    note(EPOCH_FILE, str(_ledger_epoch()))
    note(IDENTITY_FILE, _identity())


def _stop() -> bool:
    """Halt and quarantine, once: while the halt is on nothing is claimed anyway."""
    if not Installation.objects.get(id=1).is_halted:
        set_halt(True, WATCH)
        quarantine_all(WATCH)
    return False


def quarantine_all(by: By) -> int:
    """Quarantine every effect that is not at an end. Returns how many. Running it twice changes nothing more.

    One whose run somebody holds for too long keeps none of the others out; at the end it raises `Unavailable`.
    """
    open_ones = Effect.objects.exclude(state__in=[state.value for state in ENDS]).filter(quarantined=False)
    count, missed = 0, []
    for number in list(open_ones.order_by("pk").values_list("pk", flat=True)):
        try:
            count += _quarantine(number, by)
        except Unavailable:
            missed.append(number)
    if missed:
        raise Unavailable(f"{count} effects are in quarantine; not yet: {', '.join(missed)}.")
    return count


@durable
def _quarantine(operation_id: str, by: By) -> bool:
    """Take one effect out of every queue, and its lease from whoever holds it. Locks: the run."""
    hold_run(Effect.objects.values_list("run__key", flat=True).get(pk=operation_id))
    effect = Effect.objects.select_related("run").get(pk=operation_id)
    if effect.quarantined or EffectState(effect.state).is_end:
        return False
    found = store.read(effect.run.key)
    assert found.run is not None
    columns = {"quarantined": True, "lease_owner": None, "lease_expires_at": None, "fence": effect.fence + 1}
    because = "quarantined: an admin releases it"
    movement = Movement(EffectState(effect.state), Step(effect.next_step), None, because, columns)
    fact = Fact("quarantine.set", {"because": by.reason})
    move(effect, found.run, movement, [fact], actor=by.actor, now=found.now)
    return True
