"""The one durable transaction of an action, and the statements that run inside it.

Every write takes the shared authority lock first and reads authority in a later statement; an authority
change commits, then takes the exclusive lock once. So nothing that began under older authority can commit
after the change was acknowledged.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import psycopg
from django.db import OperationalError, connection, transaction

from runs.errors import Unavailable
from runs.lock_classes import LockClass

P = ParamSpec("P")
T = TypeVar("T")

AUTHORITY_LOCK = (LockClass.AUTHORITY.value, 1)
TRIES = 3
DEADLOCK = "40P01"
COMMIT_UNKNOWN = "The database was lost during the commit: ask for the id to learn what became of it."


def execute(statement: str, params: Sequence[Any] | Mapping[str, Any] = ()) -> psycopg.Cursor[Any]:
    """Run a prepared statement on Django's own connection, in the transaction that is open on it.

    Django binds on the client and never prepares; on the commit path that costs half the rate.
    """
    connection.ensure_connection()
    raw: Any = connection.connection
    with connection.wrap_database_errors:
        return psycopg.Cursor(raw).execute(statement, params, prepare=True)


def fetch_row(statement: str, params: Sequence[Any] | Mapping[str, Any] = ()) -> tuple[Any, ...]:
    """The one row of a statement that always gives one."""
    row: tuple[Any, ...] | None = execute(statement, params).fetchone()
    if row is None:
        raise LookupError("the statement gave no row")
    return row


def durable(action: Callable[P, T]) -> Callable[P, T]:
    """Make `action` the one durable transaction of its caller, under the shared authority lock.

    Tried again whole, three times at most: after a deadlock, and after a commit whose answer never came, where
    the id then finds what was committed. A lock not had in time, a cancelled statement or a lost database
    becomes `Unavailable`.
    """

    @wraps(action)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        is_unknown = False
        for tries_left in reversed(range(TRIES)):
            is_committing = False
            try:
                with transaction.atomic(durable=True):
                    execute("SELECT pg_advisory_xact_lock_shared(%s, %s)", AUTHORITY_LOCK)
                    result = action(*args, **kwargs)
                    is_committing = True
                return result
            except OperationalError as error:
                is_unknown |= is_committing
                if tries_left and (is_committing or sqlstate(error) == DEADLOCK):
                    continue
                raise Unavailable(COMMIT_UNKNOWN if is_unknown else "") from error
        raise AssertionError("unreachable")

    return run


def sqlstate(error: Exception) -> str | None:
    """The SQLSTATE behind an error of Django's database layer."""
    return getattr(error.__cause__, "sqlstate", None)


def constraint_of(error: Exception) -> str | None:
    """The name of the constraint or guard that refused a write."""
    diagnostics = getattr(error.__cause__, "diag", None)
    return getattr(diagnostics, "constraint_name", None)


def await_older_writes() -> None:
    """Return once every write that began before now has ended. Called after an authority change was committed."""
    with transaction.atomic(durable=True):
        execute("SET LOCAL lock_timeout = '120s'")
        execute("SET LOCAL statement_timeout = '130s'")
        execute("SELECT pg_advisory_xact_lock(%s, %s)", AUTHORITY_LOCK)
