"""The tables of this app. Rules live in pure code and actions; the database refuses the rest by the guards in `sql/`.

Hot tables (run, ledger entry, command, conflict) hold no foreign key to shared rows: a workflow is named by
slug and revision, a principal by its actor name. Canonical JSON is kept as text or bytes, never as jsonb,
which would change it.
"""

from typing import ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from uuid6 import uuid7

from runs.states import Disposition, Role, RunStatus

ROLES = [(role.value, role.value) for role in Role]
STATUSES = [(status.value, status.value.replace("_", " ")) for status in RunStatus]
COMMAND_STATES = ["committed", "merged", "unchanged", "rejected", "retry", "escalated", "superseded", "done"]
DISPOSITIONS = [(item.value, item.value) for item in Disposition]


class FullTransactionId(models.Field):  # type: ignore[type-arg]  # neither value of the stub's pair is a Python type of ours
    """PostgreSQL's `xid8`: the number of a transaction, never reused within a cluster."""

    def db_type(self, connection: object) -> str:
        return "xid8"


# ---- who acts --------------------------------------------------------------------------------------------


class PersonManager(BaseUserManager["Person"]):
    """Look-up by username. People are made by `authority.create_person` alone."""


class Person(AbstractBaseUser):
    """A person: signs in, holds roles, belongs to the groups that policies name."""

    username = models.CharField(max_length=150, unique=True)
    email = models.EmailField(blank=True)
    roles = ArrayField(models.CharField(max_length=20, choices=ROLES), default=list, blank=True)
    workflow_groups = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    USERNAME_FIELD = "username"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    objects = PersonManager()

    class Meta:
        verbose_name_plural = "people"
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(roles__contained_by=[role.value for role in Role]), name="runs_person_roles_known"
            ),
            models.CheckConstraint(
                condition=Q(username__regex=r"^[A-Za-z0-9][A-Za-z0-9@.+_-]*$"), name="runs_person_name_form"
            ),
        ]

    def __str__(self) -> str:
        return self.username

    def get_full_name(self) -> str:
        return self.username

    def get_short_name(self) -> str:
        return self.username

    @property
    def is_staff(self) -> bool:
        """Admins and auditors may look at the read-only admin site."""
        return self.is_active and bool({Role.ADMIN, Role.AUDITOR} & set(self.roles))

    is_superuser = False

    def has_perm(self, perm: str, obj: object = None) -> bool:
        """The admin site shows everything to those who may enter it and changes nothing."""
        return self.is_staff and perm.rpartition(".")[2].startswith("view_")

    def has_module_perms(self, app_label: str) -> bool:
        return self.is_staff


class Agent(models.Model):
    """A program that acts through the API. Its token is stored hashed and shown once."""

    name = models.CharField(max_length=100, unique=True)
    owner = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="agents")
    token_sha256 = models.CharField(max_length=64, unique=True)
    token_prefix = models.CharField(max_length=16)
    scopes = ArrayField(models.CharField(max_length=100), default=list)
    workflows = ArrayField(models.CharField(max_length=64), default=list)
    grants = ArrayField(models.CharField(max_length=150), default=list, help_text="People it may act for")
    expires_at = models.DateTimeField(null=True, blank=True)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(name__regex=r"^[A-Za-z0-9][A-Za-z0-9._-]*$"), name="runs_agent_name_form"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Installation(models.Model):
    """The one row about the whole installation: authority epoch, ledger epoch, halt."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    authority_epoch = models.BigIntegerField(default=1)
    ledger_epoch = models.IntegerField(default=1)
    is_halted = models.BooleanField(default=False)
    halted_by = models.CharField(max_length=170, blank=True)
    halted_at = models.DateTimeField(null=True, blank=True)
    halt_reason = models.TextField(blank=True)

    class Meta:
        constraints: ClassVar = [models.CheckConstraint(condition=Q(id=1), name="runs_installation_single")]

    def __str__(self) -> str:
        return f"ledger epoch {self.ledger_epoch}, authority epoch {self.authority_epoch}"


class AuthorityChange(models.Model):
    """What was changed about anybody's authority, by whom and why. Append-only."""

    epoch = models.BigIntegerField(db_index=True)
    kind = models.CharField(max_length=50)
    subject = models.CharField(max_length=200)
    actor = models.CharField(max_length=170)
    reason = models.TextField(blank=True)
    body = models.TextField(default="{}")
    without_second_person = models.BooleanField(default=False)
    at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        ordering: ClassVar = ["-id"]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"


# ---- workflows -------------------------------------------------------------------------------------------


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


# ---- runs and their ledger -------------------------------------------------------------------------------


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
    answer = models.TextField()
    at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{self.name} {self.request_id}"


# ---- conflicts -------------------------------------------------------------------------------------------


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


# ---- what waits for a second person ----------------------------------------------------------------------


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


# ---- what people choose for themselves -------------------------------------------------------------------


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
    """That somebody is told of one escalation, once. `begun_at` is written before the first byte leaves."""

    escalation = models.ForeignKey(Escalation, on_delete=models.PROTECT, db_index=False, related_name="notifications")
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
                fields=["escalation", "channel", "person"], nulls_distinct=False, name="runs_notification_once"
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
        return f"{self.channel} about {self.escalation_id}"


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
