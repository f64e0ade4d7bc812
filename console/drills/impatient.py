"""Settings of a worker whose broker hands a message out again long before the task is done."""

from console.settings import *  # noqa: F403 - all of them, but for one

CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 1,
    "unacked_restore_interval": 1,
    "unacked_restore_throttle": 1,
}
