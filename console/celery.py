"""The Celery application. A task carries an id and is only a bell: the due row in the database is the work."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

app = Celery("clearance")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
