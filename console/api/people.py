"""`/people/`: who may sign in, with which roles and groups; creating, changing and suspending people."""

from dataclasses import dataclass
from typing import Annotated

from django.http import HttpResponse
from rest_framework.request import Request

from console.answers import answer
from console.api.admin_rules import OnOff, Words
from console.api.base import ApiView
from console.api.openapi import documented, listed, ref
from console.api.second_person import told
from console.cursors import CursorType, page, read_page_request
from console.rules import Flag, Text
from console.shapes import Evidence, Id, Reason
from runs.administration import get_person
from runs.people import (
    PersonChangeRequest,
    PersonRequest,
    alter_person,
    create_person,
    list_people,
    tell_person,
)
from runs.permissions import require_admin, require_overseer

CURSOR: CursorType[str] = CursorType("people", str)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPerson:
    """A person to be created."""

    id: Id
    username: Annotated[str, Text(200)]
    role: Words = ()
    group: Words = ()
    reason: Reason
    evidence: Evidence = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonChange:
    """What should become of a person. What is not named stays."""

    id: Id
    reason: Reason
    evidence: Evidence = ()
    role: Words | None = None
    group: Words | None = None
    suspended: OnOff | None = None
    new_password: Annotated[bool, Flag()] = False


class PeopleView(ApiView):
    """All people."""

    @documented("people", answers={200: listed("Person")}, is_list=True, query={"q": "Only names that begin so"})
    def get(self, request: Request) -> HttpResponse:
        """People by name."""
        require_overseer(self.principal)
        wanted = read_page_request(request._request, "q")
        after = CURSOR.read(wanted.cursor)[0] if wanted.cursor else ""
        rows = list_people(wanted.fetch, after=after, q=wanted.filters.get("q", ""))
        return answer(page(rows, wanted.limit, lambda row: CURSOR.write(row.username), tell_person))

    @documented("people", body=NewPerson, answers={201: ref("NewPerson"), 202: ref("Waiting")})
    def post(self, request: Request) -> HttpResponse:
        """Create a person with a password that is shown once; it waits where the person will decide."""
        body = self.read(NewPerson, allowed=require_admin)
        asked = PersonRequest(body.id, body.username, body.role, body.group, body.reason, body.evidence)
        return told(create_person(self.principal, asked), status=201, secret="password")


class PersonView(ApiView):
    """One person."""

    @documented("people", answers={200: ref("Person")})
    def get(self, request: Request, username: str) -> HttpResponse:
        """A person with roles and groups."""
        require_overseer(self.principal)
        return answer(tell_person(get_person(username)))

    @documented("people", body=PersonChange, answers={200: ref("NewPerson"), 202: ref("Waiting")})
    def patch(self, request: Request, username: str) -> HttpResponse:
        """Change or suspend a person. What takes power away is in force with this answer; what gives some waits."""
        body = self.read(PersonChange, allowed=require_admin)
        asked = PersonChangeRequest(
            body.id,
            body.reason,
            body.role,
            body.group,
            body.suspended,
            new_password=body.new_password,
            evidence=body.evidence,
        )
        return told(alter_person(self.principal, username, asked), secret="password")
