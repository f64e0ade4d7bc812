"""The start-up checks: they hold, and each can fail."""

import subprocess
import sys
from typing import Any

import pytest
from celery import current_app
from django.conf import settings as in_force
from django.core.checks import run_checks
from pytest_django import Settings

from console import checks
from console.celery import app
from tests.console.test_up import bare_environment

PRODUCTION = {
    "CLEARANCE_ENV": "production",
    "SECRET_KEY": "a-Long-and-Random-Looking-Key-0123456789-abcdefghijklmnop",
    "ALLOWED_HOSTS": "clearance.example",
    "DATABASE_URL": "postgres://clearance_app@db/clearance",
    "DATABASE_OWNER_URL": "postgres://clearance_owner@db/clearance",
    "REDIS_URL": "redis://broker:6379/0",
    "CLEARANCE_METRICS_TOKEN": "token",
}


def production(**changes: str) -> subprocess.CompletedProcess[str]:
    """`check --deploy` with the settings of a production installation."""
    return subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=in_force.BASE_DIR,
        env=bare_environment() | PRODUCTION | changes,
        capture_output=True,
        text=True,
        check=False,
    )


UNSAFE_DATABASE = {
    "ATOMIC_REQUESTS": ("ATOMIC_REQUESTS", True),
    "CONN_HEALTH_CHECKS": ("CONN_HEALTH_CHECKS", False),
    "limits its waits": ("OPTIONS", {"options": "-c lock_timeout=3s"}),
}
UNSAFE: dict[str, tuple[str, Any]] = {
    "last send ends": ("EFFECT_LEASE_SECONDS", 10),
    "ACKS_LATE": ("CELERY_TASK_ACKS_LATE", False),
    "REJECT_ON_WORKER_LOST": ("CELERY_TASK_REJECT_ON_WORKER_LOST", False),
    "PREFETCH": ("CELERY_WORKER_PREFETCH_MULTIPLIER", 4),
    "RESULT_BACKEND": ("CELERY_RESULT_BACKEND", "redis://"),
    "JSON alone": ("CELERY_ACCEPT_CONTENT", ["json", "pickle"]),
    "dead workers": ("CELERY_BROKER_TRANSPORT_OPTIONS", {"visibility_timeout": 300}),
    "unsafe source": ("CONTENT_SECURITY_POLICY", {"DIRECTIVES": {"script-src": ["'unsafe-inline'"]}}),
    "HttpOnly": ("SESSION_COOKIE_SAMESITE", "None"),
}


def test_every_check_holds() -> None:
    assert not run_checks(tags=[checks.TAG])


def test_every_rule_has_an_example_that_breaks_it() -> None:
    assert len(UNSAFE) + len(UNSAFE_DATABASE) == len(checks.RULES)


@pytest.mark.parametrize("claim", UNSAFE)
def test_an_unsafe_value_is_an_error_of_its_own(claim: str, settings: Settings) -> None:
    name, value = UNSAFE[claim]
    setattr(settings, name, value)

    assert [claim in message.msg for message in run_checks(tags=[checks.TAG])] == [True]


@pytest.mark.parametrize("claim", UNSAFE_DATABASE)
def test_an_unsafe_connection_is_an_error_of_its_own(claim: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, value = UNSAFE_DATABASE[claim]
    monkeypatch.setitem(in_force.DATABASES["default"], name, value)

    assert [claim in message.msg for message in run_checks(tags=[checks.TAG])] == [True]


def test_every_scheduled_task_exists() -> None:
    app.loader.import_default_modules()

    assert {entry["task"] for entry in in_force.CELERY_BEAT_SCHEDULE.values()} <= app.tasks.keys()


def test_a_task_sent_from_anywhere_goes_to_our_broker() -> None:
    assert current_app.conf.broker_url == in_force.CELERY_BROKER_URL


def test_production_settings_pass_the_deployment_checks() -> None:
    checked = production()

    assert checked.returncode == 0, checked.stderr


def test_one_role_for_everything_is_said_with_what_is_lost(settings: Settings) -> None:
    settings.APP_DATABASE_ROLE = settings.OWNER_DATABASE_ROLE

    assert "cannot refuse it a changed ledger" in "".join(message.msg for message in checks.check_protection())


def test_production_needs_a_key_of_its_own() -> None:
    checked = production(SECRET_KEY="")

    assert "SECRET_KEY is required in production" in checked.stderr


def test_cookies_are_host_bound_and_secure_in_production() -> None:
    shown = subprocess.run(
        [sys.executable, "-c", "from console import settings as s; print(s.SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME,"
         " s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE, s.SECURE_SSL_REDIRECT)"],
        cwd=in_force.BASE_DIR,
        env=bare_environment() | PRODUCTION,
        capture_output=True,
        text=True,
        check=True,
    )  # fmt: skip

    assert shown.stdout == "__Host-session __Host-csrf True True True\n"
