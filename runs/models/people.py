"""Who acts: people, agents, and the one row about the whole installation."""

from typing import ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from runs.states import Role

ROLES = [(role.value, role.value) for role in Role]


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
