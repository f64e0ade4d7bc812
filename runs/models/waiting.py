"""What waits for a second person."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from uuid6 import uuid7

from runs.models.people import Person


class WaitingStep(models.Model):
    """What one admin asked for and another has to confirm: which action, on what, based on which version of it."""

    id = models.UUIDField(primary_key=True, default=uuid7)
    kind = models.CharField(max_length=50)
    subject = models.CharField(max_length=200)
    arguments = models.TextField(help_text="Canonical JSON")
    based_on = models.CharField(max_length=200, help_text="The version of the subject it was asked for")
    because = models.TextField(help_text="Why it waits, in words")
    reason = models.TextField()
    secret = models.TextField(blank=True, help_text="The hash of a new password; empty once settled")
    proposed_by = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="+")
    proposed_at = models.DateTimeField(db_default=Now(), editable=False)
    state = models.CharField(max_length=10, default="open")
    settled_by = models.CharField(max_length=170, blank=True)
    settled_by_person = models.ForeignKey(Person, on_delete=models.PROTECT, null=True, related_name="+")
    settled_reason = models.TextField(blank=True)
    settled_at = models.DateTimeField(null=True)
    without_second_person = models.BooleanField(default=False)
    result = models.TextField(null=True, help_text="What confirming it made, as JSON")

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["id"], condition=Q(state="open"), name="runs_waiting_open"),
        ]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(state="open", settled_at=None, settled_by="", result=None, without_second_person=False)
                | Q(state__in=["confirmed", "withdrawn", "void"], settled_at__isnull=False, secret=""),
                name="runs_waiting_state_whole",
            ),
            models.CheckConstraint(
                condition=~Q(state="confirmed")
                | Q(without_second_person=True, settled_by_person=None)
                | Q(settled_by_person__isnull=False) & ~Q(settled_by_person=models.F("proposed_by")),
                name="runs_waiting_second_person",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.state} {self.kind} of {self.subject}"
