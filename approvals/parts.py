"""Finding who took part in a candidate: proposer, artifact authors, last writers, resolvers, whoever they act for.

Reads only. `separation` judges what is found here.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from approvals.models import Artifact
from approvals.separation import Part
from runs.models import Agent, Person
from runs.transactions import execute
from runs.values import RunReading

JSON = Any

_LAST_WRITERS = """
SELECT DISTINCT ON (name) name, actor, kind, body
FROM runs_ledgerentry, unnest(touched) AS name
WHERE run_id = %s AND name = ANY(%s)
ORDER BY name, seq DESC
"""
_CREATION = "SELECT actor, body FROM runs_ledgerentry WHERE run_id = %s AND seq = 1"


def parts_in(
    run: RunReading,
    facts: Iterable[str],
    proposer: tuple[str, str | None],
    artifacts: Iterable[Artifact],
    also_proposed_by: str | None = None,
) -> list[Part]:
    """Everybody who took part in a candidate of `run`, as people, with how they did.

    `proposer` is an actor and the person it acts for; `also_proposed_by` is whose escalated freeze was applied.
    """
    actor, on_behalf_of = proposer
    taking: list[tuple[str | None, str]] = [
        (actor, "proposed it"),
        (_user(on_behalf_of), "it was proposed for them"),
        (also_proposed_by, "proposed it first"),
    ]
    taking += [(artifact.author, f"wrote the artifact {artifact.slot}") for artifact in artifacts]
    taking += _writers(run, sorted(facts))
    return _people([(who, how) for who, how in taking if who is not None])


def _user(username: str | None) -> str | None:
    return None if username is None else f"user:{username}"


def _writers(run: RunReading, facts: list[str]) -> list[tuple[str | None, str]]:
    """Who wrote each fact last; whoever created the run wrote what it gave and nobody has written since."""
    found: list[tuple[str | None, str]] = []
    written = set()
    for name, actor, kind, body in execute(_LAST_WRITERS, [run.id, facts]).fetchall():
        written.add(name)
        found += _taking_part(actor, kind, _json(body), f"wrote {name} last")
    creator, body = execute(_CREATION, [run.id]).fetchone() or ("", None)
    for name in _json(body).get("given", ()):
        if name in facts and name not in written:
            found.append((creator, f"gave {name} at creation"))
    return found


def _taking_part(actor: str, kind: str, body: Mapping[str, JSON], how: str) -> list[tuple[str | None, str]]:
    """The actor of an entry, the person it acted for, and whose proposal an operator applied."""
    found: list[tuple[str | None, str]] = [(actor, how), (_user(body.get("on_behalf_of")), f"{how} (for them)")]
    if kind == "escalation.resolved":
        proposal = body.get("proposal") or {}
        found.append((proposal.get("principal"), f"{how} (proposed it)"))
    return found


def _json(body: Any) -> Mapping[str, JSON]:
    return {} if body is None else json.loads(bytes(body))


def _people(taking: list[tuple[str, str]]) -> list[Part]:
    """Actors as people: an agent counts as its owner. Each person once, with the first reason."""
    agents = {who[6:] for who, _ in taking if who.startswith("agent:")}
    owners = {
        f"agent:{agent.name}": agent.owner for agent in Agent.objects.filter(name__in=agents).select_related("owner")
    }
    names = {who[5:] for who, _ in taking if who.startswith("user:")}
    people = {f"user:{person.username}": person for person in Person.objects.filter(username__in=names)}
    found: dict[int, Part] = {}
    for who, how in taking:
        person = people.get(who) or owners.get(who)
        if person is not None:
            words = how if who in people else f"owns {who[6:]}, which {how}"
            found.setdefault(person.pk, Part(person.pk, person.username, words))
    return list(found.values())
