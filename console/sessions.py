"""How long a sign-in lasts: an idle limit and an absolute one, whatever the cookie says.

Owns the rule that a page left open does not keep its session alive: the refreshing of a screen is not a
person at work.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from allauth.account.internal.flows.login import AUTHENTICATION_METHODS_SESSION_KEY
from django.conf import settings
from django.contrib.auth import SESSION_KEY, logout
from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.backends.base import SessionBase
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse

OPENED = "opened_at"
ACTIVE = "active_at"

#: How stale the note of the last activity may be, so that not every request writes the session.
NOTE_SECONDS = 60


class SessionLimits:
    """Ends a session that is too old or too long unused, before a view sees its user."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if SESSION_KEY in request.session:
            now = int(time.time())
            if is_over(request.session, now):
                logout(request)
            elif _is_activity(request):
                _note_activity(request.session, now)
        return self.get_response(request)


def is_over(session: SessionBase, now: int) -> bool:
    """Whether one of the two limits is reached. A signed-in session without its times is over."""
    opened, active = session.get(OPENED), session.get(ACTIVE)
    if opened is None or active is None:
        return True
    return bool(
        now - opened >= settings.SESSION_ABSOLUTE_SECONDS or now - active >= settings.SESSION_IDLE_SECONDS,
    )


def _is_activity(request: HttpRequest) -> bool:
    return request.method != "GET" or "HX-Request" not in request.headers


def _note_activity(session: SessionBase, now: int) -> None:
    if now - session[ACTIVE] >= NOTE_SECONDS:
        session[ACTIVE] = now


@receiver(user_logged_in)
def _note_sign_in(request: HttpRequest, **_kwargs: Any) -> None:
    request.session[OPENED] = request.session[ACTIVE] = int(time.time())


def authenticated_at(request: HttpRequest) -> datetime | None:
    """When the person of this session last proved who they are, by password, code or passkey."""
    records = request.session.get(AUTHENTICATION_METHODS_SESSION_KEY) or []
    times = [record["at"] for record in records if "at" in record]
    return datetime.fromtimestamp(max(times), UTC) if times else None
