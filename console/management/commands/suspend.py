"""`manage.py suspend person|agent|workflow NAME`: in force when it returns."""

from console.management.suspending import SuspendingCommand


class Command(SuspendingCommand):
    help = "Suspend a person, an agent or a workflow. In force when this returns."
    suspends = True
