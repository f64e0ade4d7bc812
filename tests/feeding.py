"""Reading the feed in a test, where other tests write to other databases of the same cluster at the same time."""

from django.db import connection

from tests.processes import wait_until

_IS_CAUGHT_UP = """
SELECT NOT EXISTS (SELECT FROM runs_ledgerentry WHERE feed_xid >= pg_snapshot_xmin(pg_current_snapshot()))
"""


def await_feed() -> None:
    """Wait until the feed holds all that was written: an older transaction keeps it back, in whichever database."""
    wait_until(_is_caught_up, "everything in the feed")


def _is_caught_up() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_IS_CAUGHT_UP)
        (answer,) = cursor.fetchone()
    return bool(answer)
