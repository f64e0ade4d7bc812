"""Every way out of every state of an effect, gone by whoever owns it: no effect is ever left where nobody moves it on.

A walk begins where real actions brought an effect and takes one real action of its owner: a worker's claim or record,
the reconciler's pass, a reviewer's revocation, an admin's verdict, repair or release. What was walked is compared with
the table of states, so that a step that is added without a walk fails here; and with whom the table of runs names as
the owners of that step.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from approvals.models import StandingApproval
from approvals.standing import revoke_standing_approval, standing_ref
from outbox.cases import load_case
from outbox.leases import Claimed, claim
from outbox.lookups import LookupRequest, look_up_now
from outbox.models import DestinationPause, Effect
from outbox.providers import ADAPTERS
from outbox.quarantine import quarantine_all
from outbox.queries import tell_effect
from outbox.reconcile import Pass, reconcile
from outbox.recording import record
from outbox.states import ENDS, LEGAL_STEPS, RUN_STATUS, EffectState, Finding, RepairKind
from runs.models import LedgerEntry
from runs.states import LEGAL_STEPS as RUN_STEPS
from runs.states import STORIES
from tests import cast, review
from tests.approvals.test_standing import freeze, give
from tests.outbox.providers.servers import closed_port
from tests.outbox.settling import change, claimed, let_pass
from tests.outbox.test_findings import confirmed, judge, order
from tests.outbox.test_leases import ids, now
from tests.review import REFUND, number
from tests.sandbox import Sandbox

pytestmark = pytest.mark.django_db

P, D, S, F, N, C = (
    EffectState.PENDING,
    EffectState.DISPATCHING,
    EffectState.SUCCEEDED,
    EffectState.FAILED,
    EffectState.NEEDS_RECONCILIATION,
    EffectState.CANCELLED,
)


@dataclass(frozen=True, slots=True)
class Place:
    """An effect where a walk begins, its provider, and what a worker holds of it."""

    provider: Sandbox
    effect: Effect
    held: Claimed | None = None


# ---- where walks begin -----------------------------------------------------------------------------------


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
    revoke_its_approval(place)
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
    ask_who_cannot_tell(place)
    provider.control.lookup = True
    return place


def unknown_and_revoked(provider: Sandbox) -> Place:
    place = unknown(provider)
    revoke_its_approval(place)
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
    send(mode)(claimed_at(place))
    place.effect.refresh_from_db()
    return place


# ---- what their owners do --------------------------------------------------------------------------------


def claim_it(place: Place) -> None:
    assert claimed_when_due(place) == [place.effect.pk]


def refuse_to_claim_it(place: Place) -> None:
    assert claimed_when_due(place) == []


def claimed_when_due(place: Place) -> list[str]:
    DestinationPause.objects.all().delete()
    place.effect.refresh_from_db()
    change(place.effect, next_at=now())
    return ids(claim("worker-1"))


def refuse_to_claim_what_was_revoked_in_advance(place: Place) -> None:
    row = StandingApproval.objects.get()
    revoke_standing_approval(cast.ben(), standing_ref(row.pk), number(), "The season is over.")
    refuse_to_claim_it(place)


def send(mode: str) -> Callable[[Place], None]:
    """The worker that holds it sends, to a provider that does this, and records what came of it."""

    def send_it(place: Place) -> None:
        place.provider.fails_once(mode)
        assert place.held is not None
        record(place.held, ADAPTERS[place.held.adapter].send(place.held.target, place.held.sending))

    return send_it


def close_its_lease(place: Place) -> None:
    assert reconcile() == Pass(closed=1, asked=0)


def ask_the_provider(place: Place) -> None:
    assert reconcile() == Pass(closed=0, asked=1)


def ask_who_cannot_tell(place: Place) -> None:
    place.provider.control.lookup = False
    ask_the_provider(place)


def ask_as_an_admin(place: Place) -> None:
    look_up_now(cast.dora(), place.effect.pk, LookupRequest(number()))


def revoke_its_approval(place: Place) -> None:
    review.revoke(cast.ben(), review.approval_of(place.effect))


def find_that_it_happened(place: Place) -> None:
    judge(place.effect, Finding.HAPPENED, provider_request_id="p-7")


def find_that_it_did_not_happen(place: Place) -> None:
    confirmed(place.effect, judge(place.effect, Finding.DID_NOT_HAPPEN))


def mark_it_as_failed(place: Place) -> None:
    confirmed(place.effect, order(place.effect, RepairKind.MARK_FAILED))


def order_a_resend(place: Place) -> None:
    confirmed(place.effect, order(place.effect, RepairKind.RESEND))


def release_it(place: Place) -> None:
    order(place.effect, RepairKind.RELEASE)


# ---- the walks -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Walk:
    """One way to go on: its owner, in the words of the table of runs; where it begins; and what the owner does."""

    owner: str
    begin: Callable[[Sandbox], Place]
    go: Callable[[Place], None]
    actor: str  # who did it, as the ledger tells

    def __str__(self) -> str:
        return f"{self.begin.__name__}, by {self.owner}"


DISPATCH, WORKER, RECONCILER = "system:dispatch", "system:worker-1", "system:reconciler"
REVIEWER, ADMIN = "user:ben", "user:dora"

A_CLAIM, A_REFUSED_CLAIM = "a worker's claim", "a claim that is refused"
THE_ANSWER, NO_ANSWER = "the provider's answer", "an attempt or a look-up that leaves it unknown"
WHO_REVOKES, WHO_RELEASES = "a reviewer who revokes", "an admin who releases from quarantine"

#: Every step of the table, with each of its owners going it.
WALKS: dict[tuple[EffectState, EffectState], tuple[Walk, ...]] = {
    (P, D): (Walk(A_CLAIM, authorized, claim_it, DISPATCH),),
    (P, C): (
        Walk(WHO_REVOKES, authorized, revoke_its_approval, REVIEWER),
        Walk(A_REFUSED_CLAIM, authorized_in_advance, refuse_to_claim_what_was_revoked_in_advance, DISPATCH),
    ),
    (P, N): (Walk(WHO_RELEASES, quarantined_before_it_was_claimed, release_it, ADMIN),),
    (D, S): (
        Walk(THE_ANSWER, held, send("ok"), WORKER),
        Walk(THE_ANSWER, waiting_to_be_asked_about, ask_the_provider, RECONCILER),
    ),
    (D, F): (
        Walk(THE_ANSWER, held, send("refuse"), WORKER),
        Walk("a last attempt that never left", held_for_the_last_time, send("ok"), WORKER),
    ),
    (D, C): (
        Walk(WHO_REVOKES, waiting_to_be_sent, revoke_its_approval, REVIEWER),
        Walk(
            A_REFUSED_CLAIM,
            waiting_to_be_sent_as_approved_in_advance,
            refuse_to_claim_what_was_revoked_in_advance,
            DISPATCH,
        ),
        Walk("an attempt that did nothing after a revocation", held_although_revoked, send("refuse"), WORKER),
    ),
    (D, N): (
        Walk(NO_ANSWER, held, send("drop-before-apply"), WORKER),
        Walk(NO_ANSWER, held_by_a_lost_worker, close_its_lease, WORKER),
        Walk(NO_ANSWER, waiting_to_be_asked_about, ask_who_cannot_tell, RECONCILER),
        Walk(A_REFUSED_CLAIM, waiting_too_long_to_be_repeated, refuse_to_claim_it, DISPATCH),
        Walk(WHO_RELEASES, quarantined_in_flight, release_it, ADMIN),
    ),
    (N, S): (
        Walk("an admin's verdict", unknown, find_that_it_happened, ADMIN),
        Walk(THE_ANSWER, unknown_as_the_provider_could_not_tell, ask_as_an_admin, ADMIN),
    ),
    (N, F): (Walk("an admin's repair", found_not_to_have_happened, mark_it_as_failed, ADMIN),),
    (N, D): (Walk("an admin who orders a resend", found_not_to_have_happened, order_a_resend, ADMIN),),
    (N, C): (
        Walk("an admin's verdict on a revoked approval", unknown_and_revoked, find_that_it_did_not_happen, ADMIN),
        Walk(WHO_REVOKES, found_not_to_have_happened, revoke_its_approval, REVIEWER),
    ),
}
#: What goes on and leaves the state as it is.
WITHIN: tuple[Walk, ...] = (
    Walk(A_CLAIM, waiting_to_be_sent, claim_it, DISPATCH),
    Walk(A_CLAIM, waiting_to_be_repeated, claim_it, DISPATCH),
    Walk("a look-up that proves nothing yet", lost_for_who_can_be_asked, ask_the_provider, RECONCILER),
    Walk(WHO_RELEASES, unknown_in_quarantine, release_it, ADMIN),
)
STEPS = [pytest.param(*step, walk, id=f"{step[0]} to {step[1]}: {walk}") for step in WALKS for walk in WALKS[step]]


@pytest.mark.parametrize(("start", "stop", "walk"), STEPS)
def test_each_way_out_is_gone_by_its_owner_and_the_run_goes_along(
    provider: Sandbox, start: EffectState, stop: EffectState, walk: Walk
) -> None:
    place = walk.begin(provider)
    assert standing() == (start, RUN_STATUS[start])

    walk.go(place)

    assert standing() == (stop, RUN_STATUS[stop])
    told = LedgerEntry.objects.filter(touched__contains=["status"]).order_by("-seq")[0]
    assert (told.version, told.actor) == (cast.reading(REFUND).version, walk.actor)


def standing() -> tuple[str, str]:
    """The state of the effect, and of its run."""
    return Effect.objects.get().state, cast.reading(REFUND).state.status


# ---- whether that is all of it ---------------------------------------------------------------------------


def test_the_ways_that_are_gone_are_those_of_the_table() -> None:
    assert WALKS.keys() == LEGAL_STEPS


def test_every_state_but_an_end_has_a_way_out() -> None:
    assert {start for start, _ in WALKS} == set(EffectState) - ENDS


def test_who_goes_a_way_is_who_the_table_of_runs_names_for_it() -> None:
    walked = {(RUN_STATUS[start], RUN_STATUS[stop]): owners(walks) for (start, stop), walks in WALKS.items()}

    assert walked == {step: RUN_STEPS[step] for step in walked}


def owners(walks: Sequence[Walk]) -> str:
    """Those who go a way, each once, in words."""
    *others, last = dict.fromkeys(walk.owner for walk in walks)
    return f"{', '.join(others)}, or {last}" if others else last


@pytest.mark.parametrize("walk", WITHIN, ids=str)
def test_what_goes_on_within_a_state_is_gone_by_its_owner(provider: Sandbox, walk: Walk) -> None:
    place = walk.begin(provider)
    before, version = standing(), Effect.objects.get().version

    walk.go(place)

    assert standing() == before
    assert Effect.objects.get().version > version
    assert LedgerEntry.objects.order_by("-seq")[0].actor == walk.actor


# ---- whether it is told ----------------------------------------------------------------------------------

ALL = (*(walk for walks in WALKS.values() for walk in walks), *WITHIN)
PLACES = {walk.begin.__name__: walk.begin for walk in ALL}


@pytest.mark.parametrize("name", PLACES)
def test_whoever_the_api_says_is_next_can_go_on_from_there(provider: Sandbox, name: str) -> None:
    begin = PLACES[name]
    begin(provider)

    assert said_to_be_next() in {walk.actor for walk in ALL if walk.begin is begin}


#: Next step -> who takes it.
TAKES = {"send": DISPATCH, "replay": DISPATCH, "look-up": RECONCILER, "person": ADMIN}


def said_to_be_next() -> str:
    """Who is next, as far as the API tells somebody who reads about the effect."""
    told = tell_effect(load_case(cast.eli(), Effect.objects.get().pk))
    assert told["next_step"]["because"]
    if told["quarantined"]:
        return ADMIN
    return f"system:{told['lease']['owner']}" if told["lease"] else TAKES[told["next_step"]["step"]]


@pytest.mark.parametrize("state", sorted(set(EffectState) - ENDS))
def test_the_page_of_a_run_names_somebody_who_moves_its_effect_on(state: EffectState) -> None:
    said = STORIES[RUN_STATUS[state]].next_step.lower()
    owners = " ".join(walk.owner for (start, _), walks in WALKS.items() if start is state for walk in walks)

    named = [noun for noun in ("worker", "reviewer", "provider", "admin") if noun in said]

    assert named
    assert all(noun in owners for noun in named)
