"""Bars over time: every count is drawn to scale, and none leaves the picture."""

from hypothesis import given
from hypothesis import strategies as st

from console.charts import BOTTOM, HEIGHT, LEFT, TICKS, TOP, WIDTH, stacked_bars

SERIES = ("merge", "retry")
BASE = HEIGHT - BOTTOM


def test_nothing_is_an_empty_chart_with_a_scale() -> None:
    chart = stacked_bars([{}, {}], SERIES)

    assert chart.bars == ()
    assert [tick.label for tick in chart.ticks] == [0, 1, 2, 3, 4]
    assert (chart.ticks[0].y, chart.ticks[-1].y) == (BASE, TOP)


def test_the_pieces_of_a_bar_stand_on_each_other() -> None:
    merge, retry = stacked_bars([{"merge": 2, "retry": 1}], SERIES).bars

    assert (merge.series, retry.series) == SERIES
    assert merge.y + merge.height == BASE
    assert retry.y + retry.height == merge.y
    assert merge.height == 2 * retry.height


def test_a_scale_ends_with_a_round_number_that_nothing_is_above() -> None:
    for most, top in ((3, 4), (5, 8), (11, 12), (19, 20), (21, 40), (45, 80), (81, 120), (1000, 1200)):
        assert stacked_bars([{"merge": most}], SERIES).ticks[-1].label == top


def test_a_few_places_below_are_named() -> None:
    chart = stacked_bars([{}] * 30, SERIES, marks=6)

    assert [mark.index for mark in chart.marks] == [0, 5, 10, 15, 20, 25]
    assert chart.marks[0].x == LEFT


@given(st.lists(st.dictionaries(st.sampled_from(SERIES), st.integers(0, 10**6)), min_size=1, max_size=40))
def test_nothing_leaves_the_picture(stretches: list[dict[str, int]]) -> None:
    chart = stacked_bars(stretches, SERIES)

    for bar in chart.bars:
        assert bar.x >= LEFT and bar.x + bar.width <= WIDTH
        assert bar.y >= TOP - 0.01 and bar.y + bar.height <= BASE + 0.01
        assert bar.height >= 0
    assert len(chart.ticks) == TICKS + 1
