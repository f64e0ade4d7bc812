"""One client process of a benchmark: does one case over and over for some seconds and prints its rate.

python -m tests.bench.client CASE SECONDS NUMBER
"""

import json
import os
import sys
import time
from collections.abc import Callable
from uuid import uuid4

Step = Callable[[int], object]


def main(case: str, seconds: str, number: str) -> None:
    """Warm up, then count operations until the time is over."""
    step = CASES[case](int(number))
    for index in range(20):
        step(index)
    started, count = time.perf_counter(), 0
    while time.perf_counter() - started < float(seconds):
        step(20 + count)
        count += 1
    print(json.dumps(count / (time.perf_counter() - started)))


def ours(number: int) -> Step:
    """The commit action of the product, on a run of this client's own."""
    return _commands(f"BENCH-{number}", number)


def hot(number: int) -> Step:
    """The same on one run that every client shares, from the version this client saw last."""
    return _commands("BENCH-HOT", number)


def _commands(key: str, number: int) -> Step:
    import django  # noqa: PLC0415 - each case loads only what it needs

    django.setup()
    from runs import store  # noqa: PLC0415
    from runs.actions import apply_command  # noqa: PLC0415
    from runs.values import CommandRequest, Principal  # noqa: PLC0415

    principal = Principal("agent", f"bench-{number}")
    seen = store.read(key).run
    assert seen is not None
    version = seen.version

    def step(index: int) -> object:
        nonlocal version
        outcome = apply_command(principal, key, version, CommandRequest(uuid4().hex, "record-contact", {}, "bench"))
        version = outcome.answer["version"]
        return outcome

    return step


def raw(number: int) -> Step:
    """One prepared statement on a plain connection that writes the same rows."""
    import psycopg  # noqa: PLC0415

    connection = psycopg.connect(os.environ["BENCH_DSN"], autocommit=True)
    statement = """
    WITH step AS (
        UPDATE bench_run SET version = version + 1, head = head + 1, fields = %(fields)s
        WHERE id = %(run)s AND version = %(version)s RETURNING id, head, version
    ), entry AS (
        INSERT INTO bench_entry SELECT id, head, version, 'command.committed', 'bench', %(body)s, %(hash)s, %(hash)s,
               %(hash)s, clock_timestamp() FROM step
    )
    INSERT INTO bench_command SELECT id, 'bench', %(id)s, %(hash)s, %(answer)s FROM step RETURNING run
    """
    row = connection.execute("SELECT version FROM bench_run WHERE id = %s", [number]).fetchone()
    assert row is not None
    version = row[0]

    def step(index: int) -> object:
        nonlocal version
        given = {"run": number, "version": version, "id": uuid4().hex, "fields": "y" * 300}
        given |= {"body": b"b" * 400, "hash": "h" * 64, "answer": "a" * 200}
        version += 1
        return connection.execute(statement, given, prepare=True).fetchone()

    return step


def naive(number: int) -> Step:
    """What the ORM does by itself: lock, load, save, create, create."""
    import django  # noqa: PLC0415

    django.setup()
    from django.db import transaction  # noqa: PLC0415

    from tests.bench.anchors.models import Command, Entry, Record  # noqa: PLC0415

    def step(index: int) -> object:
        with transaction.atomic():
            record = Record.objects.select_for_update().get(pk=number)
            if Command.objects.filter(record=record, command_id=uuid4().hex).exists():
                return None
            record.version += 1
            record.fields = {**record.fields, "contact_attempts": record.version}
            record.save()
            Entry.objects.create(record=record, version=record.version, body={"changes": record.fields})
            return Command.objects.create(record=record, command_id=uuid4().hex, answer={"version": record.version})

    return step


def dbos(number: int) -> Step:
    """A one-step workflow of DBOS."""
    from dbos import DBOS, DBOSConfig  # noqa: PLC0415

    DBOS(
        config=DBOSConfig(
            name="bench", system_database_url=os.environ["BENCH_DBOS_URL"], log_level="ERROR", run_admin_server=False
        )
    )

    def one() -> int:
        return 1

    step = DBOS.step()(one)

    def flow() -> object:
        return step()

    workflow = DBOS.workflow()(flow)
    DBOS.launch()
    return lambda index: workflow()


def langgraph(number: int) -> Step:
    """One `put` of LangGraph's PostgreSQL saver."""
    import psycopg  # noqa: PLC0415
    from langgraph.checkpoint.base import empty_checkpoint  # noqa: PLC0415
    from langgraph.checkpoint.postgres import PostgresSaver  # noqa: PLC0415
    from psycopg.rows import dict_row  # noqa: PLC0415

    connection = psycopg.connect(os.environ["BENCH_DSN"], autocommit=True, row_factory=dict_row)
    saver = PostgresSaver(connection)
    saver.setup()

    def step(index: int) -> object:
        config = {"configurable": {"thread_id": f"t-{number}", "checkpoint_ns": ""}}
        checkpoint = empty_checkpoint() | {
            "channel_values": {"fields": "y" * 300},
            "channel_versions": {"fields": str(index)},
        }
        return saver.put(config, checkpoint, {"source": "loop", "step": index}, {"fields": str(index)})

    return step


CASES: dict[str, Callable[[int], Step]] = {
    "ours": ours,
    "hot": hot,
    "raw": raw,
    "naive": naive,
    "dbos": dbos,
    "langgraph": langgraph,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
