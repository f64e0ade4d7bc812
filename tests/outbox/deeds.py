"""What those who own the next step of an effect do: real actions, each from where the effect stands.

Workers claim, send to the sandbox provider and record; the reconciler closes leases and asks; reviewers revoke; admins
ask, find out, repair and release.
"""

from collections.abc import Callable
from dataclasses import dataclass

from approvals.models import StandingApproval
from approvals.standing import revoke_standing_approval, standing_ref
from outbox.leases import Claimed, claim
from outbox.lookups import LookupRequest, look_up_now
from outbox.models import DestinationPause, Effect
from outbox.providers import ADAPTERS
from outbox.reconcile import Pass, reconcile
from outbox.recording import record
from outbox.states import Finding, RepairKind
from tests import cast, review
from tests.outbox.settling import change
from tests.outbox.test_findings import confirmed, judge, order
from tests.outbox.test_leases import ids, now
from tests.review import number
from tests.sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class Place:
    """An effect where a walk begins, its provider, and what a worker holds of it."""

    provider: Sandbox
    effect: Effect
    held: Claimed | None = None


def claim_now(place: Place) -> None:
    assert claimed_when_due(place) == [place.effect.pk]


def refuse_to_claim(place: Place) -> None:
    assert claimed_when_due(place) == []


def claimed_when_due(place: Place) -> list[str]:
    DestinationPause.objects.all().delete()
    place.effect.refresh_from_db()
    change(place.effect, next_at=now())
    return ids(claim("worker-1"))


def refuse_to_claim_what_was_revoked_in_advance(place: Place) -> None:
    row = StandingApproval.objects.get()
    revoke_standing_approval(cast.ben(), standing_ref(row.pk), number(), "The season is over.")
    refuse_to_claim(place)


def send(mode: str) -> Callable[[Place], None]:
    """The worker that holds it sends, to a provider that does this, and records what came of it."""

    def send_it(place: Place) -> None:
        place.provider.fails_once(mode)
        assert place.held is not None
        record(place.held, ADAPTERS[place.held.adapter].send(place.held.target, place.held.sending))

    return send_it


def close_lease(place: Place) -> None:
    assert reconcile() == Pass(closed=1, asked=0)


def ask(place: Place) -> None:
    assert reconcile() == Pass(closed=0, asked=1)


def ask_who_cannot_tell(place: Place) -> None:
    place.provider.control.lookup = False
    ask(place)


def ask_as_an_admin(place: Place) -> None:
    look_up_now(cast.dora(), place.effect.pk, LookupRequest(number()))


def revoke(place: Place) -> None:
    review.revoke(cast.ben(), review.approval_of(place.effect))


def find_that_it_happened(place: Place) -> None:
    judge(place.effect, Finding.HAPPENED, provider_request_id="p-7")


def find_that_it_did_not_happen(place: Place) -> None:
    confirmed(place.effect, judge(place.effect, Finding.DID_NOT_HAPPEN))


def mark_as_failed(place: Place) -> None:
    confirmed(place.effect, order(place.effect, RepairKind.MARK_FAILED))


def order_resend(place: Place) -> None:
    confirmed(place.effect, order(place.effect, RepairKind.RESEND))


def release(place: Place) -> None:
    order(place.effect, RepairKind.RELEASE)
