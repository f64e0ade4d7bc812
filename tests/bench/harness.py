"""Running cases side by side: interleaved rounds, medians, and a table of ratios. No round is ever dropped."""

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

ROUNDS = 5

Measure = Callable[[], float]


@dataclass(frozen=True)
class Goal:
    """What a figure has to reach, as a ratio of two cases."""

    number: str
    what: str
    ours: str
    anchor: str
    least: float
    stretch: float | None = None


@dataclass
class Results:
    """The figures of every case, one per round."""

    rounds: dict[str, list[float]] = field(default_factory=dict)

    def median(self, case: str) -> float:
        return statistics.median(self.rounds[case])

    def ratio(self, ours: str, anchor: str) -> float:
        return self.median(ours) / self.median(anchor)


def interleave(cases: Mapping[str, Measure], rounds: int = ROUNDS) -> Results:
    """Measure every case once a round, so that a noisy moment of the machine meets all of them."""
    results = Results()
    for number in range(rounds):
        for name, measure in cases.items():
            figure = measure()
            results.rounds.setdefault(name, []).append(figure)
            print(f"  round {number + 1}  {name:<28} {figure:>10.1f}", file=sys.stderr, flush=True)
    return results


def clients(count: int, command: Sequence[str], environment: Mapping[str, str]) -> float:
    """Run `count` client processes at once; each prints how many operations a second it did. Their sum."""
    running = [
        subprocess.Popen([*command, str(number)], env=dict(environment), stdout=subprocess.PIPE, text=True)
        for number in range(count)
    ]
    figures = []
    for process in running:
        out, _ = process.communicate()
        if process.returncode:
            raise RuntimeError(f"{' '.join(command)} failed")
        figures.append(float(json.loads(out.strip().splitlines()[-1])))
    return sum(figures)


def table(goals: Sequence[Goal], results: Results) -> list[str]:
    """One line per goal: the ratio that was seen beside the one to reach."""
    lines = []
    for goal in goals:
        if goal.ours not in results.rounds or goal.anchor not in results.rounds:
            continue
        ratio = results.ratio(goal.ours, goal.anchor)
        verdict = "met" if ratio >= goal.least else "NOT MET"
        stretch = f", stretch {goal.stretch:.2f}" if goal.stretch else ""
        figures = f"{results.median(goal.ours):,.0f}/s beside {results.median(goal.anchor):,.0f}/s"
        lines.append(
            f"{goal.number:<4}{goal.what:<58}{ratio:>7.2f} x  (goal {goal.least:.2f}{stretch}: {verdict}; {figures})"
        )
    return lines
