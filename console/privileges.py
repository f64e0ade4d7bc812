"""Grants the application's role exactly what it needs, after every migration, as the owner.

Our own tables are listed by each app; tables of libraries get ordinary rights; the record of migrations
can be read only. Where owner and application are one role nothing can be taken away: `doctor` says so.
"""

from typing import Any

from django.conf import settings
from django.db import connections, models
from psycopg import sql

from approvals.privileges import PRIVILEGES as APPROVALS
from outbox.privileges import PRIVILEGES as OUTBOX
from runs.models import Installation
from runs.privileges import PRIVILEGES as RUNS

OURS: dict[str, str] = {**RUNS, **APPROVALS, **OUTBOX}
LIBRARY = "SELECT, INSERT, UPDATE, DELETE"
BY_NAME = {"django_migrations": "SELECT"}


def privileges_of(table: str) -> str:
    """What the application's role may do to a table. A table of ours that is not listed gets nothing."""
    if table.startswith(("runs_", "approvals_", "outbox_")):
        return OURS.get(table, "")
    return BY_NAME.get(table, LIBRARY)


def apply(alias: str = "default") -> None:
    """Set the rights of the application's role on every table. Idempotent; needs the owner's connection."""
    role, owner = settings.APP_DATABASE_ROLE, settings.OWNER_DATABASE_ROLE
    if not role or role == owner:
        return
    connection = connections[alias]
    statements = [
        sql.SQL("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {}, PUBLIC"),
        sql.SQL("REVOKE CREATE ON SCHEMA public FROM {}, PUBLIC"),
        sql.SQL("GRANT USAGE ON SCHEMA public TO {}"),
        sql.SQL("GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {}"),
    ]
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement.format(sql.Identifier(role)))
        for table in connection.introspection.table_names(cursor):
            if rights := privileges_of(table):
                grant = sql.SQL("GRANT {} ON {} TO {}")
                cursor.execute(grant.format(sql.SQL(rights), sql.Identifier(table), sql.Identifier(role)))


def prepare_database(sender: Any, using: str, **kwargs: Any) -> None:
    """After migrations (and after a test's flush): the one installation row, and the rights."""
    if _has_table(using, Installation):
        Installation.objects.using(using).get_or_create(id=1)
    apply(using)


def _has_table(using: str, model: type[models.Model]) -> bool:
    return model._meta.db_table in connections[using].introspection.table_names()
