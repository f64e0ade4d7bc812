"""Making many of one: copies of a run with its ledger, snapshot and effect, by set-based SQL, as the owner.

Copies have the hashes of their model, so they are for measuring and for nothing else.
"""

import psycopg
from psycopg import sql

from tests.unguarded import guards_off

_COLUMNS = """
SELECT column_name FROM information_schema.columns
WHERE table_schema = 'public' AND table_name = %s AND is_generated = 'NEVER' ORDER BY ordinal_position
"""

_POINTED_AT = """
 AND t.seq IN (SELECT head_seq FROM runs_run WHERE id = t.run_id
               UNION SELECT authorized_seq FROM outbox_effect WHERE run_id = t.run_id)
"""

Values = dict[str, str]


def multiply(
    owner_dsn: str, key: str, prefix: str, count: int, *, whole: bool = True, effect: Values | None = None
) -> None:
    """`count` copies of the run `key`, with everything that dispatching needs of it. Their keys begin with `prefix`.

    Unless `whole`, they have only the ledger entries that something points at. `effect` holds columns of the
    copied effect that differ, as SQL over the copy's number `c.n`.
    """
    with guards_off(owner_dsn), psycopg.connect(owner_dsn) as connection:
        connection.execute("CREATE TEMP TABLE model AS SELECT id FROM runs_run WHERE key = %s", [key])
        number = f"{count} + n + (SELECT max(id) FROM runs_run)"
        connection.execute(
            f"CREATE TEMP TABLE copy AS SELECT n, ({number})::bigint AS id FROM generate_series(1, {count}) AS n"
        )
        name, operation = f"'{prefix}-' || c.n", f"'{prefix}-' || c.n || ':effect'"
        snapshot = f"'s-{prefix}-' || c.n"
        _copy(connection, "runs_run", "id", {"id": "c.id", "key": name, "effect": operation})
        entries = "" if whole else _POINTED_AT
        _copy(connection, "runs_ledgerentry", "run_id", {"run_id": "c.id"}, entries)
        _copy(connection, "approvals_snapshot", "run_id", {"run_id": "c.id", "id": snapshot})
        own = {"run_id": "c.id", "operation_id": operation, "snapshot_id": snapshot, "idempotency_key": operation}
        _copy(connection, "outbox_effect", "run_id", own | (effect or {}))
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE)")  # or the next minutes are spent on it, beside what is measured


def _copy(connection: psycopg.Connection, table: str, of: str, own: Values, only: str = "") -> None:
    """Copy the model's rows of a table once for each copy; what is its `own` differs."""
    columns = [name for (name,) in connection.execute(_COLUMNS, [table])]
    if "id" in columns and "id" not in own:
        columns.remove("id")
    values = [sql.SQL(own[name]) if name in own else sql.Identifier("t", name) for name in columns]
    statement = sql.SQL(
        "INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE SELECT {values} FROM {table} t, copy c"
        " WHERE t.{of} = (SELECT id FROM model)" + only
    )
    connection.execute(
        statement.format(
            table=sql.Identifier(table),
            columns=sql.SQL(", ").join(map(sql.Identifier, columns)),
            values=sql.SQL(", ").join(values),
            of=sql.Identifier(of),
        )
    )
