"""The outbox: effects, their attempts, and what people found out and ordered. One effect row is one outside action.

The row is the queue: state, next step and when it is due stand in it. What was authorized never changes.
"""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from uuid6 import uuid7

from approvals.models import Snapshot
from outbox.states import EffectState, Outcome, Step
from runs.models import Run

STATES = [(state.value, state.value.replace("_", " ")) for state in EffectState]
OUTCOMES = [(outcome.value, outcome.value) for outcome in Outcome]
STEPS = [(step.value, step.value) for step in Step]
OPEN = [state.value for state in EffectState if not state.is_end]


class Effect(models.Model):
    """One authorized outside action."""

    operation_id = models.CharField(primary_key=True, max_length=200)
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="effects")
    workflow = models.CharField(max_length=64)
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
    attempts_allowed = models.IntegerField()
    timeout_seconds = models.IntegerField()
    lease_seconds = models.IntegerField()
    # ---- what moves ----
    state = models.CharField(max_length=24, choices=STATES, default=EffectState.PENDING)
    version = models.IntegerField(default=1)
    fence = models.BigIntegerField(default=0)
    may_have_left = models.BooleanField(default=False)
    attempts_used = models.IntegerField(default=0)
    key_clock_started_at = models.DateTimeField(null=True, help_text="First attempt since the last did_not_happen")
    lease_owner = models.CharField(max_length=100, null=True)
    lease_expires_at = models.DateTimeField(null=True)
    next_step = models.CharField(max_length=10, choices=STEPS, default=Step.SEND)
    next_at = models.DateTimeField(null=True, help_text="When the next step is due; null when no worker takes it")
    because = models.TextField(default="authorized")
    quarantined = models.BooleanField(default=False)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(state__in=[state.value for state in EffectState]), name="outbox_effect_state_known"
            ),
            models.CheckConstraint(
                condition=Q(lease_owner=None, lease_expires_at=None)
                | Q(lease_owner__isnull=False, lease_expires_at__isnull=False, state="dispatching"),
                name="outbox_effect_lease_whole",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=["cancelled", "failed"]) | Q(may_have_left=False),
                name="outbox_effect_end_proven",
            ),
            models.UniqueConstraint(
                fields=["run"], condition=Q(compensates=None) & Q(state__in=OPEN), name="outbox_effect_one_open"
            ),
            models.UniqueConstraint(fields=["destination", "idempotency_key"], name="outbox_effect_key_once"),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["next_at", "operation_id"],
                condition=Q(next_at__isnull=False, lease_owner=None),
                name="outbox_effect_due",
            ),
            models.Index(
                fields=["lease_expires_at"], condition=Q(lease_owner__isnull=False), name="outbox_effect_leased"
            ),
            models.Index(fields=["-authorized_at", "-operation_id"], name="outbox_effect_newest"),
            models.Index(fields=["state", "-authorized_at", "-operation_id"], name="outbox_effect_in_state"),
            models.Index(fields=["destination", "-authorized_at", "-operation_id"], name="outbox_effect_to"),
        ]

    def __str__(self) -> str:
        return self.operation_id


class Attempt(models.Model):
    """One try at an effect, under one fence. Its outcome is written once; what came too late is kept beside it."""

    pk = models.CompositePrimaryKey("effect_id", "number")
    effect = models.ForeignKey(Effect, on_delete=models.PROTECT, db_index=False, related_name="attempts")
    number = models.IntegerField()
    fence = models.BigIntegerField()
    worker = models.CharField(max_length=100)
    left_before = models.BooleanField(help_text="Whether something may have left before this attempt")
    started_at = models.DateTimeField()
    send_by = models.DateTimeField(help_text="Past this the worker hands the effect back unsent")
    send_started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=12, choices=OUTCOMES, null=True)
    provider_request_id = models.CharField(max_length=200, null=True)
    http_status = models.IntegerField(null=True)
    detail = models.TextField(blank=True)
    response = models.BinaryField(null=True, help_text="The first bytes of what came back")
    late = models.TextField(null=True, help_text="A result that came after the fence had moved, as JSON")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["effect", "fence"], name="outbox_attempt_fence_once"),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.effect_id}"


class Lookup(models.Model):
    """What a provider answered when asked whether it knows a key. Append-only."""

    id = models.BigAutoField(primary_key=True)
    effect = models.ForeignKey(Effect, on_delete=models.PROTECT, related_name="lookups")
    actor = models.CharField(max_length=170)
    command_id = models.CharField(max_length=200, null=True, help_text="The id under which a person asked")
    at = models.DateTimeField()
    answer = models.CharField(max_length=12)
    provider_request_id = models.CharField(max_length=200, null=True)
    http_status = models.IntegerField(null=True)
    detail = models.TextField(blank=True)
    proves = models.BooleanField(help_text="Whether the answer settles anything")

    def __str__(self) -> str:
        return f"{self.answer} for {self.effect_id}"


class Verdict(models.Model):
    """A person's finding on an unknown outcome, with evidence. Append-only."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    effect = models.ForeignKey(Effect, on_delete=models.PROTECT, related_name="verdicts")
    verdict = models.CharField(max_length=16)
    evidence = models.TextField()
    provider_request_id = models.CharField(max_length=200, null=True)
    reason = models.TextField()
    by = models.CharField(max_length=170)
    confirmed_by = models.CharField(max_length=170, null=True)
    effect_version = models.IntegerField()
    without_second_person = models.BooleanField(default=False)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.verdict} of {self.effect_id}"


class Repair(models.Model):
    """What an admin ordered after a finding: resend, mark failed, or release from quarantine. Append-only."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    effect = models.ForeignKey(Effect, on_delete=models.PROTECT, related_name="repairs")
    repair = models.CharField(max_length=12)
    reason = models.TextField()
    by = models.CharField(max_length=170)
    confirmed_by = models.CharField(max_length=170, null=True)
    effect_version = models.IntegerField()
    without_second_person = models.BooleanField(default=False)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.repair} of {self.effect_id}"


class Remediation(models.Model):
    """An open task after a send that should not stand."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    effect = models.ForeignKey(Effect, on_delete=models.PROTECT, related_name="remediations")
    because = models.TextField()
    state = models.CharField(max_length=5, default="open")
    opened_by = models.CharField(max_length=170)
    opened_at = models.DateTimeField()
    done_at = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["opened_at", "id"], condition=Q(state="open"), name="outbox_remediation_open"),
        ]

    def __str__(self) -> str:
        return f"remediation of {self.effect_id}"


class RemediationStep(models.Model):
    """One step of a remediation, with evidence. Append-only."""

    id = models.BigAutoField(primary_key=True)
    remediation = models.ForeignKey(Remediation, on_delete=models.PROTECT, related_name="steps")
    step = models.CharField(max_length=20)
    evidence = models.TextField(blank=True)
    reason = models.TextField()
    by = models.CharField(max_length=170)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.step} of {self.remediation_id}"


class DestinationPause(models.Model):
    """Until when a destination that throttled us is left alone."""

    destination = models.CharField(primary_key=True, max_length=100)
    until = models.DateTimeField()
    because = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"{self.destination} until {self.until}"


class RepairPlan(models.Model):
    """A bulk repair as it was planned: what it would do to each effect, on which version. Append-only."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    repair = models.CharField(max_length=12)
    reason = models.TextField()
    evidence = ArrayField(models.TextField(), default=list)
    rows = models.TextField(help_text="Per effect: version and what was planned, as JSON")
    by = models.CharField(max_length=170)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"plan to {self.repair}"
