"""`/session/`: signing in with and without a second factor, its limits, and confirming who one is."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
import time_machine
from allauth.account.authentication import get_authentication_records
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, hotp_value
from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.test import Client, RequestFactory

from runs.administration import create_person, set_person_active
from runs.models import Person
from runs.values import Principal
from tests import cast
from tests.console.api.caller import Response, as_agent, problem, told

pytestmark = pytest.mark.django_db

PATH = "/api/v1/session/"
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


@pytest.fixture(autouse=True)
def _still_and_unlimited() -> Iterator[None]:
    """Limits and used codes are kept in the broker, beyond a test's rollback; and no code ends while it is sent."""
    cache.clear()
    with time_machine.travel(time.time(), tick=False):
        yield


@pytest.fixture
def ada() -> Principal:
    return cast.ada()


@pytest.fixture
def visitor() -> Client:
    """A client that is held to CSRF as a browser is."""
    return Client(enforce_csrf_checks=True)


def sign_in(visitor: Client, **changed: Any) -> Response:
    body = {"username": "ada", "password": cast.PASSWORD} | changed
    return visitor.post(PATH, body, content_type="application/json")


def confirm(visitor: Client, token: str, **body: str) -> Response:
    return visitor.post(
        f"{PATH}reauthentication/", body, content_type="application/json", headers={"X-CSRFToken": token}
    )


def with_second_factor(name: str) -> None:
    """Give a person an authenticator app and recovery codes."""
    person = Person.objects.get(username=name)
    TOTP.activate(person, SECRET)
    RecoveryCodes.activate(person)


def code() -> str:
    """What the authenticator app shows now."""
    return str(format_hotp_value(hotp_value(SECRET, int(time.time()) // 30)))


def recovery_code() -> str:
    """The first of the recovery codes."""
    codes: list[str] = Authenticator.objects.get(type=Authenticator.Type.RECOVERY_CODES).wrap().generate_codes()
    return codes[0]


def session_key(visitor: Client) -> str:
    return str(visitor.cookies[settings.SESSION_COOKIE_NAME].value)


# ---- signing in ------------------------------------------------------------------------------------------


def test_a_person_signs_in_and_is_told_who_they_are(ada: Principal, visitor: Client) -> None:
    body = told(sign_in(visitor))

    assert (body["username"], body["roles"]) == ("ada", ["operator"])
    assert body["groups"] == ["refund-operators", "report-operators"]
    assert body["csrf_token"]
    assert visitor.cookies[settings.SESSION_COOKIE_NAME]["httponly"]
    again = told(visitor.get(PATH))
    assert (again["username"], again["roles"]) == ("ada", ["operator"])


@pytest.mark.parametrize("signed_in", [False, True])
def test_signing_in_changes_the_key_of_the_session(ada: Principal, visitor: Client, signed_in: bool) -> None:
    if signed_in:
        sign_in(visitor)
    else:
        visitor.session.save()
    planted = visitor.session.session_key

    sign_in(visitor)

    assert session_key(visitor) != planted
    assert not Session.objects.filter(session_key=planted).exists()


@pytest.mark.parametrize("changed", [{"password": "another pass phrase"}, {"username": "nobody"}])
def test_wrong_credentials_are_refused_without_saying_which(
    ada: Principal, visitor: Client, changed: dict[str, str]
) -> None:
    refused = problem(sign_in(visitor, **changed), 401, "unauthenticated")

    assert refused["detail"] == "The username or the password is wrong."
    problem(visitor.get(PATH), 401, "unauthenticated")


def test_a_suspended_person_cannot_sign_in_and_their_sessions_end(ada: Principal, visitor: Client) -> None:
    sign_in(visitor)
    set_person_active("ada", False, cast.SETUP)

    problem(visitor.get(PATH), 401, "unauthenticated")
    problem(sign_in(Client()), 403, "authority-revoked")
    problem(sign_in(Client(), password="another pass phrase"), 401, "unauthenticated")


def test_guessing_is_stopped(ada: Principal, visitor: Client) -> None:
    for _ in range(5):
        problem(sign_in(visitor, password="a guess of mine"), 401, "unauthenticated")

    response = sign_in(visitor)

    problem(response, 429, "rate-limited")
    assert int(response.headers["Retry-After"]) >= 1


@pytest.mark.parametrize(
    ("changed", "status", "code"),
    [
        ({"remember": True}, 400, "malformed"),
        ({"username": ""}, 422, "invalid-params"),
        ({"password": 7}, 422, "invalid-params"),
        ({"code": 123456}, 422, "invalid-params"),
    ],
)
def test_a_body_that_is_not_as_it_should_be_is_refused(
    ada: Principal, visitor: Client, changed: dict[str, Any], status: int, code: str
) -> None:
    problem(sign_in(visitor, **changed), status, code)


def test_a_form_of_another_site_cannot_sign_anybody_in(ada: Principal, visitor: Client) -> None:
    response = visitor.post(PATH, {"username": "ada", "password": cast.PASSWORD})

    problem(response, 415, "unsupported-media-type")


def test_a_password_may_look_like_a_secret(visitor: Client) -> None:
    create_person("sam", "ghp_" + "a1" * 18, [], [], cast.SETUP)

    assert told(sign_in(visitor, username="sam", password="ghp_" + "a1" * 18))["username"] == "sam"


# ---- the second factor -----------------------------------------------------------------------------------


def test_with_a_second_factor_the_password_alone_is_not_enough(ada: Principal, visitor: Client) -> None:
    with_second_factor("ada")

    assert problem(sign_in(visitor), 401, "unauthenticated")["missing"] == "code"
    problem(visitor.get(PATH), 401, "unauthenticated")


def test_a_code_of_the_app_or_a_recovery_code_is_accepted_once(ada: Principal, visitor: Client) -> None:
    with_second_factor("ada")

    for given in (code(), recovery_code()):
        assert told(sign_in(visitor, code=given))["username"] == "ada"
        problem(sign_in(Client(), code=given), 401, "unauthenticated")


@pytest.mark.parametrize("given", ["000000", "12345", "letters", "１２３４５６"])
def test_a_wrong_code_is_refused(ada: Principal, visitor: Client, given: str) -> None:
    with_second_factor("ada")

    problem(sign_in(visitor, code=given), 401, "unauthenticated")
    problem(visitor.get(PATH), 401, "unauthenticated")


def test_a_code_is_not_asked_for_where_the_password_is_wrong(ada: Principal, visitor: Client) -> None:
    with_second_factor("ada")

    assert "missing" not in problem(sign_in(visitor, password="a guess of mine"), 401, "unauthenticated")


def test_guessing_codes_is_stopped(ada: Principal, visitor: Client) -> None:
    with_second_factor("ada")
    for _ in range(5):
        problem(sign_in(visitor, code="000000"), 401, "unauthenticated")

    problem(sign_in(visitor, code=code()), 429, "rate-limited")


# ---- what a session is good for --------------------------------------------------------------------------


def test_a_session_may_read_and_needs_its_token_to_change_anything(ada: Principal, visitor: Client) -> None:
    cast.run_received()
    token = told(sign_in(visitor))["csrf_token"]
    body = {"id": "c-1", "name": "add-tag", "params": {"tag": "vip"}, "reason": "A regular."}

    def send(**headers: str) -> Response:
        given = {"If-Match": '"1.1"'} | {name.replace("_", "-"): value for name, value in headers.items()}
        return visitor.post("/api/v1/runs/R-42/commands/", body, content_type="application/json", headers=given)

    assert visitor.get("/api/v1/runs/R-42/").status_code == 200
    problem(send(), 403, "forbidden")
    problem(send(X_CSRFToken="x" * 64), 403, "forbidden")
    assert told(send(X_CSRFToken=token), 201)["run"]["fields"]["tags"] == ["vip"]


def test_signing_out_ends_the_session(ada: Principal, visitor: Client) -> None:
    token = told(sign_in(visitor))["csrf_token"]
    key = session_key(visitor)
    problem(visitor.delete(PATH), 403, "forbidden")

    assert visitor.delete(PATH, headers={"X-CSRFToken": token}).status_code == 204

    problem(visitor.get(PATH), 401, "unauthenticated")
    visitor.cookies[settings.SESSION_COOKIE_NAME] = key
    problem(visitor.get(PATH), 401, "unauthenticated")


def test_an_agent_has_no_session() -> None:
    bot = as_agent(cast.agent())

    problem(bot.get("/session/"), 403, "forbidden")
    problem(bot.client.delete(PATH), 403, "forbidden")
    problem(bot.post("/session/reauthentication/", {"password": "x"}), 403, "forbidden")


# ---- confirming who one is -------------------------------------------------------------------------------


def confirmations(visitor: Client) -> list[dict[str, Any]]:
    """What the session remembers of how the person proved who they are."""
    request = RequestFactory().get("/")
    request.session = visitor.session
    records: list[dict[str, Any]] = get_authentication_records(request, Person.objects.get(username="ada"))
    return records


def test_confirming_by_password_is_noted_and_changes_the_key(ada: Principal, visitor: Client) -> None:
    token = told(sign_in(visitor))["csrf_token"]
    key = session_key(visitor)

    assert told(confirm(visitor, token, password=cast.PASSWORD))["username"] == "ada"

    assert session_key(visitor) != key
    assert [(each["method"], each.get("reauthenticated")) for each in confirmations(visitor)] == [
        ("password", None),
        ("password", True),
    ]


def test_confirming_by_code_is_noted(ada: Principal, visitor: Client) -> None:
    with_second_factor("ada")
    token = told(sign_in(visitor, code=code()))["csrf_token"]

    assert told(confirm(visitor, token, code=recovery_code()))["username"] == "ada"

    assert [(each["method"], each.get("reauthenticated")) for each in confirmations(visitor)] == [
        ("password", None),
        ("mfa", None),
        ("mfa", True),
    ]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"password": "a guess of mine"}, 401, "unauthenticated"),
        ({"code": "000000"}, 401, "unauthenticated"),
        ({}, 422, "invalid-params"),
        ({"password": cast.PASSWORD, "code": "000000"}, 422, "invalid-params"),
    ],
)
def test_what_does_not_confirm_is_refused_and_not_noted(
    ada: Principal, visitor: Client, body: dict[str, str], status: int, code: str
) -> None:
    token = told(sign_in(visitor))["csrf_token"]

    problem(confirm(visitor, token, **body), status, code)

    assert len(confirmations(visitor)) == 1


def test_confirming_needs_a_session_and_its_token(ada: Principal, visitor: Client) -> None:
    problem(confirm(visitor, "", password=cast.PASSWORD), 401, "unauthenticated")
    sign_in(visitor)

    problem(confirm(visitor, "", password=cast.PASSWORD), 403, "forbidden")


def test_guessing_a_confirmation_is_stopped(ada: Principal, visitor: Client) -> None:
    token = told(sign_in(visitor))["csrf_token"]
    for _ in range(5):
        problem(confirm(visitor, token, password="a guess of mine"), 401, "unauthenticated")

    problem(confirm(visitor, token, password=cast.PASSWORD), 429, "rate-limited")
