"""The history checker is seen to fail: one lie in an honest history, one fault found."""

from dataclasses import replace
from typing import Any

import pytest

from tests.stress.history import Call, Entry, History

A, B = "agent:a", "agent:b"


def sent(caller: str, number: str, at: float, *, took: float = 0.5, status: int = 201, **body: Any) -> Call:
    return Call(caller, "R-1", at, number, answered=at + took, status=status, body=body)


def read(at: float, version: int) -> Call:
    return Call(A, "R-1", at, answered=at + 0.1, status=200, body={"version": version})


def asked(caller: str, number: str, at: float, status: int = 200, **body: Any) -> Call:
    return Call(caller, "R-1", at, number, asks=True, answered=at + 0.1, status=status, body=body)


def committed(version: int) -> dict[str, Any]:
    return {"outcome": "committed", "version": version}


CREATED = Entry("R-1", 1, 1, "run.created", "user:ada", "new")

#: Two agents write; one answer is lost and asked for; one command is rejected; somebody reads.
CALLS = [
    sent(A, "c-1", 1, **committed(2)),
    sent(B, "c-2", 1.2, took=2, **committed(3)),
    Call(A, "R-1", 4, "c-3"),
    asked(A, "c-3", 5, state="committed", outcome=committed(4)),
    sent(B, "c-4", 6, status=412, disposition="reject", current_version=4),
    sent(A, "c-1", 7, status=200, **committed(2), replayed=True),
    read(8, 4),
    asked(B, "c-never", 9, status=404),
]
ENTRIES = [
    CREATED,
    Entry("R-1", 2, 2, "command.committed", A, "c-1"),
    Entry("R-1", 3, 3, "command.committed", B, "c-2"),
    Entry("R-1", 4, 4, "command.committed", A, "c-3"),
    Entry("R-1", 5, 4, "command.rejected", B, "c-4"),
]


def faults(calls: list[Call], entries: list[Entry]) -> list[str]:
    return list(History(calls, entries).faults())


def test_an_honest_history_has_no_faults() -> None:
    assert faults(CALLS, ENTRIES) == []


def test_overlapping_commands_may_take_effect_in_either_order() -> None:
    calls = [sent(A, "c-1", 1, took=9, **committed(3)), sent(B, "c-2", 2, took=1, **committed(2))]
    entries = [
        CREATED,
        *(Entry("R-1", n, n, "command.committed", who, c) for n, who, c in ((2, B, "c-2"), (3, A, "c-1"))),
    ]

    assert faults(calls, entries) == []


@pytest.mark.parametrize(
    ("lie", "words"),
    [
        pytest.param(sent(A, "c-9", 9, status=500, code="internal"), "answered 500 internal", id="a server error"),
        pytest.param(sent(A, "c-9", 9, **committed(5)), "and the ledger tells []", id="a lost update"),
        pytest.param(sent(A, "c-1", 9, **committed(9)), "was answered", id="another answer to a repeat"),
        pytest.param(
            sent(A, "c-9", 9, status=412, disposition="escalate"), "was answered escalated", id="an untold escalation"
        ),
        pytest.param(read(9, 3), "version 3 after 4 was known", id="an old read"),
        pytest.param(asked(A, "c-3", 9, status=404), "was never seen", id="a forgotten id"),
    ],
)
def test_an_answer_that_the_ledger_contradicts_is_found(lie: Call, words: str) -> None:
    (fault,) = faults([*CALLS, lie], ENTRIES)

    assert words in fault


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        pytest.param(ENTRIES[:3] + ENTRIES[4:], "an entry is missing", id="a gap"),
        pytest.param([*ENTRIES, replace(ENTRIES[4], seq=6, version=6)], "a version is missing", id="a version gap"),
        pytest.param([*ENTRIES, replace(ENTRIES[1], seq=6, version=5)], "took effect 2 times", id="twice"),
        pytest.param([*ENTRIES, replace(ENTRIES[1], seq=6, version=5, id="c-x")], "nobody sent", id="from nowhere"),
        pytest.param([*ENTRIES[:4], replace(ENTRIES[4], kind="x")], "does not tell it", id="an untold rejection"),
    ],
)
def test_a_ledger_that_the_answers_contradict_is_found(entries: list[Entry], words: str) -> None:
    assert any(words in fault for fault in faults(CALLS, entries))


def test_an_effect_that_nobody_heard_of_is_found() -> None:
    calls = [sent(A, "c-1", 1, status=409, code="invalid-transition")]

    assert faults(calls, ENTRIES[:2]) == ["R-1 c-1 of agent:a: took effect, and nobody was told"]


def test_a_version_acknowledged_before_something_was_sent_is_lower() -> None:
    calls = [sent(A, "c-1", 1, **committed(3)), sent(B, "c-2", 5, **committed(2))]
    entries = [
        CREATED,
        *(Entry("R-1", n, n, "command.committed", who, c) for n, who, c in ((2, B, "c-2"), (3, A, "c-1"))),
    ]

    assert faults(calls, entries) == ["R-1 c-2 of agent:b: version 2 after 3 was known"]
