"""Whether the embedded database has this checkout's schema already, so that a warm start need not migrate.

The database itself carries the mark: it moves with the data, and a restored older dump shows in the list of
applied migrations.
"""

import hashlib
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.db import connection
from psycopg import sql


def migration_names() -> set[tuple[str, str]]:
    """Every migration on disk, without importing any."""
    return {(app.label, file.stem) for app in apps.get_app_configs() for file in _migration_files(Path(app.path))}


def fingerprint() -> str:
    """A hash over the names of all migrations, and over our own SQL and privileges, which migrations apply."""
    digest = hashlib.sha256()
    for name in sorted(migration_names()):
        digest.update(repr(name).encode())
    for pattern in ("*/sql/*.sql", "*/privileges.py", "*/migrations/*.py"):
        for file in sorted(settings.BASE_DIR.glob(pattern)):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def is_current() -> bool:
    """Whether the last migration was made from what is on disk now, and all of it is still applied."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = current_database()"
        )
        if cursor.fetchone() != (_mark(),):
            return False
        cursor.execute("SELECT app, name FROM django_migrations")
        return migration_names() <= set(cursor.fetchall())


def note_current() -> None:
    """Mark the database as migrated from what is on disk now; its owner alone may."""
    statement = sql.SQL("COMMENT ON DATABASE {} IS {}")
    with connection.cursor() as cursor:
        cursor.execute(
            statement.format(sql.Identifier(connection.settings_dict["NAME"]), sql.Literal(_mark())),
        )


def _mark() -> str:
    return f"clearance {fingerprint()}"


def _migration_files(app: Path) -> list[Path]:
    return [file for file in (app / "migrations").glob("*.py") if file.stem[0].isdigit()]
