"""Places in the life of an effect, to which real actions brought it. Each is of a refund, with the sandbox provider."""

from dataclasses import replace
from datetime import timedelta

from outbox.quarantine import quarantine_all
from outbox.states import Finding
from tests import cast, review
from tests.approvals.test_standing import freeze, give
from tests.outbox import deeds
from tests.outbox.deeds import Place
from tests.outbox.providers.servers import closed_port
from tests.outbox.settling import change, claimed, let_pass
from tests.outbox.test_findings import judge
from tests.outbox.test_leases import now
from tests.sandbox import Sandbox


def authorized(provider: Sandbox) -> Place:
    """Nobody has claimed it; its provider neither recognises repeats nor can be asked."""
    provider.register(dedupe=False, lookup=False)
    return Place(provider, review.refund_approved())


def authorized_in_advance(provider: Sandbox) -> Place:
    """Nobody has claimed it; a standing approval of Bea's authorized it."""
    provider.register(dedupe=False, lookup=False)
    give()
    freeze()
    return Place(provider, review.effect_of())


def authorized_for_who_can_be_asked(provider: Sandbox) -> Place:
    provider.register(dedupe=False, lookup=True)
    return Place(provider, review.refund_approved())


def authorized_for_nobody(provider: Sandbox) -> Place:
    """Nobody listens at its destination: no attempt ever leaves."""
    provider.register(dedupe=False, lookup=False, url=f"http://127.0.0.1:{closed_port()}/deliver")
    return Place(provider, review.refund_approved())


def quarantined_before_it_was_claimed(provider: Sandbox) -> Place:
    return in_quarantine(authorized(provider))


def held(provider: Sandbox) -> Place:
    """A worker holds it and has committed that it begins to send."""
    return claimed_at(authorized(provider))


def held_although_revoked(provider: Sandbox) -> Place:
    place = held(provider)
    deeds.revoke(place)
    return place


def held_for_the_last_time(provider: Sandbox) -> Place:
    place = authorized_for_nobody(provider)
    change(place.effect, attempts_used=place.effect.attempts_allowed - 1)
    return claimed_at(place)


def held_by_a_lost_worker(provider: Sandbox) -> Place:
    place = held(provider)
    place.effect.refresh_from_db()
    change(place.effect, lease_expires_at=now() - timedelta(seconds=1))
    return place


def quarantined_in_flight(provider: Sandbox) -> Place:
    return in_quarantine(held(provider))


def waiting_to_be_sent(provider: Sandbox) -> Place:
    """The provider asked to wait; until then nothing of it has left."""
    return tried("throttle", authorized(provider))


def waiting_to_be_sent_as_approved_in_advance(provider: Sandbox) -> Place:
    return tried("throttle", authorized_in_advance(provider))


def waiting_to_be_repeated(provider: Sandbox) -> Place:
    """Unknown; the provider recognises repeats for half an hour."""
    provider.register(lookup=False, key_retention_seconds=1800)
    return tried("apply-then-drop", Place(provider, review.refund_approved()))


def waiting_too_long_to_be_repeated(provider: Sandbox) -> Place:
    place = waiting_to_be_repeated(provider)
    let_pass(place.effect, hours=1)
    return place


def waiting_to_be_asked_about(provider: Sandbox) -> Place:
    """Unknown; the provider is asked."""
    return tried("apply-then-drop", authorized_for_who_can_be_asked(provider))


def lost_for_who_can_be_asked(provider: Sandbox) -> Place:
    return tried("drop-before-apply", authorized_for_who_can_be_asked(provider))


def unknown(provider: Sandbox) -> Place:
    """A person has to find out, long after the last attempt."""
    place = tried("drop-before-apply", authorized(provider))
    let_pass(place.effect, hours=1)
    return place


def unknown_in_quarantine(provider: Sandbox) -> Place:
    return in_quarantine(unknown(provider))


def unknown_as_the_provider_could_not_tell(provider: Sandbox) -> Place:
    place = waiting_to_be_asked_about(provider)
    deeds.ask_who_cannot_tell(place)
    provider.control.lookup = True
    return place


def unknown_and_revoked(provider: Sandbox) -> Place:
    place = unknown(provider)
    deeds.revoke(place)
    return place


def found_not_to_have_happened(provider: Sandbox) -> Place:
    place = unknown(provider)
    judge(place.effect, Finding.DID_NOT_HAPPEN)
    return place


def in_quarantine(place: Place) -> Place:
    quarantine_all(cast.SETUP)
    return place


def claimed_at(place: Place) -> Place:
    return replace(place, held=claimed(place.effect))


def tried(mode: str, place: Place) -> Place:
    """One attempt that met this fault of the provider."""
    deeds.send(mode)(claimed_at(place))
    place.effect.refresh_from_db()
    return place
