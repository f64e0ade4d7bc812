"""The tables of review: contents, artifacts, destinations, snapshots, decisions, standing approvals, what was shown.

All but a few named columns are append-only: the guards in `sql/` and the rights of the application's role
see to it.
"""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from uuid6 import uuid7

from approvals.adapters import ABILITIES
from runs.models import Person, Run

VERDICTS = [("approve", "approve"), ("deny", "deny")]
CONTRACTS = [("exact", "exact"), ("until_changed", "until changed")]


class Content(models.Model):
    """Bytes by their hash: in the row up to 1 MiB, else in file storage under their hash."""

    sha256 = models.CharField(primary_key=True, max_length=71)
    size = models.BigIntegerField()
    body = models.BinaryField(null=True)
    in_storage = models.BooleanField(default=False)
    erased_at = models.DateTimeField(null=True)
    stored_at = models.DateTimeField(db_default=Now(), editable=False)

    def __str__(self) -> str:
        return self.sha256


class Artifact(models.Model):
    """The immutable output of one worker for one slot of a run."""

    id = models.CharField(primary_key=True, max_length=200)
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="artifacts")
    slot = models.CharField(max_length=64)
    input_version = models.IntegerField()
    number = models.IntegerField(help_text="1 for a, 2 for b, …")
    media_type = models.CharField(max_length=100)
    content = models.ForeignKey(Content, on_delete=models.PROTECT, related_name="+")
    sources = ArrayField(models.TextField(), default=list)
    author = models.CharField(max_length=170)
    author_person_id = models.BigIntegerField(help_text="The author, or the owner of the agent that is")
    at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["run", "slot", "input_version", "number"], name="approvals_artifact_number_once"
            ),
            models.UniqueConstraint(
                fields=["run", "slot", "input_version", "content"], name="approvals_artifact_content_once"
            ),
        ]

    def __str__(self) -> str:
        return self.id


class DestinationRevision(models.Model):
    """One immutable revision of a place effects go to, and what the provider there can do."""

    name = models.CharField(max_length=100)
    revision = models.IntegerField()
    adapter = models.CharField(max_length=20, choices=[(name, name) for name in ABILITIES])
    url = models.TextField()
    lookup_url = models.TextField(blank=True)
    cancel_url = models.TextField(blank=True)
    recognises_repeats = models.BooleanField(default=False)
    key_retention_seconds = models.IntegerField(null=True)
    compares_payloads = models.BooleanField(default=False)
    settle_after_seconds = models.IntegerField(default=600)
    unavailable_means_throttled = models.BooleanField(default=False)
    max_in_flight = models.IntegerField(default=4)
    signing_secret_env = models.CharField(
        max_length=100, blank=True, help_text="Name of the variable; never the secret"
    )
    actor = models.CharField(max_length=170)
    reason = models.TextField(blank=True)
    without_second_person = models.BooleanField(default=False)
    at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["name", "revision"], name="approvals_destination_revision_once"),
        ]

    def __str__(self) -> str:
        return f"{self.name} revision {self.revision}"


class Snapshot(models.Model):
    """The frozen manifest and payload under review. Nothing in it ever changes but an erased payload."""

    id = models.CharField(primary_key=True, max_length=200)
    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="snapshots")
    run_version = models.IntegerField()
    candidate = models.IntegerField()
    action = models.CharField(max_length=64)
    contract = models.CharField(max_length=20, choices=CONTRACTS)
    manifest = models.BinaryField()
    manifest_sha256 = models.CharField(max_length=71)
    payload = models.BinaryField(null=True)
    payload_sha256 = models.CharField(max_length=71)
    facts_sha256 = models.CharField(max_length=71)
    destination = models.CharField(max_length=100)
    destination_revision = models.IntegerField()
    sentence = models.TextField()
    compensates = models.CharField(max_length=200, null=True)
    proposed_by = models.CharField(max_length=170)
    parts = models.TextField(help_text="Who took part in it, as JSON: they may not approve")
    authority_version = models.IntegerField()
    frozen_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "candidate"], name="approvals_snapshot_candidate_once"),
            models.UniqueConstraint(fields=["id", "manifest_sha256"], name="approvals_snapshot_manifest"),
        ]

    def __str__(self) -> str:
        return self.id


class StandingApproval(models.Model):
    """An approval given in advance, for a number of uses within limits; spent by one conditional update."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    giver = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="+")
    workflow = models.CharField(max_length=64)
    action = models.CharField(max_length=64)
    currency = models.CharField(max_length=3)
    limit = models.DecimalField(max_digits=14, decimal_places=2, help_text="Per use")
    total = models.DecimalField(max_digits=14, decimal_places=2)
    uses = models.IntegerField()
    used = models.IntegerField(default=0)
    spent = models.DecimalField(max_digits=14, decimal_places=2, default=0)
    authority_version = models.IntegerField()
    ledger_epoch = models.IntegerField()
    reason = models.TextField()
    given_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    revoked_by = models.CharField(max_length=170, null=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(used__lte=models.F("uses")), name="approvals_standing_uses"),
            models.CheckConstraint(condition=Q(spent__lte=models.F("total")), name="approvals_standing_total"),
        ]

    def __str__(self) -> str:
        return f"{self.giver} for {self.action} of {self.workflow}"


class Decision(models.Model):
    """A person's answer to one snapshot id **and** manifest hash. Its revocation and its spending come later, once."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    snapshot = models.ForeignKey(Snapshot, on_delete=models.PROTECT, related_name="decisions")
    manifest_sha256 = models.CharField(max_length=71)
    run = models.ForeignKey(Run, on_delete=models.PROTECT, db_index=False, related_name="+")
    verdict = models.CharField(max_length=8, choices=VERDICTS)
    person = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="decisions")
    standing_approval = models.ForeignKey(
        StandingApproval, on_delete=models.PROTECT, null=True, related_name="decisions"
    )
    run_version = models.IntegerField()
    authority_version = models.IntegerField()
    ledger_epoch = models.IntegerField()
    seq = models.IntegerField(help_text="The ledger entry that tells it")
    reason = models.TextField(blank=True)
    decided_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    revoked_by = models.CharField(max_length=170, null=True)
    revoked_seq = models.IntegerField(null=True)
    spent_by = models.CharField(max_length=200, null=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(revoked_at=None, revoked_by=None, revoked_seq=None)
                | Q(revoked_at__isnull=False, revoked_by__isnull=False, revoked_seq__isnull=False),
                name="approvals_decision_revocation_whole",
            ),
            models.CheckConstraint(
                condition=Q(verdict="approve") | Q(spent_by=None, revoked_at=None), name="approvals_decision_deny_final"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.verdict} of {self.snapshot_id}"


class Shown(models.Model):
    """That a person was shown a snapshot: who, which hash, when first and last."""

    pk = models.CompositePrimaryKey("snapshot_id", "person_id")
    snapshot = models.ForeignKey(Snapshot, on_delete=models.PROTECT, db_index=False, related_name="shown")
    person = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="+")
    manifest_sha256 = models.CharField(max_length=71)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "shown"

    def __str__(self) -> str:
        return f"{self.snapshot_id} to {self.person_id}"
