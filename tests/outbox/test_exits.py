"""Every way out of every state of an effect, gone by whoever owns it: no effect is ever left where nobody moves it on.

A walk begins where real actions brought an effect and takes one real action of its owner: a worker's claim or record,
the reconciler's pass, a reviewer's revocation, an admin's verdict, repair or release. What was walked is compared with
the table of states, so that a step that is added without a walk fails here; and with whom the table of runs names as
the owners of that step.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from outbox.cases import load_case
from outbox.models import Effect
from outbox.queries import tell_effect
from outbox.states import ENDS, LEGAL_STEPS, RUN_STATUS, EffectState
from runs.models import LedgerEntry
from runs.states import LEGAL_STEPS as RUN_STEPS
from runs.states import STORIES
from tests import cast
from tests.outbox import deeds, places
from tests.outbox.deeds import Place
from tests.outbox.test_states import C, D, F, N, P, S
from tests.review import REFUND
from tests.sandbox import Sandbox

pytestmark = pytest.mark.django_db


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
    (P, D): (Walk(A_CLAIM, places.authorized, deeds.claim_now, DISPATCH),),
    (P, C): (
        Walk(WHO_REVOKES, places.authorized, deeds.revoke, REVIEWER),
        Walk(
            A_REFUSED_CLAIM, places.authorized_in_advance, deeds.refuse_to_claim_what_was_revoked_in_advance, DISPATCH
        ),
    ),
    (P, N): (Walk(WHO_RELEASES, places.quarantined_before_it_was_claimed, deeds.release, ADMIN),),
    (D, S): (
        Walk(THE_ANSWER, places.held, deeds.send("ok"), WORKER),
        Walk(THE_ANSWER, places.waiting_to_be_asked_about, deeds.ask, RECONCILER),
    ),
    (D, F): (
        Walk(THE_ANSWER, places.held, deeds.send("refuse"), WORKER),
        Walk("a last attempt that never left", places.held_for_the_last_time, deeds.send("ok"), WORKER),
    ),
    (D, C): (
        Walk(WHO_REVOKES, places.waiting_to_be_sent, deeds.revoke, REVIEWER),
        Walk(
            A_REFUSED_CLAIM,
            places.waiting_to_be_sent_as_approved_in_advance,
            deeds.refuse_to_claim_what_was_revoked_in_advance,
            DISPATCH,
        ),
        Walk(
            "an attempt that did nothing after a revocation", places.held_although_revoked, deeds.send("refuse"), WORKER
        ),
    ),
    (D, N): (
        Walk(NO_ANSWER, places.held, deeds.send("drop-before-apply"), WORKER),
        Walk(NO_ANSWER, places.held_by_a_lost_worker, deeds.close_lease, WORKER),
        Walk(NO_ANSWER, places.waiting_to_be_asked_about, deeds.ask_who_cannot_tell, RECONCILER),
        Walk(A_REFUSED_CLAIM, places.waiting_too_long_to_be_repeated, deeds.refuse_to_claim, DISPATCH),
        Walk(WHO_RELEASES, places.quarantined_in_flight, deeds.release, ADMIN),
    ),
    (N, S): (
        Walk("an admin's verdict", places.unknown, deeds.find_that_it_happened, ADMIN),
        Walk(THE_ANSWER, places.unknown_as_the_provider_could_not_tell, deeds.ask_as_an_admin, ADMIN),
    ),
    (N, F): (Walk("an admin's repair", places.found_not_to_have_happened, deeds.mark_as_failed, ADMIN),),
    (N, D): (Walk("an admin who orders a resend", places.found_not_to_have_happened, deeds.order_resend, ADMIN),),
    (N, C): (
        Walk(
            "an admin's verdict on a revoked approval",
            places.unknown_and_revoked,
            deeds.find_that_it_did_not_happen,
            ADMIN,
        ),
        Walk(WHO_REVOKES, places.found_not_to_have_happened, deeds.revoke, REVIEWER),
    ),
}
#: What goes on and leaves the state as it is.
WITHIN: tuple[Walk, ...] = (
    Walk(A_CLAIM, places.waiting_to_be_sent, deeds.claim_now, DISPATCH),
    Walk(A_CLAIM, places.waiting_to_be_repeated, deeds.claim_now, DISPATCH),
    Walk("a look-up that proves nothing yet", places.lost_for_who_can_be_asked, deeds.ask, RECONCILER),
    Walk(WHO_RELEASES, places.unknown_in_quarantine, deeds.release, ADMIN),
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
