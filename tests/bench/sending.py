"""One round of a case of dispatching: works off a fixed number of jobs that do nothing, and prints the rate.

    python -m tests.bench.sending CASE

What is measured begins when the jobs are there, and ends when the last one is recorded.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress

BATCH = 100
JOBS = 2000


def ours() -> float:
    """The product: claim, send by an adapter that does nothing, record."""
    import django  # noqa: PLC0415 - each case loads only what it needs

    django.setup()
    from outbox.dispatch import dispatch_due  # noqa: PLC0415
    from outbox.providers import ADAPTERS  # noqa: PLC0415
    from outbox.providers.base import Result  # noqa: PLC0415
    from outbox.providers.http import HttpAdapter  # noqa: PLC0415
    from outbox.states import Outcome  # noqa: PLC0415

    class Silent(HttpAdapter):
        def send(self, *_: object) -> Result:
            return Result(Outcome.ACCEPTED, "answered 200", "p-1", 200)

    ADAPTERS["http"] = Silent()

    return _rate(lambda: dispatch_due("bench", BATCH))


def raw() -> float:
    """Two transactions a batch, set-based, that write the same rows without any rule or guard."""
    import psycopg  # noqa: PLC0415

    connection = psycopg.connect(os.environ["BENCH_DSN"])

    def batch() -> int:
        with connection.transaction():
            found = connection.execute(_PICK, [BATCH], prepare=True).fetchall()
            given = {"ids": [row[0] for row in found], "body": b"b" * 200, "hash": "h" * 64}
            connection.execute(_CLAIM, given, prepare=True)
        with connection.transaction():
            connection.execute(_HOLD, given, prepare=True)
            connection.execute(_RECORD, given, prepare=True)
        return len(found)

    return _rate(batch)


_PICK = """
SELECT e.id FROM bench_effect e JOIN bench_case r ON r.id = e.run
WHERE e.next_at <= clock_timestamp() AND e.lease_owner IS NULL
ORDER BY e.next_at, e.id LIMIT %s FOR NO KEY UPDATE OF r SKIP LOCKED
"""
_HOLD = "SELECT FROM bench_case WHERE id = ANY(%(ids)s) ORDER BY id FOR NO KEY UPDATE"
_CLAIM = """
WITH step AS (
    UPDATE bench_case SET version = version + 1, head = head + 1 WHERE id = ANY(%(ids)s) RETURNING id, head, version
), entry AS (
    INSERT INTO bench_entry SELECT 1000 + id, head, version, 'effect.claimed', 'bench', %(body)s, %(hash)s, %(hash)s,
           %(hash)s, clock_timestamp() FROM step
), lease AS (
    UPDATE bench_effect SET state = 'dispatching', lease_owner = 'bench', fence = fence + 1, version = version + 1,
           lease_expires_at = clock_timestamp() + interval '60 s', next_at = NULL WHERE run = ANY(%(ids)s)
)
INSERT INTO bench_attempt SELECT id, 1, 1, 'bench', clock_timestamp(), clock_timestamp() + interval '40 s' FROM step
"""
_RECORD = """
WITH step AS (
    UPDATE bench_case SET version = version + 1, head = head + 2 WHERE id = ANY(%(ids)s) RETURNING id, head, version
), entry AS (
    INSERT INTO bench_entry SELECT 1000 + id, head - n, version, 'attempt.recorded', 'bench', %(body)s, %(hash)s,
           %(hash)s, %(hash)s, clock_timestamp() FROM step, generate_series(0, 1) AS n
), lease AS (
    UPDATE bench_effect SET state = 'succeeded', lease_owner = NULL, lease_expires_at = NULL, version = version + 1,
           because = 'accepted' WHERE run = ANY(%(ids)s)
)
UPDATE bench_attempt SET finished_at = clock_timestamp(), outcome = 'accepted', provider_request_id = 'p-1',
       detail = 'answered 200' WHERE effect = ANY(%(ids)s)
"""


def _rate(batch: Callable[[], int]) -> float:
    """How many jobs a second, after one batch to warm up."""
    batch()
    started, count = time.perf_counter(), 0
    while count < JOBS:
        done = batch()
        if not done:
            raise RuntimeError("the jobs are used up: fewer rounds")
        count += done
    return count / (time.perf_counter() - started)


def celery() -> float:
    """Tasks that do nothing, by a real worker with two processes on the same broker."""
    from redis import Redis  # noqa: PLC0415

    from tests.bench.anchors import noop  # noqa: PLC0415

    broker = Redis.from_url(os.environ["REDIS_URL"], socket_timeout=150)
    command = [sys.executable, "-m", "celery", "-A", "tests.bench.anchors.noop", "worker", "-c", "2", "-l", "ERROR"]
    worker = subprocess.Popen([*command, "-Q", "warm,bench"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        noop.last.apply_async(queue="warm")
        broker.blpop(["bench-done"], timeout=60)
        noop.app.control.cancel_consumer("bench", reply=True, timeout=2)
        for _ in range(JOBS):
            noop.nothing.apply_async(queue="bench")
        noop.last.apply_async(queue="bench")
        started = time.perf_counter()
        noop.app.control.add_consumer("bench")
        if broker.blpop(["bench-done"], timeout=120) is None:
            raise RuntimeError("the worker did not get to the end")
        return JOBS / (time.perf_counter() - started)
    finally:
        worker.terminate()
        worker.wait()


def procrastinate() -> float:
    """Tasks of procrastinate that do nothing."""
    return asyncio.run(_procrastinate())


async def _procrastinate() -> float:
    from procrastinate import App, PsycopgConnector  # noqa: PLC0415

    app = App(connector=PsycopgConnector(conninfo=os.environ["BENCH_DSN"]))

    async def do_nothing() -> None:
        pass

    nothing = app.task(do_nothing, name="nothing")
    async with app.open_async():
        with suppress(Exception):  # from the second round on it is there
            await app.schema_manager.apply_schema_async()
        await nothing.batch_defer_async(*({} for _ in range(JOBS)))
        started = time.perf_counter()
        await app.run_worker_async(wait=False, concurrency=10, install_signal_handlers=False)
        return JOBS / (time.perf_counter() - started)


CASES: dict[str, Callable[[], float]] = {"ours": ours, "raw": raw, "celery": celery, "procrastinate": procrastinate}

if __name__ == "__main__":
    print(json.dumps(CASES[sys.argv[1]]()))
