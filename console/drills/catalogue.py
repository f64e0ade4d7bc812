"""What a drill is, and how one is judged."""

import random
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass

from console.drills.harness import Installation
from console.drills.observing import Broken
from console.drills.stage import Stage


@dataclass(frozen=True, slots=True)
class Drill:
    """A drill: what is done, in a sentence, and the deed, which gives what was found or raises `Broken`."""

    name: str
    done: str
    play: Callable[[Stage], str]


@dataclass(frozen=True, slots=True)
class Result:
    """What one drill came to."""

    name: str
    done: str
    found: str
    held: bool
    seconds: float

    def as_line(self) -> str:
        verdict = "held  " if self.held else "BROKEN"
        return f"{verdict}  {self.name} ({self.seconds:.1f} s): {self.done} Found: {self.found.rstrip('.')}."


def run(drill: Drill, installation: Installation, chance: random.Random) -> Result:
    """Play one drill with a worker of its own, and check afterwards what has to hold after every one."""
    started = time.monotonic()
    try:
        stage = Stage(drill.name, installation, chance)
        found = drill.play(stage)
        stage.check()
        held = True
    except Broken as broken:
        held, found = False, str(broken)
    except Exception:  # whatever else goes wrong, the other drills are still worth their answer
        held, found = False, traceback.format_exc()
    finally:
        installation.clear_away()
    return Result(drill.name, drill.done, found, held, time.monotonic() - started)
