"""From an effect to what is called: the frozen destination revision, its capabilities, and its adapter."""

from datetime import datetime, timedelta

from approvals.models import Decision, DestinationRevision
from outbox.models import Attempt, Effect
from outbox.providers import ADAPTERS
from outbox.providers.base import Adapter, Target
from outbox.retry import Capabilities, Position


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


def capabilities_of(row: DestinationRevision) -> Capabilities:
    """What a destination declares, as far as its adapter can do it at all."""
    adapter = adapter_of(row)
    retention = None if row.key_retention_seconds is None else timedelta(seconds=row.key_retention_seconds)
    return Capabilities(
        recognises_repeats=row.recognises_repeats and adapter.can_recognise_repeats,
        key_retention=retention,
        has_lookup=bool(row.lookup_url) and adapter.can_look_up,
        settle_after=timedelta(seconds=row.settle_after_seconds),
    )


def position_of(effect: Effect, now: datetime, *, may_have_left: bool) -> Position:
    """Where an effect stands when its next step is decided at `now`."""
    return Position(
        now=now,
        may_have_left=may_have_left,
        attempts_used=effect.attempts_used,
        attempts_allowed=effect.attempts_allowed,
        key_clock_started_at=effect.key_clock_started_at,
        lease_expired_at=_last_lease_end(effect),
        send_timeout=timedelta(seconds=effect.timeout_seconds),
        is_revoked=revoked_approval(effect) is not None,
    )


def _last_lease_end(effect: Effect) -> datetime | None:
    """When the lease of the last attempt that may have left ended, at the latest."""
    last = Attempt.objects.filter(effect_id=effect.pk).order_by("-number").first()
    return None if last is None else last.send_by + timedelta(seconds=effect.timeout_seconds)


def revoked_approval(effect: Effect) -> Decision | None:
    """An approval of this effect that was revoked, or whose standing approval was."""
    for given in Decision.objects.filter(pk__in=effect.approvals).select_related("standing_approval"):
        standing = given.standing_approval
        if given.revoked_at is not None or (standing is not None and standing.revoked_at is not None):
            return given
    return None
