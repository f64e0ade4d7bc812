"""Every kind of step that waits for a second admin. Each app brings its own; the console is where all are known."""

from approvals.registering import KINDS as DESTINATIONS
from outbox.findings import WAITING_KINDS as EFFECTS
from runs.confirmations import Kinds
from runs.people import KINDS as PEOPLE
from runs.policies import KINDS as POLICIES

KINDS: Kinds = {**POLICIES, **PEOPLE, **DESTINATIONS, **EFFECTS}
