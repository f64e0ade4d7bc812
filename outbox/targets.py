"""From an effect to what is called: the frozen destination revision, its capabilities, and its adapter."""

from datetime import timedelta

from approvals.destinations import can_declare
from approvals.models import DestinationRevision
from outbox.models import Effect
from outbox.providers import ADAPTERS
from outbox.providers.base import Adapter, Target
from outbox.retry import Capabilities


def revision_of(effect: Effect) -> DestinationRevision:
    """The destination revision that was frozen."""
    return DestinationRevision.objects.get(name=effect.destination, revision=effect.destination_revision)


def adapter_of(row: DestinationRevision) -> Adapter:
    """The adapter of a destination."""
    return ADAPTERS[row.adapter]


def target_of(row: DestinationRevision) -> Target:
    """A destination revision as an adapter is given it."""
    return Target(
        name=row.name,
        revision=row.revision,
        url=row.url,
        lookup_url=row.lookup_url,
        cancel_url=row.cancel_url,
        recognises_repeats=row.recognises_repeats,
        unavailable_means_throttled=row.unavailable_means_throttled,
        signing_secret_env=row.signing_secret_env,
    )


def declares(row: DestinationRevision, term: str) -> bool:
    """Whether a destination declares an ability, and its adapter can do it at all."""
    return bool(getattr(row, term)) and can_declare(row.adapter, term)


def capabilities_of(row: DestinationRevision) -> Capabilities:
    """What a destination declares, as far as its adapter can do it at all."""
    retention = None if row.key_retention_seconds is None else timedelta(seconds=row.key_retention_seconds)
    return Capabilities(
        recognises_repeats=declares(row, "recognises_repeats"),
        key_retention=retention,
        has_lookup=declares(row, "lookup_url"),
        settle_after=timedelta(seconds=row.settle_after_seconds),
    )
