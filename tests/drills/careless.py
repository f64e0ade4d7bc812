"""Settings of an installation without the guards that drills are about: drills played on it must say BROKEN."""

from typing import Any

from django.apps import AppConfig

from console.settings import *  # noqa: F403 - all of them, and one more app
from console.settings import INSTALLED_APPS as _INSTALLED

INSTALLED_APPS = [*_INSTALLED, "tests.drills.careless.WithoutGuards"]


class WithoutGuards(AppConfig):
    """Takes the guards away in every process of the installation, once everything is loaded."""

    name = "tests.drills"
    label = "without_guards"

    def ready(self) -> None:
        from outbox import dispatch, recording  # noqa: PLC0415 - models are loaded only now

        def forgotten(*_: Any) -> None:
            """A late result leaves no trace."""

        recording._keep_late = forgotten  # type: ignore[assignment]  # whatever it is given
        dispatch.RECORD_FOR_SECONDS = 0
