"""Attacking the guards of the database with plain SQL, and finding out whether any was forgotten."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import psycopg
import pytest
from django.db import connection

CHECK, FOREIGN_KEY, UNIQUE, NOT_ALLOWED = "23514", "23503", "23505", "42501"

MADE_BY_DJANGO = re.compile(r"_[0-9a-f]{8}_fk_|_key$|_uniq$")

_NAMED = """
SELECT conname FROM pg_constraint WHERE conrelid::regclass::text = ANY(%(tables)s) AND contype IN ('c', 'f', 'u')
UNION SELECT indexrelid::regclass::text FROM pg_index
WHERE indisunique AND NOT indisprimary AND indrelid::regclass::text = ANY(%(tables)s)
"""
_TRIGGERS = """
SELECT tgrelid::regclass::text, tgname, tgenabled::text FROM pg_trigger
WHERE NOT tgisinternal AND tgrelid::regclass::text = ANY(%(tables)s)
"""


def attacks(table: Mapping[str, Sequence[str]]) -> list[object]:
    """Each statement with the rule that has to refuse it, as parameters."""
    return [
        pytest.param(rule, statement, id=f"{rule}-{number}")
        for rule, listed in table.items()
        for number, statement in enumerate(listed, 1)
    ]


def refusal_of(attacker: psycopg.Connection, statement: str) -> tuple[str | None, str | None]:
    """SQLSTATE and name of the rule by which the database refuses a statement."""
    with pytest.raises(psycopg.Error) as refusal, attacker.transaction():
        attacker.execute(statement)
    return refusal.value.sqlstate, refusal.value.diag.constraint_name


def copy_of(table: str, where: str, **other: str) -> str:
    """Insert a copy of a row, but for these columns, which are expressions over it. Needs no column to be listed.

    A row as JSON, with members replaced, is a row again.
    """
    changed = ", ".join(f"'{name}', {expression}" for name, expression in other.items())
    row = f"jsonb_populate_record(NULL::{table}, to_jsonb(t) || jsonb_build_object({changed}))"
    return f"INSERT INTO {table} SELECT ({row}).* FROM {table} t WHERE {where}"


def rules_in(file: Path) -> set[str]:
    """The names by which the functions of a file refuse, and those of its constraints."""
    text = file.read_text(encoding="utf-8")
    refused = set(re.findall(r"(?:runs_refuse\(|runs_frozen\()\s*'([a-z_]+)'", text))
    return refused | set(re.findall(r"ADD CONSTRAINT ([a-z_]+)", text))


def named_constraints(tables: Sequence[str]) -> set[str]:
    """The constraints of these tables that have a name of ours."""
    with connection.cursor() as cursor:
        cursor.execute(_NAMED, {"tables": list(tables)})
        return {name for (name,) in cursor.fetchall() if not MADE_BY_DJANGO.search(name)}


def live_triggers(tables: Sequence[str]) -> dict[str, set[str]]:
    """The triggers of these tables that are on, by table."""
    with connection.cursor() as cursor:
        cursor.execute(_TRIGGERS, {"tables": list(tables)})
        found: dict[str, set[str]] = {table: set() for table in tables}
        for table, name, enabled in cursor.fetchall():
            assert enabled == "O", f"{name} is off"
            found[table].add(name)
        return found
