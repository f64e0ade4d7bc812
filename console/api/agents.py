"""`/agents/`: the programs that act here; creating, changing and suspending them, and giving them new tokens."""

from dataclasses import dataclass
from typing import Annotated

from django.http import HttpResponse
from rest_framework.request import Request

from console.answers import answer
from console.api.admin_rules import Duration, OnOff, Words
from console.api.base import ApiView
from console.api.openapi import documented, listed, ref
from console.api.second_person import told
from console.cursors import CursorType, page, read_page_request
from console.rules import Flag
from console.shapes import Evidence, Id, Name, Reason
from runs.administration import AgentChange as Change
from runs.administration import AgentTerms, get_agent
from runs.agents import (
    AgentChangeRequest,
    AgentRequest,
    alter_agent,
    create_agent,
    list_agents,
    renew_token,
    tell_agent,
)
from runs.permissions import require_admin, require_overseer

CURSOR: CursorType[str] = CursorType("agents", str)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAgent:
    """An agent to be created."""

    id: Id
    name: Name
    owner: Name
    workflow: Words
    scope: Words
    on_behalf_of: Words = ()
    expires: Duration | None = None
    reason: Reason
    evidence: Evidence = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentChange:
    """What should become of an agent. What is not named stays; `endless` takes its end away."""

    id: Id
    reason: Reason
    evidence: Evidence = ()
    owner: Name | None = None
    workflow: Words | None = None
    scope: Words | None = None
    on_behalf_of: Words | None = None
    expires: Duration | None = None
    endless: Annotated[bool, Flag()] = False
    suspended: OnOff | None = None

    def change(self) -> Change:
        return Change(
            owner=self.owner,
            workflows=self.workflow,
            scopes=self.scope,
            grants=self.on_behalf_of,
            expires_in=self.expires,
            is_endless=self.endless,
            is_active=None if self.suspended is None else not self.suspended,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """That an agent gets a new token, and why."""

    id: Id
    reason: Reason
    evidence: Evidence = ()


class AgentsView(ApiView):
    """All agents."""

    @documented("agents", answers={200: listed("Agent")}, is_list=True, query={"q": "Only names that begin so"})
    def get(self, request: Request) -> HttpResponse:
        """Agents by name. Tokens are not kept and never told."""
        require_overseer(self.principal)
        wanted = read_page_request(request._request, "q")
        after = CURSOR.read(wanted.cursor)[0] if wanted.cursor else ""
        rows = list_agents(wanted.fetch, after=after, q=wanted.filters.get("q", ""))
        return answer(page(rows, wanted.limit, lambda row: CURSOR.write(row.name), tell_agent))

    @documented("agents", body=NewAgent, answers={201: ref("NewAgent"), 200: ref("NewAgent")})
    def post(self, request: Request) -> HttpResponse:
        """Create an agent. Its token is in this answer and nowhere else."""
        body = self.read(NewAgent, allowed=require_admin)
        terms = AgentTerms(body.owner, body.workflow, body.scope, body.on_behalf_of, body.expires)
        return told(
            create_agent(self.principal, AgentRequest(body.id, body.name, terms, body.reason, body.evidence)),
            status=201,
            secret="token",
        )


class AgentView(ApiView):
    """One agent."""

    @documented("agents", answers={200: ref("Agent")})
    def get(self, request: Request, name: str) -> HttpResponse:
        """An agent with what it may do."""
        require_overseer(self.principal)
        return answer(tell_agent(get_agent(name)))

    @documented("agents", body=AgentChange, answers={200: ref("Agent")})
    def patch(self, request: Request, name: str) -> HttpResponse:
        """Change what an agent may do, or suspend it."""
        body = self.read(AgentChange, allowed=require_admin)
        asked = AgentChangeRequest(body.id, body.reason, body.change(), body.evidence)
        return told(alter_agent(self.principal, name, asked))


class AgentTokensView(ApiView):
    """The token of one agent."""

    @documented("agents", body=NewToken, answers={201: ref("NewAgent"), 200: ref("NewAgent")})
    def post(self, request: Request, name: str) -> HttpResponse:
        """Give an agent a new token, shown once; the old one is void with this answer."""
        body = self.read(NewToken, allowed=require_admin)
        given = renew_token(self.principal, name, body.id, body.reason, body.evidence)
        return told(given, status=201, secret="token")
