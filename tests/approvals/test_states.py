"""What state a snapshot is in follows from what refers to it, in every combination."""

import pytest

from approvals.states import SnapshotState, snapshot_state

A, S, D, U = SnapshotState.AUTHORIZED, SnapshotState.ACTIVE, SnapshotState.DENIED, SnapshotState.SUPERSEDED

#: (an effect names it, its run points at it, a deny exists) -> state
TABLE = {
    (True, True, True): A,
    (True, True, False): A,
    (True, False, True): A,
    (True, False, False): A,
    (False, True, True): S,
    (False, True, False): S,
    (False, False, True): D,
    (False, False, False): U,
}


@pytest.mark.parametrize(("facts", "state"), TABLE.items())
def test_a_snapshot_is_what_refers_to_it(facts: tuple[bool, bool, bool], state: SnapshotState) -> None:
    has_effect, is_pointed_at, has_deny = facts

    found = snapshot_state(has_effect=has_effect, is_pointed_at=is_pointed_at, has_deny=has_deny)

    assert found is state
