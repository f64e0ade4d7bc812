"""`/session/`: a person signs in with a password and, where they have one, the code of a second factor.

The same limits and the same replay protection as on the sign-in page: both are allauth's.
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.login import record_authentication
from allauth.account.internal.flows.reauthentication import reauthenticate_by_password
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.utils import is_mfa_enabled
from django.contrib.auth import login, logout
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from rest_framework.request import Request

from console.answers import answer
from console.api.base import ApiView
from console.api.openapi import documented, ref
from console.rules import Text
from runs.authority import principal_for_person
from runs.errors import AuthorityRevoked, Fault, Forbidden, InvalidParams, RateLimited, Unauthenticated
from runs.models import Person
from runs.values import JSON, Principal

BACKEND = "django.contrib.auth.backends.ModelBackend"
#: How allauth names a refusal by one of its limits.
TOO_MANY = "too_many_login_attempts"
WAIT_SECONDS = 60

Password = Annotated[str, Text(4096)]
Code = Annotated[str, Text(64)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """Username and password; the code where the person has a second factor."""

    username: Annotated[str, Text(150)]
    password: Password
    code: Code | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """Either the password or a code of the second factor."""

    password: Password | None = None
    code: Code | None = None


class SessionView(ApiView):
    """Signing in, who is signed in, signing out."""

    may_hold_secrets: ClassVar = ("password",)

    def perform_authentication(self, request: Request) -> None:
        if request.method != "POST":
            super().perform_authentication(request)

    @documented("session", body=SignIn, answers={200: ref("Session")})
    def post(self, request: Request) -> HttpResponse:
        """Sign in. The session's key is new afterwards."""
        body, http = self.read(SignIn), request._request
        person = _check_password(http, body)
        second = _check_code(person, body.code)
        login(http, person, backend=BACKEND)
        http.session.cycle_key()  # `login` keeps the key of somebody who was signed in already
        record_authentication(http, person, method="password", username=person.username)
        if second is not None:
            second.save()
        return answer(_tell(http, principal_for_person(person.pk)))

    @documented("session", answers={200: ref("Session")})
    def get(self, request: Request) -> HttpResponse:
        """Who is signed in, with a token for unsafe requests."""
        return answer(_tell(request._request, _person(self.principal)))

    @documented("session", answers={204: None})
    def delete(self, request: Request) -> HttpResponse:
        """Sign out."""
        _person(self.principal)
        logout(request._request)
        return HttpResponse(status=204)


class ReauthenticationView(ApiView):
    """Confirming who one is, where a policy asks for it before a decision."""

    may_hold_secrets: ClassVar = ("password",)

    @documented("session", body=Confirmation, answers={200: ref("Session")})
    def post(self, request: Request) -> HttpResponse:
        """Confirm by password or code. The session's key is new afterwards."""
        body, http = self.read(Confirmation), request._request
        principal = _person(self.principal)
        person = Person.objects.get(pk=principal.id)
        http.user = person  # allauth notes for whom the confirmation counts
        _confirm(http, person, body)
        http.session.cycle_key()
        return answer(_tell(http, principal))


# ---- checks ----------------------------------------------------------------------------------------------


def _check_password(request: HttpRequest, body: SignIn) -> Person:
    """The person, if the password is theirs. Raises `Unauthenticated`, `AuthorityRevoked`, `RateLimited`."""
    try:
        person = get_adapter().authenticate(request, username=body.username, password=body.password)
    except ValidationError as refused:
        raise _too_many() from refused
    if person is None:
        raise Unauthenticated("The username or the password is wrong.")
    if not person.is_active:
        raise AuthorityRevoked
    return person  # type: ignore[no-any-return]  # allauth ships no types


def _check_code(person: Person, code: str | None) -> Any:
    """The accepted code as allauth's form, to be noted after signing in; None where no second factor is set up."""
    if not is_mfa_enabled(person):
        return None
    if code is None:
        raise Unauthenticated("A code of your second factor is needed as well.", missing="code")
    return _accepted(AuthenticateForm(data={"code": code}, user=person))


def _confirm(request: HttpRequest, person: Person, body: Confirmation) -> None:
    if (body.password is None) == (body.code is None):
        fault = Fault("/password", "either-or", "Send either password or code.")
        raise InvalidParams(fault.detail, errors=[fault])
    if body.code is not None:
        _accepted(ReauthenticateForm(data={"code": body.code}, user=person)).save()
        return
    try:
        confirmed = get_adapter().reauthenticate(person, body.password)
    except ValidationError as refused:
        raise _too_many() from refused
    if not confirmed:
        raise Unauthenticated("The password is wrong.")
    reauthenticate_by_password(request)


def _accepted(form: Any) -> Any:
    """The form, if its code is right. Raises `Unauthenticated`, `RateLimited`."""
    if form.is_valid():
        return form
    if any(refused.code == TOO_MANY for refused in form.errors.as_data()["code"]):
        raise _too_many()
    raise Unauthenticated("The code is wrong or was used before.", missing="code")


def _too_many() -> RateLimited:
    return RateLimited("Too many attempts. Wait a while before the next one.", retry_after=WAIT_SECONDS)


# ---- telling ---------------------------------------------------------------------------------------------


def _person(principal: Principal) -> Principal:
    if not principal.is_person:
        raise Forbidden("A session belongs to a person; an agent sends its token with each request.")
    return principal


def _tell(request: HttpRequest, principal: Principal) -> JSON:
    return {
        "username": principal.name,
        "roles": sorted(role.value for role in principal.roles),
        "groups": sorted(principal.groups),
        "csrf_token": get_token(request),
    }
