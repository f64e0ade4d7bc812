"""What people choose for themselves, and what they were told."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from runs.models.conflicts import Escalation
from runs.models.ledger import Run
from runs.models.people import Person


class NotificationChoice(models.Model):
    """Where a person wants to be told of new cases, and since when."""

    person = models.OneToOneField(Person, on_delete=models.PROTECT, primary_key=True, related_name="notifications")
    address = models.EmailField(blank=True)
    by_email = models.BooleanField(default=False)
    since = models.DateTimeField(help_text="Cases opened before are not told")

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(by_email=False) | ~Q(address=""), name="runs_notification_has_address"),
        ]

    def __str__(self) -> str:
        return f"{self.person_id} {'by e-mail' if self.by_email else 'in the console only'}"


class Notification(models.Model):
    """That somebody is told of one escalation or one snapshot, once. `begun_at` is written before a byte leaves."""

    escalation = models.ForeignKey(
        Escalation, on_delete=models.PROTECT, null=True, db_index=False, related_name="notifications"
    )
    run = models.ForeignKey(Run, on_delete=models.PROTECT, null=True, db_index=False, related_name="+")
    snapshot = models.CharField(max_length=200, null=True, blank=True, help_text="The one of `run` to be reviewed")
    channel = models.CharField(max_length=10)
    person = models.ForeignKey(Person, on_delete=models.PROTECT, null=True, related_name="+")
    due_at = models.DateTimeField()
    begun_at = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(null=True)
    failed_count = models.IntegerField(default=0)
    last_failure = models.CharField(max_length=100, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["escalation", "snapshot", "channel", "person"],
                nulls_distinct=False,
                name="runs_notification_once",
            ),
            models.CheckConstraint(
                condition=Q(escalation__isnull=False, run=None, snapshot=None)
                | Q(escalation=None, run__isnull=False, snapshot__isnull=False),
                name="runs_notification_one_subject",
            ),
            models.CheckConstraint(condition=Q(channel__in=["email", "slack"]), name="runs_notification_channel_known"),
            models.CheckConstraint(
                condition=Q(sent_at=None) | Q(begun_at__isnull=False), name="runs_notification_sent_after_begun"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["due_at"], condition=Q(begun_at=None), name="runs_notification_due"),
        ]

    def __str__(self) -> str:
        return f"{self.channel} about {self.snapshot or self.escalation_id}"


class SavedFilter(models.Model):
    """The filters of a list under a name, for one person. Removed ones keep their row, as nothing is deleted here."""

    person = models.ForeignKey(Person, on_delete=models.PROTECT, db_index=False, related_name="saved_filters")
    screen = models.CharField(max_length=50)
    name = models.CharField(max_length=80)
    query = models.CharField(max_length=2000)
    is_removed = models.BooleanField(default=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["person", "screen", "name"], name="runs_saved_filter_once"),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.screen}"
