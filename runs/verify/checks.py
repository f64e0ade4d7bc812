"""How an invariant is written down, and how much is read for it at once."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import psycopg
from django.db import connection, transaction

from runs.transactions import execute

#: Rows fetched at once.
BATCH = 1000

_cursor_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Violation:
    """One place where an invariant does not hold."""

    invariant: str
    where: str
    detail: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.where}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Check:
    """One pass over what is stored: the rules it watches, by name, and the pass itself.

    `find` counts what it looked at in the counter it is given, by names in the plural.
    """

    rules: Mapping[str, str]
    find: Callable[[Counter[str]], Iterator[Violation]]


def query(name: str, rule: str, statement: str) -> Check:
    """The check of one rule by a statement that gives the offending rows: where, and what is wrong there."""

    def find(_: Counter[str]) -> Iterator[Violation]:
        for where, detail in stream(statement):
            yield Violation(name, where, detail)

    return Check({name: rule}, find)


@contextmanager
def frozen_view() -> Iterator[None]:
    """One consistent, read-only view of the whole database, for as long as it takes."""
    with transaction.atomic(durable=True):
        execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        execute("SET LOCAL statement_timeout = 0")
        execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        yield


def stream(statement: str, params: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
    """The rows of a statement, held by the server until they are asked for. Needs an open transaction."""
    connection.ensure_connection()
    raw: Any = connection.connection
    with psycopg.ServerCursor(raw, f"verify_{next(_cursor_numbers)}") as cursor:
        cursor.itersize = BATCH
        cursor.execute(statement, params, binary=True)
        yield from cursor
