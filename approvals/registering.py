"""Registering and changing destinations as an admin, over the console and the API: a second admin always confirms.

Where effects go is as much a decision as whether they go, so nothing of it is in force before.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from approvals.destinations import (
    Terms,
    current_revision,
    newest_revision,
    require_acceptable,
    terms_of,
    write_destination,
)
from approvals.models import DestinationRevision
from runs.administration import By, authority_change
from runs.chain import rfc3339
from runs.confirmations import Asked, Kind, ask, waiting_ref
from runs.errors import NotFound
from runs.policy_terms import write_duration
from runs.requests import Answer, once
from runs.values import Principal

JSON = Any

KIND = "destination"


# ---- reading ---------------------------------------------------------------------------------------------


def tell_destination(row: DestinationRevision) -> dict[str, JSON]:
    """A destination as the API shows it; the members are those that a request may name."""
    return {
        "name": row.name,
        "revision": row.revision,
        **tell_terms(terms_of(row)),
        "without_second_person": row.without_second_person,
        "registered_by": row.actor,
        "registered_at": rfc3339(row.at),
    }


def tell_terms(terms: Terms) -> dict[str, JSON]:
    """The terms of a destination, named as on the command line."""
    retention = terms.key_retention_seconds
    return {
        "adapter": terms.adapter,
        "url": terms.url,
        "lookup_url": terms.lookup_url or None,
        "cancel_url": terms.cancel_url or None,
        "idempotency_key": terms.recognises_repeats,
        "key_retention": None if retention is None else write_duration(retention),
        "matches_payload": terms.compares_payloads,
        "settle_after": write_duration(terms.settle_after_seconds),
        "unavailable_means_throttled": terms.unavailable_means_throttled,
        "max_in_flight": terms.max_in_flight,
        "signing_secret_env": terms.signing_secret_env or None,
    }


def list_destinations(limit: int, *, after: str = "") -> list[DestinationRevision]:
    """The newest revision of every destination, by name, those after `after`."""
    rows = DestinationRevision.objects.filter(name__gt=after).order_by("name", "-revision").distinct("name")
    return list(rows[:limit])


def list_revisions(name: str) -> list[DestinationRevision]:
    """Every revision of a destination, the newest first."""
    return list(DestinationRevision.objects.filter(name=name).order_by("-revision"))


# ---- asking ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DestinationRequest:
    """A destination with the terms it should have."""

    id: str
    name: str
    terms: Terms
    reason: str
    evidence: tuple[str, ...] = ()

    def identity(self, verb: str) -> dict[str, JSON]:
        return {
            "name": verb,
            "destination": self.name,
            "terms": self.terms.as_columns(),
            "reason": self.reason,
            "evidence": list(self.evidence),
        }


@authority_change
def ask_destination(principal: Principal, request: DestinationRequest) -> Answer:
    """Ask for a destination, or for a new revision of one; unchanged terms change nothing.

    Locks: authority (shared), the installation's row, then authority (exclusive) before it answers. Raises
    `CommandIdReused`, `AgentsCannotDecide`, `Forbidden`, `InvalidParams`.
    """
    return once(principal, request.id, request.identity("register-destination"), lambda admin: _ask(admin, request))


@dataclass(frozen=True, slots=True)
class DestinationChange:
    """Some terms of a registered destination that should change, by column."""

    id: str
    terms: Mapping[str, JSON]
    reason: str
    evidence: tuple[str, ...] = ()

    def identity(self, name: str) -> dict[str, JSON]:
        return {
            "name": "change-destination",
            "destination": name,
            "terms": dict(self.terms),
            "reason": self.reason,
            "evidence": list(self.evidence),
        }


@authority_change
def ask_change(principal: Principal, name: str, change: DestinationChange) -> Answer:
    """Ask for a new revision of a registered destination, as `ask_destination` does. Raises `NotFound` as well."""

    def act(admin: Principal) -> Answer:
        newest = newest_revision(name)
        if newest is None:
            raise NotFound(f"There is no destination {name}.")
        terms = replace(terms_of(newest), **change.terms)
        return _ask(admin, DestinationRequest(change.id, name, terms, change.reason))

    return once(principal, change.id, change.identity(name), act)


def _ask(admin: Principal, request: DestinationRequest) -> Answer:
    require_acceptable(request.name, request.terms)
    newest = newest_revision(request.name)
    if newest is not None and terms_of(newest) == request.terms:
        return Answer(tell_destination(newest))
    what = f"{request.name} changes" if newest else f"{request.name} becomes a place that effects may go to"
    because = f"A second admin has to confirm: {what}."
    arguments = {"terms": request.terms.as_columns()}
    step = Asked(KIND, request.name, arguments, _version_of(request.name), because, request.reason)
    return Answer({}, waiting_ref(ask(admin, step).pk), because)


# ---- the step that waits -----------------------------------------------------------------------------------


def _apply(step: Asked, by: By) -> JSON:
    write_destination(step.subject, Terms(**step.arguments["terms"]), by)
    return tell_destination(current_revision(step.subject))


def _version_of(name: str) -> str:
    newest = newest_revision(name)
    return str(newest.revision if newest else 0)


KINDS = {KIND: Kind("Destination", _version_of, _apply)}
