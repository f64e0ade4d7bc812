"""Wiring that needs every app loaded."""

from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate


class ConsoleConfig(AppConfig):
    name = "console"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from console import celery, checks, privileges, sessions  # noqa: F401, PLC0415  # need the models and the settings

        post_migrate.connect(privileges.prepare_database, sender=apps.get_app_config("runs"))
