"""Changes of authority: people, agents, suspension, halt. Each answers only when it is in force.

An authority change commits its row and the new epoch, then waits until every older write has ended.
Creating and loosening on the command line of the installation is marked `without a second person` for ever.
"""

import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import wraps
from typing import Any, ParamSpec, TypeVar

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
        body=canonical(dict(body or {})).decode(),
        without_second_person=by.without_second_person,
    )
    return epoch


# ---- people ----------------------------------------------------------------------------------------------


@authority_change
def create_person(username: str, password: str, roles: Iterable[Role], groups: Iterable[str], by: By) -> Person:
    """Create a person with roles and workflow groups. Raises `InvalidParams` when the name is taken."""
    if Person.objects.filter(username=username).exists():
        raise _taken("username", username)
    person = Person(username=username, roles=sorted(set(roles)), workflow_groups=sorted(set(groups)))
    person.set_password(password)
    person.save(force_insert=True)
    raise_epoch("person.created", username, by, {"roles": person.roles, "groups": person.workflow_groups})
    return person


def _taken(name: str, value: str) -> InvalidParams:
    fault = Fault(f"/{name}", "taken", f"{value} exists already.")
    return InvalidParams(fault.detail, errors=[fault])


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
    person = _person(username)
    before = {"roles": person.roles, "groups": person.workflow_groups}
    if roles is not None:
        person.roles = sorted(set(roles))
    if groups is not None:
        person.workflow_groups = sorted(set(groups))
    if password is not None:
        person.set_password(password)
    person.save(update_fields=["roles", "workflow_groups", "password"])
    after = {"roles": person.roles, "groups": person.workflow_groups, "password": password is not None}
    raise_epoch("person.changed", username, by, {"before": before, "after": after})
    return person


def _person(username: str) -> Person:
    person = Person.objects.filter(username=username).first()
    if person is None:
        raise NotFound(f"There is no person {username}.")
    return person


@authority_change
def set_person_active(username: str, active: bool, by: By) -> Person:
    """Suspend a person or end the suspension. Suspending ends every session of theirs."""
    person = _person(username)
    Person.objects.filter(pk=person.pk).update(is_active=active)
    raise_epoch("person.unsuspended" if active else "person.suspended", username, by)
    if not active:
        _end_sessions(person.pk)
    return person


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
    if Agent.objects.filter(name=name).exists():
        raise _taken("name", name)
    owner = _person(terms.owner)
    for username in terms.grants:
        _person(username)
    token = TOKEN_PREFIX + secrets.token_urlsafe(32)
    agent = Agent.objects.create(
        name=name,
        owner=owner,
        token_sha256=hash_token(token),
        token_prefix=token[:10],
        scopes=sorted(set(terms.scopes)),
        workflows=sorted(set(terms.workflows)),
        grants=sorted(set(terms.grants)),
        expires_at=None if terms.expires_in is None else Now() + terms.expires_in,
    )
    facts = {"owner": terms.owner, "scopes": agent.scopes, "workflows": agent.workflows, "grants": agent.grants}
    raise_epoch("agent.created", name, by, facts)
    return NewAgent(agent, token)


@authority_change
def set_agent_active(name: str, active: bool, by: By) -> None:
    """Suspend an agent or end the suspension."""
    if not Agent.objects.filter(name=name).update(is_active=active):
        raise NotFound(f"There is no agent {name}.")
    raise_epoch("agent.unsuspended" if active else "agent.suspended", name, by)


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
    Installation.objects.filter(id=1).update(
        is_halted=on,
        halted_by=by.actor if on else "",
        halted_at=Now() if on else None,
        halt_reason=by.reason if on else "",
    )
    return raise_epoch("halt.on" if on else "halt.off", "installation", by)
