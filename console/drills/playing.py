"""A whole set of drills: which there are, in which order they are played, and the report."""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from console.drills import answers, broker, database, dying, stage, workers
from console.drills.catalogue import Drill, Result, run
from console.drills.harness import Installation

DRILLS: tuple[Drill, ...] = (*dying.DRILLS, *workers.DRILLS, *broker.DRILLS, *database.DRILLS, *answers.DRILLS)


def chosen(names: Sequence[str]) -> list[Drill]:
    """The drills of these names, or all. Raises `LookupError` with the names that are none."""
    if unknown := sorted(set(names) - {drill.name for drill in DRILLS}):
        raise LookupError(", ".join(unknown))
    return [drill for drill in DRILLS if not names or drill.name in names]


def play(drills: Sequence[Drill], home: Path, seed: int, say: Callable[[str], None]) -> list[Result]:
    """Play the drills one after another in one installation. The seed decides their order and their amounts."""
    chance = random.Random(seed)
    order = chance.sample(drills, len(drills))
    results = []
    with Installation(home) as installation:
        stage.prepare()
        for drill in order:
            result = run(drill, installation, chance)
            say(result.as_line())
            if not result.held:
                say(installation.end_of_log("worker"))
            results.append(result)
    return results


def write_report(file: Path, seed: int, results: Sequence[Result]) -> None:
    """The same as the lines, for programs."""
    report = {
        "held": all(result.held for result in results),
        "seed": seed,
        "drills": [asdict(result) for result in results],
    }
    file.write_text(json.dumps(report, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
