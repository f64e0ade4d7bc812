"""`migrate` is the owner; everything else keeps the role it had."""

from django.db import connection

from console.management.commands.migrate import connected_as_owner


def test_migrations_may_take_longer_than_a_request_and_only_they_may(transactional_db: None) -> None:
    with connected_as_owner("default"):
        assert _statement_timeout() == "0"

    assert _statement_timeout() == "15s"


def _statement_timeout() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        return str(cursor.fetchone()[0])
