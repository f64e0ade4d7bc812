"""The outbox: effects. One row is one outside action; the row is the queue."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from approvals.models import Snapshot
from outbox.states import EffectState
from runs.models import Run

STATES = [(state.value, state.value.replace("_", " ")) for state in EffectState]


class Effect(models.Model):
    """One authorized outside action. What was frozen never changes; its state moves along the legal steps."""

    operation_id = models.CharField(primary_key=True, max_length=200)
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="effects")
    snapshot = models.OneToOneField(Snapshot, on_delete=models.PROTECT, related_name="effect")
    action = models.CharField(max_length=64)
    compensates = models.CharField(max_length=200, null=True)
    manifest_sha256 = models.CharField(max_length=71)
    payload_sha256 = models.CharField(max_length=71)
    destination = models.CharField(max_length=100)
    destination_revision = models.IntegerField()
    idempotency_key = models.CharField(max_length=200)
    authorized_version = models.IntegerField(help_text="The run version that authorized it")
    authorized_seq = models.IntegerField(help_text="The ledger entry that authorized it")
    authorized_by = models.CharField(max_length=170)
    authorized_at = models.DateTimeField()
    ledger_epoch = models.IntegerField()
    approvals = ArrayField(models.UUIDField())
    state = models.CharField(max_length=24, choices=STATES, default=EffectState.PENDING)
    version = models.IntegerField(default=1)
    fence = models.BigIntegerField(default=0)
    may_have_left = models.BooleanField(default=False)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(state__in=[state.value for state in EffectState]), name="outbox_effect_state_known"
            ),
            models.UniqueConstraint(
                fields=["run"],
                condition=Q(compensates=None) & Q(state__in=["pending", "dispatching", "needs_reconciliation"]),
                name="outbox_effect_one_open",
            ),
            models.UniqueConstraint(fields=["destination", "idempotency_key"], name="outbox_effect_key_once"),
        ]

    def __str__(self) -> str:
        return self.operation_id
