"""The WSGI door, for gunicorn."""

import os

from django.core.wsgi import get_wsgi_application

from console import metrics_folder

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
metrics_folder.announce()

application = get_wsgi_application()
