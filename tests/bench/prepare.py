"""Fill the database of a benchmark: runs and agents of ours, or the records of the anchors."""

import json
import sys

import django

django.setup()


def ours() -> None:
    """A run and an agent per client, and an effect that waits to be sent; prints the agents' tokens."""
    from tests import cast, review  # noqa: PLC0415 - needs Django

    tokens = [cast.agent(f"bench-{number}").token for number in range(16)]
    for number in range(16):
        cast.run_received(f"BENCH-{number}", recipient="Ana Lima")
        cast.run_received(f"WEB-{number}", recipient="Ana Lima")
    cast.run_received("BENCH-HOT", recipient="Ana Lima")
    review.destination("payments", max_in_flight=1000)
    for name in ("letters", "reports"):
        review.destination(name)
    review.refund_approved("BENCH-SENT")
    print(json.dumps(tokens))


def anchors() -> None:
    """The tables and records of the endpoints compared with."""
    from django.db import connection  # noqa: PLC0415 - needs Django

    from tests.bench.anchors.models import Command, Entry, Record  # noqa: PLC0415 - needs Django

    with connection.schema_editor() as editor:
        for model in (Record, Entry, Command):
            editor.create_model(model)
    Record.objects.bulk_create(Record(pk=number, fields={"note": "x" * 300}) for number in range(16))


if __name__ == "__main__":
    (anchors if sys.argv[1:] == ["anchors"] else ours)()
