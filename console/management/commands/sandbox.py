"""`manage.py sandbox`: run the sandbox provider in the foreground."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from console import sandbox


class Command(BaseCommand):
    help = "Runs the sandbox provider that the demo, tests and drills send to. Ctrl-C stops it."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8901)
        parser.add_argument("--ledger", type=Path, help="an append-only file that survives restarts")

    def handle(self, *args: Any, port: int, ledger: Path | None, **options: Any) -> None:
        server = sandbox.serve(port, ledger)
        self.stdout.write(f"sandbox provider on http://127.0.0.1:{server.server_address[1]}")
        self.stdout.flush()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass
        finally:
            server.server_close()
