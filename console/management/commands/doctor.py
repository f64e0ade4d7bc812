"""`manage.py doctor`: examines the installation and says what to do."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from console.diagnosis import Level, examine


class Command(BaseCommand):
    help = "Examine everything that can be wrong with this installation, and say what to do."
    requires_system_checks = ()

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Print one line per finding; exit code 1 if something is to be mended."""
        faults = 0
        for finding in examine():
            faults += finding.level is Level.FAULT
            self.stdout.write(f"{finding.level.value:<6} {finding.subject}: {finding.text}")
            if finding.remedy:
                self.stdout.write(f"       → {finding.remedy}")
        if faults:
            raise CommandError(f"{faults} to be mended.")
        self.stdout.write("Nothing is to be mended.")
