"""`manage.py unsuspend person|agent|workflow NAME`: in force when it returns."""

from console.management.suspending import SuspendingCommand


class Command(SuspendingCommand):
    help = "End the suspension of a person, an agent or a workflow. In force when this returns."
    suspends = False
