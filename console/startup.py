"""One run of `up`, step by step: settle the settings, lock the home, start the services, migrate, start the rest.

Owns the rule that embedded services and demo data are refused in production.
"""

import json
import os
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from django.conf import settings
from django.core import checks
from django.core.management import call_command
from django.db import DatabaseError, connections
from django.db.migrations.exceptions import InconsistentMigrationHistory

from console import binaries, demo, embedded, parts, schema
from console.binaries import Account
from console.checks import TAG
from console.home import APP_ROLE, OWNER_ROLE, Home
from console.locks import Locks
from console.management.commands.migrate import connected_as_owner
from console.supervisor import Supervisor
from runs.models import WorkflowRevision


class Unstartable(Exception):
    """The installation cannot be started like this; the text says what to do."""


class Startup:
    """What `up` was asked for, and the steps of doing it."""

    def __init__(
        self, *, home: Path, port: int | None, names: Sequence[str], demo: bool, say: Callable[[str], None]
    ) -> None:
        self._root = home.expanduser().resolve()
        self._port = port or int(given_settings().get("CLEARANCE_PORT", 8000))
        self._url = f"http://127.0.0.1:{self._port}"
        self._names = names
        self._demo = demo
        self._say = say

    def run(self) -> None:
        """Run until `StopRequested`.

        Raises `AlreadyRunning`, `PartsLeft`, `Unstartable`, and what services and parts raise that cannot start.
        """
        self._refuse_in_production()
        self._refuse_unsafe_settings()
        home = Home.open(self._root, account=self._account())
        with Locks(home.root / "locks", self._url) as locks:
            for name in self._names:
                locks.take(name)
            self._refuse_taken_ports()
            self._settle_settings(home)
            # The services of another `up` on this home serve this one as well.
            starts_services = locks.try_to_take("services")
            try:
                self._supervise(home, locks.inherited, starts_services=starts_services)
            finally:
                if starts_services:
                    home.leave()

    def _supervise(self, home: Home, inherited: Sequence[int], *, starts_services: bool) -> None:
        logs = None if settings.PRODUCTION else home.logs
        with Supervisor(logs, self._say, keep=inherited) as supervisor:
            if starts_services:
                embedded.discard_stale_lock(home)
                supervisor.start(*parts.services(home, postgres=_runs_postgres(home), valkey=_runs_valkey(home)))
            self._bring_schema(home)
            supervisor.start(*parts.application(self._names, home.root))
            supervisor.start(*(parts.demo(home.root) if self._demo else []))
            self._announce(home)
            supervisor.watch()

    # ---- before anything is started ------------------------------------------------------------------------------

    def _refuse_in_production(self) -> None:
        if not settings.PRODUCTION:
            return
        if self._demo:
            raise Unstartable("--demo makes people with known roles and is refused with CLEARANCE_ENV=production.")
        if missing := [name for name in ("DATABASE_URL", "REDIS_URL") if not os.environ.get(name)]:
            raise Unstartable(f"CLEARANCE_ENV=production starts no services of its own: set {' and '.join(missing)}.")

    def _refuse_unsafe_settings(self) -> None:
        if broken := checks.run_checks(tags=[TAG]):
            raise Unstartable("\n".join(str(message) for message in broken))

    def _account(self) -> Account | None:
        if settings.PRODUCTION:
            return None
        starts_services = not {"DATABASE_URL", "REDIS_URL"} <= given_settings().keys()
        return binaries.service_account(create=starts_services, data=self._root / "postgresql")

    def _settle_settings(self, home: Home) -> None:
        """Record where everything is, and start over if the settings were read before that was known."""
        before = dict(os.environ)
        given = given_settings()
        wanted = {
            "CLEARANCE_PORT": str(self._port),
            "SECRET_KEY": home.secrets["secret_key"],
            "DATABASE_URL": home.database_url(APP_ROLE),
            "DATABASE_OWNER_URL": home.database_url(OWNER_ROLE),
            "REDIS_URL": home.redis_url(),
        }
        if given.get("DATABASE_URL", wanted["DATABASE_URL"]) != wanted["DATABASE_URL"]:
            del wanted["DATABASE_OWNER_URL"]
        if self._demo:
            wanted["CLEARANCE_ALLOW_PRIVATE_DESTINATIONS"] = "on"
        ours = {name: value for name, value in wanted.items() if given.get(name, value) == value}
        ours["CLEARANCE_PORT"] = str(self._port)
        home.record_services(ours)
        settled = given | ours | {"CLEARANCE_HOME": str(home.root)}
        if settled != before:
            os.execve(sys.executable, [sys.executable, *sys.argv], settled)

    def _refuse_taken_ports(self) -> None:
        ports = [self._port] if "web" in self._names else []
        ports += [parts.sandbox_port(self._port)] if self._demo else []
        for port in ports:
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind(("127.0.0.1", port))
                except OSError as error:
                    raise Unstartable(f"Port {port} cannot be used ({error.strerror}). Choose with --port.") from None

    # ---- with the services running -------------------------------------------------------------------------------

    def _bring_schema(self, home: Home) -> None:
        """Migrate if needed, store the shipped workflows in a new database, and seed what the demo lacks."""
        own = _runs_postgres(home)
        if own:
            embedded.ensure_roles(home)
        elif tuple(self._names) != parts.NAMES:
            return  # where parts run apart, migrating is a step of its own
        if not (own and schema.is_current()):
            self._migrate(note=own)
        if not WorkflowRevision.objects.exists():
            shipped = sorted(str(file) for file in (settings.BASE_DIR / "runs" / "workflows").glob("*.toml"))
            call_command("workflows", "apply", *shipped)
        if self._demo:
            self._say("demo: seeding what is missing")
            demo.seed(home.root)
        connections.close_all()

    def _migrate(self, *, note: bool) -> None:
        self._say("database: migrating")
        try:
            call_command("migrate", interactive=False, verbosity=0)
        except (DatabaseError, InconsistentMigrationHistory) as error:
            raise Unstartable(f"The database cannot be migrated; its data is as it was. {error}") from error
        if note:
            with connected_as_owner("default"):
                schema.note_current()

    def _announce(self, home: Home) -> None:
        lines = [f"Clearance is running at {self._url}" if "web" in self._names else "Running."]
        if self._demo and _demo_file(home).exists():
            made = json.loads(_demo_file(home).read_text(encoding="utf-8"))
            lines += [f"  sign in as  {person['username']:<8} {person['password']}" for person in made["people"]]
            lines += [f"  agent       {made['agent']['name']:<8} {made['agent']['token']}"]
        lines += [f"  data        {home.root}"]
        lines += [] if settings.PRODUCTION else [f"  logs        {home.logs}"]
        lines += ["  backup      python manage.py backup FILE", "  stop        Ctrl-C"]
        self._say("\n".join(lines))


def given_settings() -> dict[str, str]:
    """The environment without what an earlier `up` recorded."""
    return {name: value for name, value in os.environ.items() if name not in settings.RECORDED_SETTINGS}


def _demo_file(home: Home) -> Path:
    """What the demo made, for the people who try it: 0600, written by its seed."""
    return home.root / "demo.json"


def _runs_postgres(home: Home) -> bool:
    return os.environ["DATABASE_URL"] == home.database_url(APP_ROLE)


def _runs_valkey(home: Home) -> bool:
    return os.environ["REDIS_URL"] == home.redis_url()
