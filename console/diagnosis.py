"""What can be wrong with an installation, each examined on its own, with what to do about it.

Only looks: nothing is changed, and a fault in one place does not keep the others from being examined.
"""

import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import redis
from django.conf import settings
from django.core import checks
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from console import binaries, parts
from outbox import pulse
from runs.models import Installation

LOWEST_POSTGRES = 150_000
LOW_DISK_BYTES = 1_000_000_000


class Level(Enum):
    """How a finding weighs: fine, worth knowing, or to be mended."""

    OK = "ok"
    NOTE = "note"
    FAULT = "FAULT"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was examined; a note or a fault has a remedy."""

    level: Level
    subject: str
    text: str
    remedy: str = ""


def examine() -> Iterator[Finding]:
    """Examine everything, in the order in which a fault explains the ones after it."""
    yield from _settings()
    yield from _home()
    yield from _database()
    yield from _broker()
    yield from _processes()
    yield from _installation()
    yield from _programs()


def _settings() -> Iterator[Finding]:
    messages = checks.run_checks(include_deployment_checks=settings.PRODUCTION)
    for message in messages:
        level = Level.FAULT if message.is_serious() else Level.NOTE
        yield Finding(level, "settings", message.msg, message.hint or "")
    if not messages:
        yield Finding(Level.OK, "settings", f"{settings.CLEARANCE_ENV}; every start-up check holds")


def _home() -> Iterator[Finding]:
    home: Path = settings.CLEARANCE_HOME
    if not home.is_dir():
        yield Finding(Level.FAULT, "home", f"{home} does not exist", "Run manage.py up, or name it in CLEARANCE_HOME.")
        return
    for name, allowed in (("", 0o711), ("secrets.json", 0o600), ("services.env", 0o600), ("demo.json", 0o600)):
        path = home / name
        if path.exists() and (mode := stat.S_IMODE(path.stat().st_mode)) & ~allowed:
            yield Finding(Level.FAULT, "home", f"{path} has mode {mode:o}", f"chmod {allowed:o} {path}")
    free = shutil.disk_usage(home).free
    if free < LOW_DISK_BYTES:
        yield Finding(Level.FAULT, "home", f"{free // 10**6} MB are free", f"Make room on the disk of {home}.")
    yield Finding(Level.OK, "home", str(home))


def _database() -> Iterator[Finding]:
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT current_setting('server_version_num')::int, current_setting('server_version'), current_user,"
                " (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)"
            )
            number, version, role, is_superuser = cursor.fetchone()
        plan = _unapplied_migrations()
    except DatabaseError as error:
        reason = str(error).strip().splitlines()[0]
        yield Finding(Level.FAULT, "database", reason, "Run manage.py up, or name a reachable server in DATABASE_URL.")
        return
    yield Finding(Level.OK, "database", f"PostgreSQL {version} as {role}")
    if number < LOWEST_POSTGRES:
        yield Finding(Level.FAULT, "database", "PostgreSQL 15 is the oldest that is supported", "Use a newer server.")
    if is_superuser:
        yield Finding(
            Level.FAULT,
            "database",
            f"{role} is a superuser, whom no guard holds",
            "Use an ordinary role in DATABASE_URL.",
        )
    if settings.APP_DATABASE_ROLE == settings.OWNER_DATABASE_ROLE:
        yield Finding(
            Level.NOTE,
            "database",
            "the application owns its tables: the database cannot refuse it a changed ledger or a switched-off guard",
            "Give a second role in DATABASE_URL, and the owner in DATABASE_OWNER_URL.",
        )
    if plan:
        yield Finding(Level.FAULT, "database", f"{plan} migrations are not applied", "Run manage.py migrate.")


def _unapplied_migrations() -> int:
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def _broker() -> Iterator[Finding]:
    client = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2, socket_connect_timeout=2)
    try:
        version = client.info("server")
        policy = client.info("memory").get("maxmemory_policy")
    except redis.RedisError as error:
        yield Finding(Level.FAULT, "broker", str(error), "Run manage.py up, or name a reachable server in REDIS_URL.")
        return
    finally:
        client.close()
    yield Finding(Level.OK, "broker", f"Valkey or Redis {version.get('valkey_version') or version['redis_version']}")
    if policy != "noeviction":
        yield Finding(
            Level.FAULT, "broker", f"it drops messages when full ({policy})", "Set maxmemory-policy noeviction."
        )


def _processes() -> Iterator[Finding]:
    checks_of: tuple[tuple[str, Callable[[], bool]], ...] = (
        (f"web on port {settings.CLEARANCE_PORT}", parts.web_is_ready),
        (f"worker {parts.worker_name()}", parts.worker_is_ready),
    )
    for subject, is_ready in checks_of:
        if is_ready():
            yield Finding(Level.OK, subject, "answers")
        else:
            yield Finding(Level.NOTE, subject, "does not answer", "Run manage.py up, if it should be here.")


def _installation() -> Iterator[Finding]:
    """What the database knows of the whole installation; nothing where it cannot be asked."""
    try:
        installation = Installation.objects.get(id=1)
    except (DatabaseError, Installation.DoesNotExist):
        return
    if installation.is_halted:
        text = f"halted since {installation.halted_at:%Y-%m-%d %H:%M} UTC: {installation.halt_reason}"
        yield Finding(Level.NOTE, "halt", text, "When the reason is gone: manage.py halt off.")
    noted = settings.CLEARANCE_HOME / "ledger_epoch"
    if noted.exists() and noted.read_text(encoding="ascii").strip() != str(installation.ledger_epoch):
        text = f"{noted} and the database differ: the database was restored in another way than manage.py restore"
        yield Finding(Level.FAULT, "ledger", text, "Run manage.py quarantine before anything is sent.")
    try:
        beats = pulse.is_beating()
    except (redis.RedisError, OSError):
        return  # the broker has its own finding
    if not beats:
        yield Finding(Level.NOTE, "sweep", "has not passed lately", "Start a worker and beat: manage.py up.")


def _programs() -> Iterator[Finding]:
    yield Finding(Level.OK, "python", sys.version.split()[0])
    try:
        dump = binaries.postgres_programs() / "pg_dump"
    except binaries.ProgramsMissing as error:
        yield Finding(Level.NOTE, "backup", "no pg_dump was found", str(error))
        return
    if os.access(dump, os.X_OK):
        yield Finding(Level.OK, "backup", f"uses {dump}")
    else:
        yield Finding(Level.NOTE, "backup", f"{dump} cannot be run", "Install postgresql-client, or set PG_BIN.")
