"""What admins do to agents over the console and the API. An agent decides nothing, so nothing of it waits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from runs.administration import (
    AgentChange,
    AgentTerms,
    By,
    NewAgent,
    add_agent,
    authority_change,
    change_agent,
    get_agent,
    rotate_token,
)
from runs.catalog import list_workflows
from runs.chain import rfc3339
from runs.errors import Fault, InvalidParams
from runs.loading.forms import GROUP, SCOPE
from runs.models import Agent, AuthorityChange, Person
from runs.requests import Answer, once
from runs.values import Principal

JSON = Any


# ---- reading ---------------------------------------------------------------------------------------------


def tell_agent(agent: Agent) -> dict[str, JSON]:
    """An agent as the API shows it; the members are those that a request may name."""
    return {
        "name": agent.name,
        "owner": agent.owner.username,
        "workflow": agent.workflows,
        "scope": agent.scopes,
        "on_behalf_of": agent.grants,
        "expires_at": rfc3339(agent.expires_at) if agent.expires_at else None,
        "suspended": not agent.is_active,
        "token_prefix": agent.token_prefix,
        "created_at": rfc3339(agent.created_at),
    }


def list_agents(limit: int, *, after: str = "", q: str = "") -> list[Agent]:
    """Agents by name with their owners, those after `after`; `q` is the beginning of their names."""
    agents = Agent.objects.select_related("owner").filter(name__gt=after, name__startswith=q)
    return list(agents.order_by("name")[:limit])


def list_changes(name: str) -> list[AuthorityChange]:
    """What was changed about an agent, the newest first."""
    return list(AuthorityChange.objects.filter(subject=name, kind__startswith="agent.").order_by("-id"))


# ---- creating and changing -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """An agent to be created."""

    id: str
    name: str
    terms: AgentTerms
    reason: str
    evidence: tuple[str, ...] = ()

    def identity(self) -> dict[str, JSON]:
        terms = self.terms
        return {
            "name": "create-agent",
            "agent": self.name,
            "owner": terms.owner,
            "workflows": list(terms.workflows),
            "scopes": list(terms.scopes),
            "grants": list(terms.grants),
            "expires_in": _seconds(terms.expires_in),
            "reason": self.reason,
            "evidence": list(self.evidence),
        }


def _seconds(span: timedelta | None) -> int | None:
    return None if span is None else int(span.total_seconds())


@authority_change
def create_agent(principal: Principal, request: AgentRequest) -> Answer:
    """Create an agent as an admin; its token is shown once.

    Locks: authority (shared), the installation's row, then authority (exclusive) before it answers. Raises
    `CommandIdReused`, `AgentsCannotDecide`, `Forbidden`, `InvalidParams`.
    """

    def act(admin: Principal) -> Answer:
        require_acceptable(request.name, request.terms)
        return _with_token(add_agent(request.name, request.terms, By(admin.actor, request.reason)))

    return once(principal, request.id, request.identity(), act)


def _with_token(new: NewAgent) -> Answer:
    return Answer(tell_agent(get_agent(new.agent.name)), shown_once=new.token)


@dataclass(frozen=True, slots=True)
class AgentChangeRequest:
    """A change of an agent."""

    id: str
    reason: str
    change: AgentChange
    evidence: tuple[str, ...] = ()

    def identity(self, name: str) -> dict[str, JSON]:
        change = self.change
        lists = {field: getattr(change, field) for field in ("workflows", "scopes", "grants")}
        return {
            "name": "change-agent",
            "agent": name,
            "owner": change.owner,
            "expires_in": _seconds(change.expires_in),
            "is_endless": change.is_endless,
            "active": change.is_active,
            **{field: None if value is None else list(value) for field, value in lists.items()},
            "reason": self.reason,
            "evidence": list(self.evidence),
        }


@authority_change
def alter_agent(principal: Principal, name: str, request: AgentChangeRequest) -> Answer:
    """Change as an admin what an agent may do, or suspend it.

    Locks: authority (shared), the installation's row, then authority (exclusive) before it answers. Raises
    `NotFound`, `CommandIdReused`, `AgentsCannotDecide`, `Forbidden`, `InvalidParams`.
    """

    def act(admin: Principal) -> Answer:
        get_agent(name)
        change = request.change
        _require_sound(change.owner, change.workflows or (), change.scopes or (), change.grants or ())
        return Answer(tell_agent(change_agent(name, change, By(admin.actor, request.reason))))

    return once(principal, request.id, request.identity(name), act)


@authority_change
def renew_token(
    principal: Principal, name: str, request_id: str, reason: str, evidence: tuple[str, ...] = ()
) -> Answer:
    """Give an agent a new token as an admin, shown once; the old one is void at once.

    Locks: authority (shared), the installation's row, then authority (exclusive) before it answers. Raises
    `NotFound`, `CommandIdReused`, `AgentsCannotDecide`, `Forbidden`.
    """
    identity = {"name": "rotate-token", "agent": name, "reason": reason, "evidence": list(evidence)}
    return once(principal, request_id, identity, lambda admin: _with_token(rotate_token(name, By(admin.actor, reason))))


# ---- what is acceptable ----------------------------------------------------------------------------------


def require_acceptable(name: str, terms: AgentTerms) -> None:
    """Raise `InvalidParams`, naming every fault, unless such an agent may be made."""
    if not GROUP.fits(name):
        raise InvalidParams(errors=[Fault("/name", "form", f"Write {GROUP.words}.")])
    _require_sound(terms.owner, terms.workflows, terms.scopes, terms.grants)


def _require_sound(owner: str | None, workflows: Sequence[str], scopes: Sequence[str], grants: Sequence[str]) -> None:
    faults = [*_people_faults(owner, grants), *_workflow_faults(workflows), *_scope_faults(scopes)]
    if faults:
        raise InvalidParams("The agent is not acceptable.", errors=faults)


def _people_faults(owner: str | None, grants: Sequence[str]) -> Iterator[Fault]:
    named = {"/owner": owner, **{f"/on_behalf_of/{index}": name for index, name in enumerate(grants)}}
    known = set(Person.objects.filter(username__in=named.values()).values_list("username", flat=True))
    for pointer, name in named.items():
        if name is not None and name not in known:
            yield Fault(pointer, "unknown-person", f"There is no person {name}.")


def _workflow_faults(workflows: Sequence[str]) -> Iterator[Fault]:
    known = [workflow.slug for workflow in list_workflows()]
    for index, slug in enumerate(workflows):
        if slug not in known:
            yield Fault(f"/workflow/{index}", "unknown-workflow", f"There is no workflow {slug}.")


def _scope_faults(scopes: Sequence[str]) -> Iterator[Fault]:
    for index, scope in enumerate(scopes):
        if not SCOPE.fits(scope):
            yield Fault(f"/scope/{index}", "form", f"Write {SCOPE.words}.")
