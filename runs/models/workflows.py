"""Workflow definitions and policies, each as immutable numbered versions."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class WorkflowRevision(models.Model):
    """One immutable revision of a workflow definition, as its TOML text."""

    slug = models.CharField(max_length=64)
    revision = models.IntegerField()
    title = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64)
    text = models.TextField()
    stored_at = models.DateTimeField(db_default=Now(), editable=False)
    stored_by = models.CharField(max_length=170)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["slug", "revision"], name="runs_workflow_revision_once"),
            models.CheckConstraint(condition=Q(revision__gte=1), name="runs_workflow_revision_positive"),
        ]

    def __str__(self) -> str:
        return f"{self.slug} revision {self.revision}"


class PolicyVersion(models.Model):
    """One version of the policy of a workflow. The newest is in force; older ones are its history. Append-only."""

    slug = models.CharField(max_length=64)
    version = models.IntegerField()
    authority_version = models.IntegerField()
    terms = models.TextField(help_text="Canonical JSON of every term")
    actor = models.CharField(max_length=170)
    reason = models.TextField(blank=True)
    without_second_person = models.BooleanField(default=False)
    at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["slug", "version"], name="runs_policy_version_once"),
        ]

    def __str__(self) -> str:
        return f"{self.slug} policy {self.version}"
