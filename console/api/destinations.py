"""`/destinations/`: where effects may go; asking for a place or a change of one, which a second admin confirms."""

from dataclasses import dataclass
from typing import Annotated, Any

from django.http import HttpResponse
from rest_framework.request import Request

from approvals.destinations import Terms, newest_revision
from approvals.registering import (
    DestinationChange,
    DestinationRequest,
    ask_change,
    ask_destination,
    list_destinations,
    tell_destination,
)
from console.answers import answer
from console.api.admin_rules import Address, Duration, OnOff
from console.api.base import ApiView
from console.api.openapi import documented, listed, ref
from console.api.second_person import told
from console.cursors import CursorType, page, read_page_request
from console.rules import Whole
from console.shapes import Evidence, Id, Name, Reason
from runs.errors import NotFound
from runs.permissions import require_admin, require_overseer

CURSOR: CursorType[str] = CursorType("destinations", str)


@dataclass(frozen=True, slots=True, kw_only=True)
class DestinationBody:
    """A destination, or what should change of one. What is not named stays, or has its default."""

    id: Id
    reason: Reason
    evidence: Evidence = ()
    adapter: Name | None = None
    url: Address | None = None
    lookup_url: Address | None = None
    cancel_url: Address | None = None
    idempotency_key: OnOff | None = None
    key_retention: Duration | None = None
    matches_payload: OnOff | None = None
    settle_after: Duration | None = None
    unavailable_means_throttled: OnOff | None = None
    max_in_flight: Annotated[int, Whole(1)] | None = None
    signing_secret_env: Name | None = None

    def columns(self) -> dict[str, Any]:
        """What was named, as the registry calls it."""
        given = {
            "adapter": self.adapter,
            "url": self.url,
            "lookup_url": self.lookup_url,
            "cancel_url": self.cancel_url,
            "recognises_repeats": self.idempotency_key,
            "key_retention_seconds": self.key_retention and int(self.key_retention.total_seconds()),
            "compares_payloads": self.matches_payload,
            "settle_after_seconds": self.settle_after and int(self.settle_after.total_seconds()),
            "unavailable_means_throttled": self.unavailable_means_throttled,
            "max_in_flight": self.max_in_flight,
            "signing_secret_env": self.signing_secret_env,
        }
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDestination(DestinationBody):
    """A destination to be registered."""

    name: Name
    adapter: Name
    url: Address


class DestinationsView(ApiView):
    """All destinations."""

    @documented("destinations", answers={200: listed("Destination")}, is_list=True)
    def get(self, request: Request) -> HttpResponse:
        """The newest revision of every destination, by name."""
        require_overseer(self.principal)
        wanted = read_page_request(request._request)
        after = CURSOR.read(wanted.cursor)[0] if wanted.cursor else ""
        rows = list_destinations(wanted.fetch, after=after)
        return answer(page(rows, wanted.limit, lambda row: CURSOR.write(row.name), tell_destination))

    @documented("destinations", body=NewDestination, answers={202: ref("Waiting"), 200: ref("Destination")})
    def post(self, request: Request) -> HttpResponse:
        """Ask for a destination; it waits for a second admin. What is registered so already is told, with 200."""
        body = self.read(NewDestination, allowed=require_admin)
        asked = DestinationRequest(body.id, body.name, Terms(**body.columns()), body.reason, body.evidence)
        return told(ask_destination(self.principal, asked))


class DestinationView(ApiView):
    """One destination."""

    @documented("destinations", answers={200: ref("Destination")})
    def get(self, request: Request, name: str) -> HttpResponse:
        """The newest revision of a destination."""
        require_overseer(self.principal)
        row = newest_revision(name)
        if row is None:
            raise NotFound
        return answer(tell_destination(row))

    @documented("destinations", body=DestinationBody, answers={202: ref("Waiting"), 200: ref("Destination")})
    def patch(self, request: Request, name: str) -> HttpResponse:
        """Ask for a new revision of a destination; it waits for a second admin."""
        body = self.read(DestinationBody, allowed=require_admin)
        asked = DestinationChange(body.id, body.columns(), body.reason, body.evidence)
        return told(ask_change(self.principal, name, asked))
