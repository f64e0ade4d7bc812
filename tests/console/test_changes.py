"""Terms that change, told member by member."""

from console.changes import told_changes


def told(now: dict[str, object], wanted: dict[str, object]) -> list[tuple[str, str, str]]:
    return [(change.member, change.difference.old, change.difference.new) for change in told_changes(now, wanted)]


def test_only_what_differs_is_told() -> None:
    assert told({"quorum": 1, "separation": "strict"}, {"quorum": 2, "separation": "strict"}) == [("quorum", "1", "2")]


def test_what_is_not_named_stays_and_is_not_told() -> None:
    assert told({"quorum": 1, "separation": "strict"}, {"quorum": 2}) == [("quorum", "1", "2")]


def test_a_member_of_members_is_told_by_those_also_when_one_is_gone() -> None:
    now: dict[str, object] = {"limits": {"amount": "500.00", "fee": "5.00"}}

    assert told(now, {"limits": {"amount": "900.00"}}) == [
        ("limits.amount", "500.00", "900.00"),
        ("limits.fee", "5.00", ""),
    ]


def test_what_was_not_there_has_no_old_side() -> None:
    assert told({}, {"limits": {"amount": "900.00"}, "quorum": 2}) == [
        ("limits.amount", "", "900.00"),
        ("quorum", "", "2"),
    ]
