"""Taking the guards of the database away for a while, as its owner: for negative controls and seeded faults."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.db import connection
from psycopg import sql

_GUARDED = """
SELECT DISTINCT c.relname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE NOT t.tgisinternal AND c.relnamespace = 'public'::regnamespace
"""


@contextmanager
def guards_off(owner_dsn: str) -> Iterator[None]:
    """No trigger of ours fires meanwhile, in any session. Keys and checks stay."""
    with psycopg.connect(owner_dsn, autocommit=True) as owner:
        tables = [row[0] for row in owner.execute(_GUARDED)]
        try:
            _switch(owner, tables, "DISABLE")
            yield
        finally:
            _switch(owner, tables, "ENABLE")


def _switch(owner: psycopg.Connection, tables: list[str], verb: str) -> None:
    for table in tables:
        owner.execute(sql.SQL(f"ALTER TABLE {{}} {verb} TRIGGER USER").format(sql.Identifier(table)))


_FOREIGN_KEYS = """
SELECT conrelid::regclass::text, conname FROM pg_constraint
WHERE contype = 'f' AND connamespace = 'public'::regnamespace
"""


def take_guards_away() -> None:
    """No trigger fires and no foreign key holds any more in the open transaction, which has to be rolled back."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(_GUARDED)
        for (table,) in cursor.fetchall():
            cursor.execute(f'ALTER TABLE "{table}" DISABLE TRIGGER USER')
        cursor.execute(_FOREIGN_KEYS)
        for table, name in cursor.fetchall():
            cursor.execute(f'ALTER TABLE {table} DROP CONSTRAINT "{name}"')
