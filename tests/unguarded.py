"""Taking the guards of the database away for a while, as its owner: for negative controls and seeded faults."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
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
