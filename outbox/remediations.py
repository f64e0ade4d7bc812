"""Remediations: open tasks after a send that should not stand. Nothing is ever called unsent."""

from datetime import datetime

from uuid6 import uuid7

from outbox.models import Effect, Remediation
from runs import store
from runs.values import NewEntry


def open_remediation(
    effect: Effect, because: str, actor: str, now: datetime, command_id: str | None = None
) -> Remediation:
    """Open a remediation with its ledger entry. Needs an open transaction that holds the run's lock."""
    run = store.read_by_id(effect.run_id)
    number = uuid7()
    body = {"effect": effect.operation_id, "remediation": f"rm-{number.hex}", "because": because}
    entry = NewEntry("remediation.opened", actor, command_id, body, run.version)
    store.require_step(run, run, [entry], None, now)
    return Remediation.objects.create(id=number, effect_id=effect.pk, because=because, opened_by=actor, opened_at=now)
