"""Changes of authority: people, agents, suspension, halt. Each answers only when it is in force.

An authority change commits its row and the new epoch, then waits until every older write has ended.
Creating and loosening on the command line of the installation is marked `without a second person` for ever.

Each action has two forms: what it writes, which needs an open authority change, and the whole change.
"""

import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from django.contrib.auth.hashers import make_password
from django.contrib.sessions.models import Session
from django.db.models import F
from django.db.models.functions import Now

from runs.authority import TOKEN_PREFIX, hash_token, policy_from_terms, policy_terms
from runs.definitions import Policy
from runs.digest import canonical
from runs.errors import Fault, InvalidParams, NotFound
from runs.models import Agent, AuthorityChange, Installation, Person, PolicyVersion
from runs.states import Role
from runs.transactions import await_older_writes, durable, execute

JSON = Any
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class By:
    """Who changes authority, why, and whether a second person was asked."""

    actor: str
    reason: str = ""
    without_second_person: bool = False
    confirmation: Mapping[str, JSON] | None = None  # who confirmed what waited for it

    def as_body(self) -> dict[str, JSON]:
        """What the record of a change says beside the change itself."""
        return {} if self.confirmation is None else {"confirmation": dict(self.confirmation)}


def authority_change(action: Callable[P, T]) -> Callable[P, T]:
    """Make `action` one durable transaction that returns only when no write under older authority can still commit."""

    @durable
    def alone(*args: P.args, **kwargs: P.kwargs) -> T:
        execute("SELECT 1 FROM runs_installation WHERE id = 1 FOR NO KEY UPDATE")  # one change of authority at a time
        return action(*args, **kwargs)

    @wraps(action)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        result = alone(*args, **kwargs)
        await_older_writes()
        return result

    return run


def raise_epoch(kind: str, subject: str, by: By, body: Mapping[str, JSON] | None = None) -> int:
    """Raise the authority epoch and record what changed, in the transaction of the change itself."""
    Installation.objects.filter(id=1).update(authority_epoch=F("authority_epoch") + 1)
    epoch = Installation.objects.values_list("authority_epoch", flat=True).get(id=1)
    AuthorityChange.objects.create(
        epoch=epoch,
        kind=kind,
        subject=subject,
        actor=by.actor,
        reason=by.reason,
        body=canonical({**(body or {}), **by.as_body()}).decode(),
        without_second_person=by.without_second_person,
    )
    return epoch


# ---- people ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NewPerson:
    """A person to be made. The password is given as its hash."""

    username: str
    password_hash: str
    roles: tuple[str, ...]
    groups: tuple[str, ...]


@authority_change
def create_person(username: str, password: str, roles: Iterable[Role], groups: Iterable[str], by: By) -> Person:
    """Create a person with roles and workflow groups. Raises `InvalidParams` when the name is taken."""
    return add_person(NewPerson(username, make_password(password), tuple(roles), tuple(groups)), by)


def add_person(new: NewPerson, by: By) -> Person:
    """Write a new person, in an open authority change. Raises `InvalidParams` when the name is taken."""
    if Person.objects.filter(username=new.username).exists():
        raise taken("username", new.username)
    roles, groups = sorted(set(new.roles)), sorted(set(new.groups))
    person = Person(username=new.username, password=new.password_hash, roles=roles, workflow_groups=groups)
    person.save(force_insert=True)
    raise_epoch("person.created", new.username, by, {"roles": roles, "groups": groups})
    return person


def taken(name: str, value: str) -> InvalidParams:
    """The refusal of a name that something else has."""
    fault = Fault(f"/{name}", "taken", f"{value} exists already.")
    return InvalidParams(fault.detail, errors=[fault])


@dataclass(frozen=True, slots=True)
class PersonChange:
    """What becomes of a person. What is None stays; the password is given as its hash."""

    roles: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None
    password_hash: str | None = None
    is_active: bool | None = None


@authority_change
def set_person(
    username: str,
    by: By,
    *,
    roles: Iterable[Role] | None = None,
    groups: Iterable[str] | None = None,
    password: str | None = None,
) -> Person:
    """Replace roles, groups or password of a person. What is None stays. A new password ends every session."""
    change = PersonChange(
        roles=None if roles is None else tuple(roles),
        groups=None if groups is None else tuple(groups),
        password_hash=None if password is None else make_password(password),
    )
    return change_person(username, change, by)


def change_person(username: str, change: PersonChange, by: By) -> Person:
    """Write a change of a person, in an open authority change. Suspending, like a new password, ends every session.

    Raises `NotFound`.
    """
    person = get_person(username)
    before = _authority_of(person)
    person.roles = person.roles if change.roles is None else sorted(set(change.roles))
    person.workflow_groups = person.workflow_groups if change.groups is None else sorted(set(change.groups))
    person.password = change.password_hash or person.password
    person.is_active = person.is_active if change.is_active is None else change.is_active
    person.save(update_fields=["roles", "workflow_groups", "password", "is_active"])
    body = {"before": before, "after": _authority_of(person), "password": change.password_hash is not None}
    raise_epoch(_kind_of(change), username, by, body)
    if not person.is_active or change.password_hash is not None:
        _end_sessions(person.pk)
    return person


def _authority_of(person: Person) -> dict[str, JSON]:
    return {"roles": person.roles, "groups": person.workflow_groups, "active": person.is_active}


def _kind_of(change: PersonChange) -> str:
    if change == PersonChange(is_active=True):
        return "person.unsuspended"
    return "person.suspended" if change == PersonChange(is_active=False) else "person.changed"


def get_person(username: str) -> Person:
    """A person by name. Raises `NotFound`."""
    person = Person.objects.filter(username=username).first()
    if person is None:
        raise NotFound(f"There is no person {username}.")
    return person


@authority_change
def set_person_active(username: str, active: bool, by: By) -> Person:
    """Suspend a person or end the suspension. Suspending ends every session of theirs."""
    return change_person(username, PersonChange(is_active=active), by)


def _end_sessions(person_id: int) -> None:
    for session in Session.objects.filter(expire_date__gt=Now()).iterator():
        if session.get_decoded().get("_auth_user_id") == str(person_id):
            session.delete()


# ---- agents ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NewAgent:
    """An agent and its token, which is shown once and kept only as a hash."""

    agent: Agent
    token: str


@dataclass(frozen=True, slots=True)
class AgentTerms:
    """What an agent may do: for which workflows, with which scopes, for whom, until when."""

    owner: str
    workflows: tuple[str, ...]
    scopes: tuple[str, ...]
    grants: tuple[str, ...] = ()
    expires_in: timedelta | None = None


@authority_change
def create_agent(name: str, terms: AgentTerms, by: By) -> NewAgent:
    """Create an agent and mint its token.

    Raises `NotFound` for an unknown owner or person, `InvalidParams` for a taken name.
    """
    return add_agent(name, terms, by)


def add_agent(name: str, terms: AgentTerms, by: By) -> NewAgent:
    """Write a new agent, in an open authority change. Raises as `create_agent` does."""
    if Agent.objects.filter(name=name).exists():
        raise taken("name", name)
    token = _mint_token()
    agent = Agent(name=name, **_columns(terms), **_token_columns(token))
    agent.save(force_insert=True)
    raise_epoch("agent.created", name, by, _agent_facts(agent))
    return NewAgent(agent, token)


def _columns(terms: AgentTerms) -> dict[str, Any]:
    for username in terms.grants:
        get_person(username)
    return {
        "owner": get_person(terms.owner),
        "scopes": sorted(set(terms.scopes)),
        "workflows": sorted(set(terms.workflows)),
        "grants": sorted(set(terms.grants)),
        "expires_at": None if terms.expires_in is None else Now() + terms.expires_in,
    }


def _mint_token() -> str:
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def _token_columns(token: str) -> dict[str, str]:
    return {"token_sha256": hash_token(token), "token_prefix": token[:10]}


def _agent_facts(agent: Agent) -> dict[str, JSON]:
    names = ("scopes", "workflows", "grants")
    return {"owner": agent.owner.username, **{name: getattr(agent, name) for name in names}}


@dataclass(frozen=True, slots=True)
class AgentChange:
    """What becomes of an agent. What is None stays; `is_endless` takes an end away."""

    owner: str | None = None
    workflows: tuple[str, ...] | None = None
    scopes: tuple[str, ...] | None = None
    grants: tuple[str, ...] | None = None
    expires_in: timedelta | None = None
    is_endless: bool = False
    is_active: bool | None = None


def change_agent(name: str, change: AgentChange, by: By) -> Agent:
    """Write a change of what an agent may do, in an open authority change. Raises `NotFound`."""
    agent = get_agent(name)
    before = _agent_facts(agent) | {"active": agent.is_active}
    terms = AgentTerms(
        owner=change.owner or agent.owner.username,
        workflows=tuple(agent.workflows if change.workflows is None else change.workflows),
        scopes=tuple(agent.scopes if change.scopes is None else change.scopes),
        grants=tuple(agent.grants if change.grants is None else change.grants),
        expires_in=change.expires_in,
    )
    columns = _columns(terms)
    if change.expires_in is None and not change.is_endless:
        del columns["expires_at"]
    active = agent.is_active if change.is_active is None else change.is_active
    Agent.objects.filter(pk=agent.pk).update(**columns, is_active=active)
    agent.refresh_from_db()
    after = _agent_facts(agent) | {"active": agent.is_active}
    raise_epoch(_agent_kind(change), name, by, {"before": before, "after": after})
    return agent


def _agent_kind(change: AgentChange) -> str:
    if change == AgentChange(is_active=True):
        return "agent.unsuspended"
    return "agent.suspended" if change == AgentChange(is_active=False) else "agent.changed"


def rotate_token(name: str, by: By) -> NewAgent:
    """Write a new token for an agent, in an open authority change; the old one is void at once. Raises `NotFound`."""
    agent, token = get_agent(name), _mint_token()
    Agent.objects.filter(pk=agent.pk).update(**_token_columns(token))
    raise_epoch("agent.token-rotated", name, by)
    return NewAgent(agent, token)


def get_agent(name: str) -> Agent:
    """An agent by name, with its owner. Raises `NotFound`."""
    agent = Agent.objects.select_related("owner").filter(name=name).first()
    if agent is None:
        raise NotFound(f"There is no agent {name}.")
    return agent


@authority_change
def set_agent_active(name: str, active: bool, by: By) -> None:
    """Suspend an agent or end the suspension. Raises `NotFound`."""
    change_agent(name, AgentChange(is_active=active), by)


# ---- workflows and the whole installation ----------------------------------------------------------------


def newest_policy(slug: str) -> Policy:
    """The policy of a workflow as of this statement. Raises `NotFound`."""
    row = PolicyVersion.objects.filter(slug=slug).order_by("-version").first()
    if row is None:
        raise NotFound(f"There is no workflow {slug}.")
    return policy_from_terms(json.loads(row.terms), row.version, row.authority_version)


def store_policy(slug: str, policy: Policy, by: By) -> None:
    """Store `policy` as the version it names, in the transaction of the change itself."""
    PolicyVersion.objects.create(
        slug=slug,
        version=policy.version,
        authority_version=policy.authority_version,
        terms=canonical(policy_terms(policy)).decode(),
        actor=by.actor,
        reason=by.reason,
        without_second_person=by.without_second_person,
    )


@authority_change
def set_workflow_suspended(slug: str, suspended: bool, by: By) -> Policy:
    """Suspend a workflow or end the suspension: a new version of its policy, in force when this returns."""
    policy = newest_policy(slug)
    if policy.suspended == suspended:
        return policy
    changed = replace(
        policy, suspended=suspended, version=policy.version + 1, authority_version=policy.authority_version + 1
    )
    store_policy(slug, changed, by)
    raise_epoch("workflow.suspended" if suspended else "workflow.unsuspended", slug, by)
    return changed


@authority_change
def set_halt(on: bool, by: By) -> int:
    """Halt the installation or let it go on. Returns the new authority epoch."""
    return write_halt(on, by)


def write_halt(on: bool, by: By) -> int:
    """Write the halt or its end, in an open authority change. Returns the new authority epoch."""
    Installation.objects.filter(id=1).update(
        is_halted=on,
        halted_by=by.actor if on else "",
        halted_at=Now() if on else None,
        halt_reason=by.reason if on else "",
    )
    return raise_epoch("halt.on" if on else "halt.off", "installation", by)
