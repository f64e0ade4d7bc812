"""`manage.py migrate`: Django's own, connected as the owner of the database; nothing else ever is."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management.commands import migrate
from django.db import connections

OWNER_PARTS = ("USER", "PASSWORD", "HOST", "PORT", "OPTIONS")


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        with connected_as_owner(options["database"]):
            super().handle(*args, **options)


@contextmanager
def connected_as_owner(alias: str) -> Iterator[None]:
    """Let a connection of Django be the owner's for a while, on the very database it names."""
    connection = connections[alias]
    application = {part: connection.settings_dict[part] for part in OWNER_PARTS}
    connection.close()
    connection.settings_dict.update({part: settings.OWNER_DATABASE[part] for part in OWNER_PARTS})
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict.update(application)
