"""What admins do to people over the console and the API: in force at once, or waiting where it gives power.

Whoever gains a role or a group that decides waits for a second admin. So do a new password for somebody who decides
and the end of their suspension: each would let the one who asks act as two.
"""

import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.hashers import make_password
from django.db.models import Max

from runs.administration import (
    By,
    NewPerson,
    PersonChange,
    add_person,
    authority_change,
    change_person,
    get_person,
    taken,
)
from runs.chain import rfc3339
from runs.confirmations import Asked, Kind, ask, waiting_ref
from runs.errors import Fault, InvalidParams
from runs.loading.forms import GROUP
from runs.loosening import NOBODY, Standing, gained, without_gain
from runs.models import AuthorityChange, Person
from runs.requests import Answer, once
from runs.states import Role
from runs.values import Principal

JSON = Any

CREATE, CHANGE = "person.create", "person.change"

_USERNAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9@.+_-]{0,149}")
_PASSWORD_BYTES = 15


# ---- reading ---------------------------------------------------------------------------------------------


def tell_person(person: Person) -> dict[str, JSON]:
    """A person as the API shows them; the members are those that a request may name."""
    return {
        "username": person.username,
        "role": person.roles,
        "group": person.workflow_groups,
        "suspended": not person.is_active,
        "created_at": rfc3339(person.created_at),
    }


def list_people(limit: int, *, after: str = "", q: str = "") -> list[Person]:
    """People by name, those after `after`; `q` is the beginning of their names."""
    people = Person.objects.filter(username__gt=after, username__startswith=q)
    return list(people.order_by("username")[:limit])


def list_changes(username: str) -> list[AuthorityChange]:
    """What was changed about a person, the newest first."""
    return list(AuthorityChange.objects.filter(subject=username, kind__startswith="person.").order_by("-id"))


# ---- creating --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PersonRequest:
    """A person to be created."""

    id: str
    username: str
    roles: tuple[str, ...]
    groups: tuple[str, ...]
    reason: str
    evidence: tuple[str, ...] = ()

    def identity(self) -> dict[str, JSON]:
        return {
            "name": "create-person",
            "username": self.username,
            "roles": list(self.roles),
            "groups": list(self.groups),
            "reason": self.reason,
            "evidence": list(self.evidence),
        }


def create_person(principal: Principal, request: PersonRequest) -> Answer:
    """Create a person as an admin, with a password that is shown once; it waits when the person will decide.

    Locks: authority (shared), the installation's row, then authority (exclusive) before it answers. Raises
    `CommandIdReused`, `AgentsCannotDecide`, `Forbidden`, `InvalidParams`.
    """
    password = secrets.token_urlsafe(_PASSWORD_BYTES)
    return _create_person(principal, request, password, make_password(password))


@authority_change
def _create_person(principal: Principal, request: PersonRequest, password: str, password_hash: str) -> Answer:
    return once(
        principal, request.id, request.identity(), lambda admin: _create(admin, request, password, password_hash)
    )


def _create(admin: Principal, request: PersonRequest, password: str, password_hash: str) -> Answer:
    require_acceptable(request.username, request.roles, request.groups)
    if Person.objects.filter(username=request.username).exists():
        raise taken("username", request.username)
    new = NewPerson(request.username, password_hash, request.roles, request.groups)
    words = gained(NOBODY, Standing(frozenset(request.roles), frozenset(request.groups)))
    if not words:
        person = add_person(new, By(admin.actor, request.reason))
        person.refresh_from_db()
        return Answer(tell_person(person), shown_once=password)
    arguments = {"roles": list(request.roles), "groups": list(request.groups)}
    because = _because(request.username, words)
    version = _version_of(request.username)
    step = Asked(CREATE, request.username, arguments, version, because, request.reason, password_hash)
    return Answer({}, waiting_ref(ask(admin, step).pk), because, password)


def _because(username: str, words: Sequence[str]) -> str:
    return f"A second admin has to confirm: {username} gains {', '.join(words)}."


# ---- changing --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PersonChangeRequest:
    """A change of a person. What is None stays."""

    id: str
    reason: str
    roles: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None
    suspended: bool | None = None
    new_password: bool = False
    evidence: tuple[str, ...] = ()

    def identity(self, username: str) -> dict[str, JSON]:
        return {
            "name": "change-person",
            "username": username,
            "roles": None if self.roles is None else list(self.roles),
            "groups": None if self.groups is None else list(self.groups),
            "suspended": self.suspended,
            "new_password": self.new_password,
            "reason": self.reason,
            "evidence": list(self.evidence),
        }


def alter_person(principal: Principal, username: str, request: PersonChangeRequest) -> Answer:
    """Change a person as an admin: what takes power away is in force when this returns, what gives some waits.

    Locks: authority (shared), the installation's row, then authority (exclusive) before it answers. Raises
    `NotFound`, `CommandIdReused`, `AgentsCannotDecide`, `Forbidden`, `InvalidParams`.
    """
    password = secrets.token_urlsafe(_PASSWORD_BYTES) if request.new_password else ""
    return _alter_person(principal, username, request, password, make_password(password) if password else "")


@authority_change
def _alter_person(
    principal: Principal, username: str, request: PersonChangeRequest, password: str, password_hash: str
) -> Answer:
    identity = request.identity(username)
    return once(
        principal, request.id, identity, lambda admin: _alter(admin, username, request, password, password_hash)
    )


def _alter(admin: Principal, username: str, request: PersonChangeRequest, password: str, password_hash: str) -> Answer:
    person = get_person(username)
    require_acceptable(username, request.roles or (), request.groups or ())
    before, wanted = _standing(person), _wanted(person, request)
    words = gained(before, wanted)
    is_secret_waiting = bool(password) and before.decides
    if is_secret_waiting:
        words.append(f"a new password, which {admin.name} knows")
    now = _change(before, without_gain(before, wanted), "" if is_secret_waiting else password_hash)
    if now != PersonChange():
        person = change_person(username, now, By(admin.actor, request.reason))
    if not words:
        return Answer(tell_person(person), shown_once=password)
    because = _because(username, words)
    arguments = {"roles": sorted(wanted.roles), "groups": sorted(wanted.groups), "active": wanted.is_active}
    secret = password_hash if is_secret_waiting else ""
    step = Asked(CHANGE, username, arguments, _version_of(username), because, request.reason, secret)
    return Answer(tell_person(person), waiting_ref(ask(admin, step).pk), because, password)


def _standing(person: Person) -> Standing:
    return Standing(frozenset(person.roles), frozenset(person.workflow_groups), person.is_active)


def _wanted(person: Person, request: PersonChangeRequest) -> Standing:
    return Standing(
        frozenset(person.roles if request.roles is None else request.roles),
        frozenset(person.workflow_groups if request.groups is None else request.groups),
        person.is_active if request.suspended is None else not request.suspended,
    )


def _change(before: Standing, after: Standing, password_hash: str) -> PersonChange:
    """What differs, and a new password."""
    return PersonChange(
        roles=tuple(after.roles) if after.roles != before.roles else None,
        groups=tuple(after.groups) if after.groups != before.groups else None,
        is_active=after.is_active if after.is_active != before.is_active else None,
        password_hash=password_hash or None,
    )


# ---- what is acceptable --------------------------------------------------------------------------------------


def require_acceptable(username: str, roles: Sequence[str], groups: Sequence[str]) -> None:
    """Raise `InvalidParams`, naming every fault, unless a person may be called so and have these roles and groups."""
    _require_sound([*_username_faults(username), *_role_faults(roles), *_group_faults(groups)])


def _require_sound(faults: list[Fault]) -> None:
    if faults:
        raise InvalidParams("The person is not acceptable.", errors=faults)


def _username_faults(username: str) -> Iterator[Fault]:
    if not _USERNAME.fullmatch(username):
        yield Fault("/username", "form", "Letters, digits and @ . + _ -, the first a letter or digit, at most 150.")


def _role_faults(roles: Sequence[str]) -> Iterator[Fault]:
    for index, role in enumerate(roles):
        if role not in set(Role):
            yield Fault(f"/role/{index}", "choice", f"One of {', '.join(Role)}.")


def _group_faults(groups: Sequence[str]) -> Iterator[Fault]:
    for index, group in enumerate(groups):
        if not GROUP.fits(group):
            yield Fault(f"/group/{index}", "form", f"Write {GROUP.words}.")


# ---- the steps that wait -------------------------------------------------------------------------------------


def _apply_creation(step: Asked, by: By) -> JSON:
    given = step.arguments
    person = add_person(NewPerson(step.subject, step.secret, tuple(given["roles"]), tuple(given["groups"])), by)
    person.refresh_from_db()
    return tell_person(person)


def _apply_change(step: Asked, by: By) -> JSON:
    before, given = _standing(get_person(step.subject)), step.arguments
    wanted = Standing(frozenset(given["roles"]), frozenset(given["groups"]), given["active"])
    return tell_person(change_person(step.subject, _change(before, wanted, step.secret), by))


def _version_of(username: str) -> str:
    """The authority epoch of the last change of a person; 0 for somebody who was never made."""
    changes = AuthorityChange.objects.filter(subject=username, kind__startswith="person.")
    return str(changes.aggregate(last=Max("epoch"))["last"] or 0)


KINDS = {
    CREATE: Kind("New person", _version_of, _apply_creation),
    CHANGE: Kind("Change of a person", _version_of, _apply_change),
}
