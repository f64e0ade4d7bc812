"""Tasks of Celery that do nothing; the last of them says that all are done."""

import os

from celery import Celery
from redis import Redis

URL = os.environ["REDIS_URL"]
app = Celery("noop", broker=URL.replace("unix://", "redis+socket://", 1).replace("?db=", "?virtual_host="))
app.conf.update(task_ignore_result=True, task_acks_late=True, worker_prefetch_multiplier=4)


@app.task
def nothing() -> None:
    pass


@app.task
def last() -> None:
    Redis.from_url(URL).rpush("bench-done", 1)
