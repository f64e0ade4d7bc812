"""Where conflicts keep meeting: a share that stays, not one bad hour."""

from runs.concentration import sustained


def names(counts: list[dict[str, int]], totals: list[int]) -> list[str]:
    return [found.name for found in sustained(counts, totals)]


def test_a_field_that_meets_most_conflicts_all_the_time_stands_out() -> None:
    counts = [{"category": 4, "amount": 1}, {"category": 5}, {"category": 3, "amount": 2}, {"category": 6}]

    (found,) = sustained(counts, [5, 5, 5, 6])

    assert (found.name, found.count, found.percent, found.stretches, found.of_stretches) == ("category", 18, 86, 4, 4)


def test_one_busy_stretch_is_bad_luck() -> None:
    assert names([{"category": 40}, {}, {"amount": 1}, {"tags": 1}], [40, 0, 1, 1]) == []


def test_few_conflicts_say_nothing() -> None:
    assert names([{"category": 3}, {"category": 3}, {"category": 3}], [3, 3, 3]) == []


def test_conflicts_that_spread_over_many_names_say_nothing() -> None:
    counts = [{"a": 2, "b": 2, "c": 2, "d": 2}] * 5

    assert names(counts, [8] * 5) == []


def test_quiet_stretches_do_not_count_against_it() -> None:
    counts = [{"category": 4}, {}, {}, {"category": 4}, {}, {"category": 4}]

    assert names(counts, [4, 0, 0, 4, 0, 4]) == ["category"]


def test_a_name_that_stands_out_in_too_few_busy_stretches_is_not_sustained() -> None:
    counts = [{"category": 10}, {"category": 10}, {"category": 10}, {"x": 2}, {"y": 2}, {"z": 2}]

    assert names(counts, [10, 10, 10, 2, 2, 2]) == []


def test_the_largest_comes_first_and_both_are_told_when_one_conflict_touches_two() -> None:
    counts = [{"amount": 4, "currency": 3}] * 4

    assert names(counts, [4] * 4) == ["amount", "currency"]


def test_nothing_at_all_is_nothing() -> None:
    assert sustained([], []) == []
    assert sustained([{}, {}], [0, 0]) == []
