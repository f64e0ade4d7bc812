"""The registry of places that effects go to, as immutable revisions; only acceptable addresses get into it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from approvals.adapters import ABILITIES
from approvals.addresses import Place, Unacceptable, read_endpoint
from approvals.errors import DestinationUnknown
from approvals.manifest import FrozenDestination
from approvals.models import DestinationRevision
from runs.administration import By, authority_change, raise_epoch
from runs.digest import tagged
from runs.errors import Fault, InvalidParams
from runs.loading.forms import NAME

MOST_IN_FLIGHT = 1000
#: What only some adapters can do: the term that holds it, by the name under which admins give it.
_NAMED_AS = {
    "idempotency_key": "recognises_repeats",
    "key_retention": "key_retention_seconds",
    "matches_payload": "compares_payloads",
    "lookup_url": "lookup_url",
    "cancel_url": "cancel_url",
    "unavailable_means_throttled": "unavailable_means_throttled",
    "signing_secret_env": "signing_secret_env",
}
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,99}")


@dataclass(frozen=True, slots=True)
class Terms:
    """What a destination is and what the provider there can do. Durations in seconds."""

    adapter: str
    url: str
    lookup_url: str = ""
    cancel_url: str = ""
    recognises_repeats: bool = False
    key_retention_seconds: int | None = None
    compares_payloads: bool = False
    settle_after_seconds: int = 600
    unavailable_means_throttled: bool = False
    max_in_flight: int = 4
    signing_secret_env: str = ""

    def as_columns(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True)
class Registered:
    """The revision that holds the terms, and whether it is a new one."""

    name: str
    revision: int
    created: bool


@authority_change
def register_destination(name: str, terms: Terms, by: By) -> Registered:
    """Register a destination, or a new revision of one. Unchanged terms change nothing. Raises `InvalidParams`."""
    return write_destination(name, terms, by)


def write_destination(name: str, terms: Terms, by: By) -> Registered:
    """Write a destination, in an open authority change. Raises as `register_destination` does."""
    require_acceptable(name, terms)
    newest = newest_revision(name)
    if newest is not None and terms_of(newest) == terms:
        return Registered(name, newest.revision, created=False)
    revision = 1 if newest is None else newest.revision + 1
    DestinationRevision.objects.create(
        name=name,
        revision=revision,
        actor=by.actor,
        reason=by.reason,
        without_second_person=by.without_second_person,
        **terms.as_columns(),
    )
    raise_epoch("destination.registered", name, by, {"revision": revision, "url_sha256": tagged(terms.url.encode())})
    return Registered(name, revision, created=True)


def newest_revision(name: str) -> DestinationRevision | None:
    """The newest revision of a destination, if it is registered."""
    return DestinationRevision.objects.filter(name=name).order_by("-revision").first()


def terms_of(row: DestinationRevision) -> Terms:
    """The terms that a revision holds."""
    return Terms(**{column: getattr(row, column) for column in Terms.__dataclass_fields__})


# ---- what is acceptable ----------------------------------------------------------------------------------


def require_acceptable(name: str, terms: Terms) -> None:
    """Raises `InvalidParams`, with every fault and its place, unless effects may go to where `terms` lead."""
    faults = [*_name_faults(name), *_adapter_faults(terms), *_other_faults(terms)]
    if faults:
        raise InvalidParams("The destination is not acceptable.", errors=faults)


def _name_faults(name: str) -> Iterator[Fault]:
    if not NAME.fits(name):
        yield Fault("/name", "form", f"Write {NAME.words}.")


def _adapter_faults(terms: Terms) -> Iterator[Fault]:
    if terms.adapter not in ABILITIES:
        yield Fault("/adapter", "choice", f"One of {', '.join(ABILITIES)}.")
        return
    for member, term in _NAMED_AS.items():
        if getattr(terms, term) and not can_declare(terms.adapter, term):
            words = f"{member} means nothing to the adapter {terms.adapter}: leave it out."
            yield Fault(f"/{member}", "ability", words)
    yield from _address_faults(terms)


def _address_faults(terms: Terms) -> Iterator[Fault]:
    for member in ("url", "lookup_url", "cancel_url"):
        url = getattr(terms, member)
        if member != "url" and not (url and can_declare(terms.adapter, member)):
            continue
        try:
            read_place(terms.adapter, url)
        except Unacceptable as refusal:
            yield Fault(f"/{member}", "address", str(refusal))


def can_declare(adapter: str, term: str) -> bool:
    """Whether a term of a destination means anything to its adapter."""
    return term in ABILITIES[adapter].declarable


def read_place(adapter: str, url: str) -> Place:
    """Where a URL leads, as far as this adapter and this installation may go there. Raises `Unacceptable`."""
    return read_endpoint(url, ABILITIES[adapter].schemes, allow_private=settings.CLEARANCE_ALLOW_PRIVATE_DESTINATIONS)


def _other_faults(terms: Terms) -> Iterator[Fault]:
    if not 1 <= terms.max_in_flight <= MOST_IN_FLIGHT:
        yield Fault("/max_in_flight", "range", f"From 1 to {MOST_IN_FLIGHT}.")
    if terms.signing_secret_env and not _VARIABLE.fullmatch(terms.signing_secret_env):
        yield Fault("/signing_secret_env", "form", "The name of a variable: capital letters, digits and underscores.")


# ---- reading ---------------------------------------------------------------------------------------------


def current_revision(name: str) -> DestinationRevision:
    """The newest revision of a destination. Raises `DestinationUnknown`."""
    row = newest_revision(name)
    if row is None:
        fault = Fault("/action", "destination-unknown", f"There is no destination {name}: an admin registers it.")
        raise DestinationUnknown(fault.detail, errors=[fault], destination=name)
    return row


def frozen(row: DestinationRevision) -> FrozenDestination:
    """A destination revision as a manifest names it."""
    return FrozenDestination(row.name, row.revision, row.adapter, tagged(row.url.encode()))
