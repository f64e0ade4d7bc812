"""Who acts and what they may do, now: principals from credentials, policies in force, and a cache for one epoch.

Every change of anybody's authority raises the authority epoch in its own commit, so an answer cached under
the epoch that a transaction read is never older than that transaction.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from django.db.models.functions import Now

from runs.definitions import Policy
from runs.errors import AuthorityRevoked, NotFound, Unauthenticated
from runs.models import Agent, Installation, Person, PolicyVersion
from runs.states import Role
from runs.values import Budget, Principal

T = TypeVar("T")

TOKEN_PREFIX = "clr_"


@dataclass
class _Cache:
    """What was read of authority under one epoch."""

    epoch: int = -1
    entries: dict[Any, Any] = field(default_factory=dict)


_cache = _Cache()


def forget() -> None:
    """Drop everything cached. Needed only where an epoch can be seen twice, such as after a rollback in a test."""
    global _cache  # noqa: PLW0603  # one cache a process, replaced whole so that readers never see it half-filled
    _cache = _Cache()


def cached(epoch: int, key: tuple[Any, ...], load: Callable[[], T]) -> T:
    """What `load` gives for `key`, kept as long as the authority epoch stays `epoch`."""
    global _cache  # noqa: PLW0603  # see `forget`
    cache = _cache
    if cache.epoch != epoch:
        if epoch < cache.epoch:  # read before a change that this process already knows: never serve newer rows as older
            return load()
        cache = _cache = _Cache(epoch)
    if key in cache.entries:
        return cache.entries[key]  # type: ignore[no-any-return]  # the key names the loader's type
    value = load()
    if value is not None:  # anybody may ask for any name: what is not there must not fill the memory
        cache.entries[key] = value
    return value


def current_epoch() -> int:
    """The authority epoch now."""
    return Installation.objects.values_list("authority_epoch", flat=True).get(id=1)


def epoch_and_now() -> tuple[int, datetime]:
    """The authority epoch and the time of the database, as of one statement."""
    return Installation.objects.annotate(now=Now()).values_list("authority_epoch", "now").get(id=1)


def ledger_epoch() -> int:
    """The ledger epoch now: it rises when the database is restored."""
    return Installation.objects.values_list("ledger_epoch", flat=True).get(id=1)


# ---- principals ------------------------------------------------------------------------------------------


def hash_token(token: str) -> str:
    """The form in which a token is stored: tokens are long and random, so one SHA-256 is enough."""
    return hashlib.sha256(token.encode()).hexdigest()


def principal_for_token(token: str) -> Principal:
    """Who a bearer token stands for.

    Raises `Unauthenticated` for an unknown or expired token and `AuthorityRevoked` for a suspended agent.
    """
    epoch, now = epoch_and_now()
    name = _agent_of(hash_token(token), epoch)
    if name is None:
        raise Unauthenticated
    return current(Principal("agent", name), epoch, now)


def presume_agent(token: str) -> Principal:
    """Who a bearer token stood for when this process last looked, for an action that looks itself: costs no query.

    `current` confirms it under the epoch that the action's transaction reads. Raises as `principal_for_token`.
    """
    digest = hash_token(token)
    name = _cache.entries.get(("token", digest)) or principal_for_token(token).name
    return Principal("agent", name, credential=digest)


def _agent_of(digest: str, epoch: int) -> str | None:
    return cached(epoch, ("token", digest), lambda: _agent_name(digest))


def _agent_name(digest: str) -> str | None:
    return Agent.objects.filter(token_sha256=digest).values_list("name", flat=True).first()


def principal_for_person(person_id: int) -> Principal:
    """Who a signed-in person is now. Raises `Unauthenticated` when gone, `AuthorityRevoked` when suspended."""
    name = cached(current_epoch(), ("person-id", person_id), lambda: _person_name(person_id))
    if name is None:
        raise Unauthenticated
    return current(Principal("person", name))


def _person_name(person_id: int) -> str | None:
    return Person.objects.filter(pk=person_id).values_list("username", flat=True).first()


def current(principal: Principal, epoch: int | None = None, now: datetime | None = None) -> Principal:
    """The principal with its authority as of `epoch` (by default: as of now).

    Raises `AuthorityRevoked` when it was suspended, and `Unauthenticated` when it is gone or expired.
    """
    if principal.kind not in ("agent", "person"):
        return principal
    epoch = current_epoch() if epoch is None else epoch
    if principal.credential and _agent_of(principal.credential, epoch) != principal.name:
        raise Unauthenticated
    found, active = cached(epoch, (principal.kind, principal.name), lambda: _load(principal))
    if found is None or _is_expired(found, now):
        raise Unauthenticated
    if not active:
        raise AuthorityRevoked
    return found


def _is_expired(principal: Principal, now: datetime | None) -> bool:
    if principal.expires_at is None:
        return False
    return principal.expires_at <= (now or epoch_and_now()[1])


def _load(principal: Principal) -> tuple[Principal | None, bool]:
    return _load_agent(principal.name) if principal.is_agent else _load_person(principal.name)


def _load_agent(name: str) -> tuple[Principal | None, bool]:
    agent = Agent.objects.select_related("owner").filter(name=name).first()
    if agent is None:
        return None, False
    found = Principal(
        kind="agent",
        name=agent.name,
        id=agent.pk,
        scopes=frozenset(agent.scopes),
        workflows=frozenset(agent.workflows),
        owner=agent.owner.username,
        grants=frozenset(agent.grants),
        expires_at=agent.expires_at,
    )
    return found, agent.is_active


def _load_person(username: str) -> tuple[Principal | None, bool]:
    person = Person.objects.filter(username=username).first()
    if person is None:
        return None, False
    found = Principal(
        kind="person",
        name=person.username,
        id=person.pk,
        roles=frozenset(Role(role) for role in person.roles),
        groups=frozenset(person.workflow_groups),
    )
    return found, person.is_active


# ---- policies --------------------------------------------------------------------------------------------


def policy_of(slug: str, epoch: int | None = None) -> Policy:
    """The policy of a workflow in force. Raises `NotFound` when there is none: an unknown policy allows nothing."""
    epoch = current_epoch() if epoch is None else epoch
    policy = cached(epoch, ("policy", slug), lambda: _load_policy(slug))
    if policy is None:
        raise NotFound
    return policy


def _load_policy(slug: str) -> Policy | None:
    row = PolicyVersion.objects.filter(slug=slug).order_by("-version").first()
    return None if row is None else policy_from_terms(json.loads(row.terms), row.version, row.authority_version)


def policy_terms(policy: Policy) -> dict[str, Any]:
    """The terms of a policy as JSON, without its version numbers."""
    terms = asdict(policy)
    del terms["version"], terms["authority_version"]
    return {**terms, "operators": sorted(policy.operators), "reviewers": sorted(policy.reviewers)}


def policy_from_terms(terms: dict[str, Any], version: int, authority_version: int) -> Policy:
    """The policy that `policy_terms` wrote."""
    given = {**terms, "budget": Budget(**terms["budget"])}
    for name in ("operators", "reviewers"):
        given[name] = frozenset(terms[name])
    return Policy(**given, version=version, authority_version=authority_version)


def suspended_workflows(epoch: int | None = None) -> list[str]:
    """The workflows that are suspended now."""
    epoch = current_epoch() if epoch is None else epoch
    return cached(epoch, ("suspended",), _load_suspended)


def _load_suspended() -> list[str]:
    newest = PolicyVersion.objects.order_by("slug", "-version").distinct("slug")
    return [row.slug for row in newest if json.loads(row.terms)["suspended"]]
