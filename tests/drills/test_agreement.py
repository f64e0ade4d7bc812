"""What the drills call disagreement between the provider's ledger and ours."""

import pytest

from console.drills.agreement import Ours, Theirs, disagreements

APPLIED = Theirs("pay:1", "sha256:a", applied=True)
RECEIVED = Theirs("pay:1", "sha256:a", applied=False)
WITHOUT_KEY = Theirs("", "sha256:a", applied=True)


def effect(state: str, *, quarantined: bool = False) -> Ours:
    return Ours("pay:1", state, "sha256:a", 2, quarantined)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (effect("succeeded"), [APPLIED]),
        (effect("succeeded"), [WITHOUT_KEY]),
        (effect("succeeded"), [RECEIVED, APPLIED]),
        (effect("needs_reconciliation"), [APPLIED]),
        (effect("needs_reconciliation"), [RECEIVED]),
        (effect("failed"), [RECEIVED]),
        (effect("cancelled"), []),
        (effect("pending", quarantined=True), [APPLIED]),
    ],
)
def test_ledgers_that_tell_the_same_story_agree(ours: Ours, theirs: list[Theirs]) -> None:
    assert not list(disagreements([ours], theirs))


@pytest.mark.parametrize(
    ("ours", "theirs", "because"),
    [
        (effect("succeeded"), [], "pay:1 is called succeeded and never happened"),
        (effect("succeeded"), [RECEIVED], "pay:1 is called succeeded and never happened"),
        (effect("succeeded"), [APPLIED, WITHOUT_KEY], "pay:1 happened 2 times"),
        (effect("needs_reconciliation"), [WITHOUT_KEY, WITHOUT_KEY], "pay:1 happened 2 times"),
        (effect("failed"), [APPLIED], "pay:1 happened and is called failed"),
        (effect("cancelled"), [APPLIED], "pay:1 happened and is called cancelled"),
        (effect("dispatching"), [APPLIED], "pay:1 happened and is called dispatching"),
        (effect("succeeded"), [RECEIVED, RECEIVED, APPLIED], "pay:1 was sent 3 times in 2 attempts"),
        (
            effect("cancelled"),
            [Theirs("pay:1", "sha256:b", applied=False)],
            "the provider was sent bytes that nobody approved (key pay:1)",
        ),
        (
            effect("succeeded"),
            [Theirs("pay:2", "sha256:a", applied=True)],
            "the bytes of pay:1 were sent under the key pay:2",
        ),
    ],
)
def test_every_difference_is_named(ours: Ours, theirs: list[Theirs], because: str) -> None:
    assert list(disagreements([ours], theirs)) == [because]
