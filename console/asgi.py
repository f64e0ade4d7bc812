"""The ASGI door, for installations that push changes to screens."""

import os

from django.core.asgi import get_asgi_application

from console import metrics_folder

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
metrics_folder.announce()

application = get_asgi_application()
