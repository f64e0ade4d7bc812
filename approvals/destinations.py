"""The registry of places that effects go to, as immutable revisions."""

from dataclasses import dataclass
from typing import Any

from approvals.errors import DestinationUnknown
from approvals.manifest import FrozenDestination
from approvals.models import DestinationRevision
from runs.administration import By, authority_change, raise_epoch
from runs.digest import tagged
from runs.errors import Fault


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
    """Register a destination, or a new revision of one. Unchanged terms change nothing."""
    newest = DestinationRevision.objects.filter(name=name).order_by("-revision").first()
    if newest is not None and all(getattr(newest, column) == value for column, value in terms.as_columns().items()):
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


def current_revision(name: str) -> DestinationRevision:
    """The newest revision of a destination. Raises `DestinationUnknown`."""
    row = DestinationRevision.objects.filter(name=name).order_by("-revision").first()
    if row is None:
        fault = Fault("/action", "destination-unknown", f"There is no destination {name}: an admin registers it.")
        raise DestinationUnknown(fault.detail, errors=[fault], destination=name)
    return row


def frozen(row: DestinationRevision) -> FrozenDestination:
    """A destination revision as a manifest names it."""
    return FrozenDestination(row.name, row.revision, row.adapter, tagged(row.url.encode()))
