"""A sign-in ends after two idle hours and after twelve hours in all."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.contrib.auth import get_user
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest, HttpResponse
from django.test import Client

from console.sessions import SessionLimits
from runs.models import Person
from tests.cast import ada

pytestmark = pytest.mark.django_db

MORNING = datetime(2026, 5, 4, 8, 0, tzinfo=UTC)


def ada_herself() -> Person:
    return Person.objects.get(username=ada().name)


@pytest.fixture
def session_key() -> str:
    """The session of somebody who signed in this morning."""
    client = Client()
    with time_machine.travel(MORNING, tick=False):
        client.force_login(ada_herself())
    return str(client.session.session_key)


def is_signed_in(session_key: str, after: timedelta, *, method: str = "GET", htmx: bool = False) -> bool:
    """Whether a request so long after the sign-in still has its user; it passes the middleware as a request would."""
    request = HttpRequest()
    request.method = method
    request.session = SessionStore(session_key)
    if htmx:
        request.META["HTTP_HX_REQUEST"] = "true"
    with time_machine.travel(MORNING + after, tick=False):
        request.user = get_user(request)
        SessionLimits(lambda _request: HttpResponse())(request)
    if request.session.session_key == session_key:
        request.session.save()
    return bool(request.user.is_authenticated)


def hours(number: float) -> timedelta:
    return timedelta(hours=number)


def test_two_idle_hours_end_it(session_key: str) -> None:
    assert is_signed_in(session_key, hours(1.9))
    assert not is_signed_in(session_key, hours(4))


def test_work_keeps_it_but_not_beyond_twelve_hours(session_key: str) -> None:
    assert all(is_signed_in(session_key, hours(number)) for number in (1, 2.5, 4, 5.5, 7, 8.5, 10, 11.5))
    assert not is_signed_in(session_key, hours(12))


def test_a_screen_that_refreshes_itself_does_not_keep_it(session_key: str) -> None:
    assert is_signed_in(session_key, hours(1), htmx=True)
    assert is_signed_in(session_key, hours(1.9), htmx=True)
    assert not is_signed_in(session_key, hours(2.1), htmx=True)


def test_a_form_sent_by_htmx_is_work(session_key: str) -> None:
    assert is_signed_in(session_key, hours(1.5), method="POST", htmx=True)
    assert is_signed_in(session_key, hours(3))


def test_an_ended_session_is_gone_for_good(session_key: str) -> None:
    assert not is_signed_in(session_key, hours(3))
    assert not is_signed_in(session_key, hours(0.1))


def test_signing_in_changes_the_key_of_a_planted_session() -> None:
    client = Client()
    planted = client.session
    planted["bait"] = 1
    planted.save()
    client.cookies["clearance-session"] = str(planted.session_key)

    client.force_login(ada_herself())

    assert client.session.session_key != planted.session_key
