"""Runs, their ledger, and what every id stands for. Hot tables hold no foreign key to shared rows."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from runs.states import RunStatus

STATUSES = [(status.value, status.value.replace("_", " ")) for status in RunStatus]
COMMAND_STATES = ["committed", "merged", "unchanged", "rejected", "retry", "escalated", "superseded", "done"]


class FullTransactionId(models.Field):  # type: ignore[type-arg]  # neither value of the stub's pair is a Python type of ours
    """PostgreSQL's `xid8`: the number of a transaction, never reused within a cluster."""

    def db_type(self, connection: object) -> str:
        return "xid8"


class Run(models.Model):
    """One business record under control. Changed only by `store`, never by `save()`."""

    key = models.CharField(max_length=64, unique=True)
    workflow = models.CharField(max_length=64)
    revision = models.IntegerField()
    status = models.CharField(max_length=24, choices=STATUSES)
    version = models.IntegerField()
    input_version = models.IntegerField()
    head_seq = models.IntegerField()
    head_hash = models.CharField(max_length=64)
    feed_xid = FullTransactionId()
    fields = models.TextField(help_text="Canonical JSON")
    active_snapshot = models.CharField(max_length=200, null=True, blank=True)
    consent_contract = models.CharField(max_length=20, null=True, blank=True)
    consent_facts = ArrayField(models.CharField(max_length=100), null=True, blank=True)
    held = models.TextField(null=True, blank=True, help_text="What open escalations hold, as JSON")
    candidate_count = models.IntegerField(default=0)
    effect = models.CharField(max_length=200, null=True, blank=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    cycle_started_at = models.DateTimeField()

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["workflow", "-id"], name="runs_run_of_workflow"),
            models.Index(fields=["status", "-id"], name="runs_run_in_status"),
            models.Index(fields=["workflow"], condition=Q(active_snapshot__isnull=False), name="runs_run_under_review"),
        ]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(key__regex=r"^[A-Za-z0-9._-]{1,64}$"), name="runs_run_key_form"),
            models.CheckConstraint(condition=Q(version__gte=1), name="runs_run_version_positive"),
            models.CheckConstraint(
                condition=Q(status__in=[status.value for status in RunStatus]), name="runs_run_status_known"
            ),
            models.CheckConstraint(
                condition=Q(active_snapshot=None, consent_contract=None, consent_facts=None)
                | Q(active_snapshot__isnull=False, consent_contract__isnull=False, consent_facts__isnull=False),
                name="runs_run_review_whole",
            ),
        ]

    def __str__(self) -> str:
        return self.key


class LedgerEntry(models.Model):
    """One link of a run's gapless, hash-chained ledger. Append-only; a body can be erased, its hash never."""

    pk = models.CompositePrimaryKey("run_id", "seq")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, db_constraint=False, db_index=False, related_name="ledger")
    seq = models.IntegerField()
    version = models.IntegerField()
    kind = models.CharField(max_length=40)
    actor = models.CharField(max_length=170)
    command_id = models.CharField(max_length=200, null=True)
    at = models.DateTimeField()
    touched = ArrayField(models.CharField(max_length=100), default=list)
    body = models.BinaryField(null=True)
    body_sha256 = models.CharField(max_length=71)
    prev_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)
    feed_xid = FullTransactionId()

    class Meta:
        verbose_name_plural = "ledger entries"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "seq", "version"], name="runs_ledger_seq_version"),
            models.CheckConstraint(condition=Q(seq__gte=1), name="runs_ledger_seq_positive"),
        ]
        indexes: ClassVar = [models.Index(fields=["feed_xid", "run", "seq"], name="runs_ledger_feed")]

    def __str__(self) -> str:
        return f"{self.kind} at {self.version}"


class Command(models.Model):
    """What became of one id of one principal on one run: the request's hash and the recorded answer."""

    pk = models.CompositePrimaryKey("run_id", "principal", "command_id")
    run = models.ForeignKey(Run, on_delete=models.PROTECT, db_constraint=False, db_index=False, related_name="commands")
    principal = models.CharField(max_length=170)
    command_id = models.CharField(max_length=200)
    name = models.CharField(max_length=100)
    request_sha256 = models.CharField(max_length=64)
    state = models.CharField(max_length=12)
    answer = models.TextField(help_text="The recorded answer, as JSON")
    resolution = models.TextField(null=True)
    seq = models.IntegerField(null=True, help_text="The ledger entry that tells it")
    at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(
                    state__in=[
                        "committed",
                        "merged",
                        "unchanged",
                        "rejected",
                        "retry",
                        "escalated",
                        "superseded",
                        "done",
                    ]
                ),
                name="runs_command_state_known",
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.command_id}"


class Request(models.Model):
    """What became of one id of one principal where there is no run: its hash and the recorded answer."""

    pk = models.CompositePrimaryKey("principal", "request_id")
    principal = models.CharField(max_length=170)
    request_id = models.CharField(max_length=200)
    name = models.CharField(max_length=100)
    request_sha256 = models.CharField(max_length=64)
    evidence = ArrayField(models.TextField(), default=list, help_text="References that were given with it")
    answer = models.TextField()
    at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{self.name} {self.request_id}"
