"""What has to hold after every drill, in one list of what does not."""

import io
from collections.abc import Iterator, Sequence

from django.core.management import CommandError, call_command
from django.db.models import Count, Q

from console.drills.agreement import Ours, Theirs, disagreements
from outbox.models import Effect
from outbox.states import EffectState


def wrong(operations: Sequence[str], theirs: Sequence[Theirs]) -> Iterator[str]:
    """What must not be of these effects, in words: ledgers that differ, and what is left halfway."""
    started = Count("attempts", filter=Q(attempts__send_started_at__isnull=False))
    effects = list(Effect.objects.filter(pk__in=operations).annotate(started=started))
    yield from disagreements([_ours(row, row.started) for row in effects], theirs)
    for row in effects:
        if row.state == EffectState.DISPATCHING and not row.quarantined:
            yield f"{row.pk} is left halfway"


def unverified() -> Iterator[str]:
    """What `verify` finds, in words; of everything that is stored."""
    try:
        call_command("verify", stdout=(said := io.StringIO()))
    except CommandError as error:
        yield f"verify: {error} {said.getvalue().strip()}"


def _ours(row: Effect, started: int) -> Ours:
    return Ours(row.idempotency_key, row.state, row.payload_sha256, started, row.quarantined)
