"""The tables of this app. Rules live in pure code and actions; the database refuses the rest by the guards in `sql/`.

Canonical JSON is kept as text or bytes, never as jsonb, which would change it. A workflow is named by slug and
revision, a principal by its actor name.
"""

from runs.models.choices import Notification, NotificationChoice, SavedFilter
from runs.models.conflicts import Conflict, Episode, Escalation
from runs.models.ledger import Command, FullTransactionId, LedgerEntry, Request, Run
from runs.models.people import Agent, AuthorityChange, Installation, Person, PersonManager
from runs.models.waiting import WaitingStep
from runs.models.workflows import PolicyVersion, WorkflowRevision

__all__ = [
    "Agent",
    "AuthorityChange",
    "Command",
    "Conflict",
    "Episode",
    "Escalation",
    "FullTransactionId",
    "Installation",
    "LedgerEntry",
    "Notification",
    "NotificationChoice",
    "Person",
    "PersonManager",
    "PolicyVersion",
    "Request",
    "Run",
    "SavedFilter",
    "WaitingStep",
    "WorkflowRevision",
]
