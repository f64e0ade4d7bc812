"""Stale commands: each as a row, counted by intent, and waiting for an operator where no rule decides."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from uuid6 import uuid7

from runs.models.ledger import Run
from runs.states import Disposition

DISPOSITIONS = [(item.value, item.value) for item in Disposition]


class Conflict(models.Model):
    """The stored record of one stale command, whatever became of it. Append-only but for erasure."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    run = models.ForeignKey(Run, on_delete=models.PROTECT, db_index=False, related_name="conflicts")
    workflow = models.CharField(max_length=64)
    revision = models.IntegerField()
    principal = models.CharField(max_length=170)
    command_id = models.CharField(max_length=200)
    name = models.CharField(max_length=100)
    intent = models.CharField(max_length=200)
    base_version = models.IntegerField()
    current_version = models.IntegerField()
    disposition = models.CharField(max_length=10, choices=DISPOSITIONS)
    rule = models.CharField(max_length=40)
    fields_touched = ArrayField(models.CharField(max_length=100), default=list)
    problem = models.TextField(help_text="The answer given, as JSON")
    base = models.TextField(null=True, help_text="Fields at the base version, as JSON")
    proposal = models.TextField(null=True, help_text="The command, as JSON")
    at = models.DateTimeField()

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["run", "-id"], name="runs_conflict_of_run"),
            models.Index(fields=["workflow", "-id"], name="runs_conflict_of_workflow"),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["run", "principal", "command_id", "base_version"],
                condition=Q(disposition="retry"),
                name="runs_conflict_retry_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.disposition} of {self.name}"


class Episode(models.Model):
    """The counted conflicts of one intent of one principal on one run."""

    pk = models.CompositePrimaryKey("run_id", "principal", "intent")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, db_index=False, related_name="episodes")
    principal = models.CharField(max_length=170)
    intent = models.CharField(max_length=200)
    counted = models.IntegerField()
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.counted} conflicts of {self.intent}"


class Escalation(models.Model):
    """An open conflict that waits for an operator, or how one was settled."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="escalations")
    conflict = models.ForeignKey(Conflict, on_delete=models.PROTECT, related_name="+")
    workflow = models.CharField(max_length=64)
    principal = models.CharField(max_length=170)
    intent = models.CharField(max_length=200)
    command_id = models.CharField(max_length=200)
    version = models.IntegerField(default=1)
    state = models.CharField(max_length=8, default="open")
    is_material = models.BooleanField(default=False)
    opened_at = models.DateTimeField()
    earlier_conflicts = ArrayField(models.UUIDField(), default=list)
    claimed_by = models.CharField(max_length=170, null=True)
    claimed_until = models.DateTimeField(null=True)
    resolution = models.TextField(null=True, help_text="Verb, by, note, command id and version, as JSON")
    settled_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(state="open", settled_at=None)
                | Q(state="settled", settled_at__isnull=False, resolution__isnull=False),
                name="runs_escalation_state_whole",
            ),
            models.UniqueConstraint(
                fields=["run", "principal", "intent"], condition=Q(state="open"), name="runs_escalation_open_once"
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["-is_material", "opened_at", "id"], condition=Q(state="open"), name="runs_escalation_queue"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.state} escalation of {self.command_id}"
