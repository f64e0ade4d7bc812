"""The states of an effect: which step leads where, what each makes of its run, and what an outcome proves."""

from itertools import product

import pytest

from outbox.states import ENDS, LEGAL_STEPS, RUN_STATUS, EffectState, Outcome
from runs.states import LEGAL_STEPS as RUN_STEPS

P, D, S, F, N, C = (
    EffectState.PENDING,
    EffectState.DISPATCHING,
    EffectState.SUCCEEDED,
    EffectState.FAILED,
    EffectState.NEEDS_RECONCILIATION,
    EffectState.CANCELLED,
)

#: State -> what it may become; everything else it may not.
MAY_BECOME = {
    P: {D, C, N},
    D: {S, F, C, N},
    N: {S, F, D, C},
    S: set(),
    F: set(),
    C: set(),
}


@pytest.mark.parametrize(("start", "stop"), list(product(EffectState, EffectState)))
def test_every_pair_of_states_is_decided(start: EffectState, stop: EffectState) -> None:
    assert ((start, stop) in LEGAL_STEPS) is (stop in MAY_BECOME[start])


def test_the_ends_are_the_states_that_nothing_leaves() -> None:
    assert {state for state in EffectState if not MAY_BECOME[state]} == ENDS
    assert {state for state in EffectState if state.is_end} == ENDS


@pytest.mark.parametrize(
    ("state", "status"),
    [
        (P, "approved"),
        (D, "dispatching"),
        (S, "sent"),
        (F, "failed"),
        (N, "needs_reconciliation"),
        (C, "revoked"),
    ],
)
def test_a_run_follows_its_effect(state: EffectState, status: str) -> None:
    assert RUN_STATUS[state] == status


def test_no_step_of_an_effect_asks_its_run_for_a_step_that_it_may_not_take() -> None:
    steps = {(RUN_STATUS[start], RUN_STATUS[stop]) for start, stop in LEGAL_STEPS}

    assert steps <= RUN_STEPS.keys()


@pytest.mark.parametrize(
    ("outcome", "proves"),
    [
        (Outcome.ACCEPTED, False),
        (Outcome.REFUSED, True),
        (Outcome.THROTTLED, True),
        (Outcome.NEVER_LEFT, True),
        (Outcome.UNKNOWN, False),
    ],
)
def test_only_these_outcomes_prove_that_their_attempt_did_nothing(outcome: Outcome, proves: bool) -> None:
    assert outcome.proves_nothing_happened is proves
