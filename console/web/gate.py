"""The gate that every screen begins with: who looks at it, and what somebody hears who is signed out."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Concatenate, ParamSpec
from urllib.parse import quote, urlsplit

import structlog
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from console.access import visible_workflows
from console.rendering import wants_fragment
from runs import authority
from runs.errors import Unauthenticated
from runs.permissions import is_admin, is_auditor, is_operator
from runs.values import Principal

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Viewer:
    """A signed-in person with the moment at which they look: one reading of it serves the whole page."""

    principal: Principal
    epoch: int
    now: datetime

    @property
    def sees(self) -> tuple[str, ...]:
        """The workflows whose runs this person sees."""
        return visible_workflows(self.principal, self.epoch)

    @property
    def settles(self) -> tuple[str, ...]:
        """The workflows whose conflicts this person settles."""
        return tuple(slug for slug in self.sees if is_operator(self.principal, authority.policy_of(slug, self.epoch)))

    @property
    def is_overseer(self) -> bool:
        """Whether this person sees everything by role alone."""
        return is_admin(self.principal) or is_auditor(self.principal)


View = Callable[Concatenate[HttpRequest, Principal, P], HttpResponse]


def signed_in(view: View[P]) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """Give `view` the person who asks. Somebody signed out is led to the sign-in page, or told so beside a form."""

    @wraps(view)
    def gated(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not request.user.is_authenticated:
            return _sign_in(request)
        principal = viewer_of(request).principal
        structlog.contextvars.bind_contextvars(actor=principal.actor)
        return view(request, principal, *args, **kwargs)

    return gated


def viewer_of(request: HttpRequest) -> Viewer:
    """The person who asks, read once a request. Raises `AuthorityRevoked` for somebody suspended."""
    known: Viewer | None = getattr(request, "viewer", None)
    if known is None:
        epoch, now = authority.epoch_and_now()
        known = Viewer(authority.current(Principal("person", request.user.get_username()), epoch, now), epoch, now)
        request.viewer = known  # type: ignore[attr-defined]  # a note on the request, for the parts around the page
    return known


def _sign_in(request: HttpRequest) -> HttpResponse:
    """The sign-in page, and back. A fragment is refused instead, so that it takes the place of no form."""
    if wants_fragment(request):
        raise Unauthenticated
    back = request.get_full_path() if request.method == "GET" else _page_of(request)
    return redirect(f"{reverse('account_login')}?next={quote(back)}")


def _page_of(request: HttpRequest) -> str:
    """The page whose form was sent, on this host."""
    return urlsplit(request.headers.get("Referer", "/"))._replace(scheme="", netloc="").geturl() or "/"
