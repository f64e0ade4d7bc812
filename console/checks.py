"""Start-up checks: the settings that safety rests on, each asserted, so that changing one is a decision.

`up` runs them before it starts anything; `manage.py check` shows them all, and with `--deploy` what protection
an installation goes without.
"""

from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from outbox.dispatch import SENDING_SECONDS

TAG = "clearance"

SESSION_LIMITS = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")


def _session_limits_are_set() -> bool:
    options = settings.DATABASES["default"]["OPTIONS"]["options"]
    return all(f"{name}=" in options for name in SESSION_LIMITS)


def _deadlines_are_ordered() -> bool:
    return bool(
        SENDING_SECONDS + settings.EFFECT_SEND_SECONDS
        < settings.CELERY_TASK_TIME_LIMIT
        < settings.EFFECT_LEASE_SECONDS
        < settings.CELERY_VISIBILITY_SECONDS
    )


def _policy_is_strict() -> bool:
    sources = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"].values()
    return not any("unsafe" in str(source) for listed in sources for source in listed)


def _cookies_are_closed() -> bool:
    return settings.SESSION_COOKIE_HTTPONLY and settings.SESSION_COOKIE_SAMESITE in ("Lax", "Strict")


def _database(name: str) -> Any:
    return settings.DATABASES["default"][name]


#: What must hold, and why.
RULES: tuple[tuple[Callable[[], bool], str], ...] = (
    (lambda: _database("ATOMIC_REQUESTS") is False, "ATOMIC_REQUESTS is off: each action opens its one transaction."),
    (
        lambda: _database("CONN_HEALTH_CHECKS") is True,
        "CONN_HEALTH_CHECKS is on: a dead connection costs no request.",
    ),
    (_session_limits_are_set, "Every session limits its waits for locks, its statements and its idle transactions."),
    (_deadlines_are_ordered, "A turn's last send ends < task time limit < lease < visibility timeout."),
    (lambda: settings.CELERY_TASK_ACKS_LATE, "CELERY_TASK_ACKS_LATE is on."),
    (lambda: settings.CELERY_TASK_REJECT_ON_WORKER_LOST, "CELERY_TASK_REJECT_ON_WORKER_LOST is on."),
    (lambda: settings.CELERY_WORKER_PREFETCH_MULTIPLIER == 1, "CELERY_WORKER_PREFETCH_MULTIPLIER is 1."),
    (lambda: settings.CELERY_RESULT_BACKEND is None, "CELERY_RESULT_BACKEND is off: outcomes are in the database."),
    (lambda: settings.CELERY_ACCEPT_CONTENT == ["json"], "CELERY_ACCEPT_CONTENT is JSON alone."),
    (
        lambda: {"unacked_restore_interval", "unacked_restore_throttle"} <= {*settings.CELERY_BROKER_TRANSPORT_OPTIONS},
        "The sweep for messages of dead workers has its interval set.",
    ),
    (_policy_is_strict, "The content security policy has no unsafe source."),
    (_cookies_are_closed, "The session cookie is HttpOnly and SameSite."),
)


@register(TAG)
def check_settings(**_kwargs: Any) -> Sequence[CheckMessage]:
    """Every rule that does not hold, as an error."""
    return [
        Error(f"This must hold: {claim}", id=f"clearance.E{number:03}")
        for number, (holds, claim) in enumerate(RULES, start=1)
        if not holds()
    ]


@register(TAG, deploy=True)
def check_protection(**_kwargs: Any) -> Sequence[CheckMessage]:
    """What an installation in production goes without."""
    found: list[CheckMessage] = []
    if not settings.PRODUCTION:
        found.append(Warning("CLEARANCE_ENV is not production.", id="clearance.W001"))
    if settings.APP_DATABASE_ROLE == settings.OWNER_DATABASE_ROLE:
        found.append(
            Warning(
                "The application owns its tables, so the database cannot refuse it a changed ledger, a changed "
                "snapshot or a switched-off guard.",
                hint="Make a second role, give it in DATABASE_URL, and the owner in DATABASE_OWNER_URL.",
                id="clearance.W002",
            )
        )
    if settings.PRODUCTION and not settings.CLEARANCE_METRICS_TOKEN:
        found.append(
            Warning("/metrics is closed.", hint="Set CLEARANCE_METRICS_TOKEN to open it.", id="clearance.W003")
        )
    if settings.CLEARANCE_ALLOW_PRIVATE_DESTINATIONS:
        found.append(
            Warning(
                "Effects may go to private addresses.",
                hint="Unset CLEARANCE_ALLOW_PRIVATE_DESTINATIONS.",
                id="clearance.W004",
            )
        )
    return found
