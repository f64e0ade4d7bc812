"""Bars over time, as numbers that an SVG template can draw. Pure: geometry alone, no HTML.

A chart is never alone: the page has the same numbers as a table beside it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

WIDTH, HEIGHT = 900, 220
LEFT, RIGHT, TOP, BOTTOM = 36, 4, 8, 24
GAP = 2
TICKS = 4


@dataclass(frozen=True, slots=True)
class Bar:
    """A piece of a bar: of which series, where, and how large."""

    series: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Tick:
    """A line across the chart with its number."""

    y: float
    label: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A place below the chart where a stretch of time begins."""

    x: float
    index: int


@dataclass(frozen=True, slots=True)
class StackedBars:
    """A chart of stacked bars: one bar for each stretch of time, one piece for each series."""

    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    marks: tuple[Mark, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    base: int = HEIGHT - BOTTOM

    @property
    def right(self) -> int:
        return self.width - RIGHT


def stacked_bars(stretches: Sequence[Mapping[str, int]], series: Sequence[str], marks: int = 6) -> StackedBars:
    """The chart of these counts; `marks` places below it are named."""
    top = _round_top(max((sum(counts.values()) for counts in stretches), default=0))
    step = (WIDTH - LEFT - RIGHT) / max(1, len(stretches))
    bars: list[Bar] = []
    for index, counts in enumerate(stretches):
        height = 0
        for name in series:
            if count := counts.get(name, 0):
                height += count
                y = _y(height, top)
                bars.append(
                    Bar(
                        name,
                        _rounded(LEFT + index * step + GAP / 2),
                        y,
                        _rounded(step - GAP),
                        _rounded(_y(0, top) - _y(count, top)),
                    )
                )
    every = max(1, ceil(len(stretches) / marks))
    named = tuple(Mark(_rounded(LEFT + index * step), index) for index in range(0, len(stretches), every))
    ticks = tuple(Tick(_y(top * at // TICKS, top), top * at // TICKS) for at in range(TICKS + 1))
    return StackedBars(tuple(bars), ticks, named)


def _y(count: float, top: int) -> float:
    return _rounded(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * count / top)


def _round_top(most: int) -> int:
    """The top of the scale: the next number of the form 4, 8, 12, 20, 40, 80, 120 … that nothing is above."""
    if most <= TICKS:
        return TICKS
    power = int(10 ** floor(log10(most / TICKS)))
    return next(TICKS * factor * power for factor in (1, 2, 3, 5, 10) if TICKS * factor * power >= most)


def _rounded(value: float) -> float:
    return round(value, 2)
