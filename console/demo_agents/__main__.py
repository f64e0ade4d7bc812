"""One process of the demo: `python -m console.demo_agents NAME`, with its address and credential on standard input."""

import json
import logging
import sys
from random import Random

from console.demo_agents import parts
from console.demo_agents.bad_day import BadDay
from console.demo_agents.desk import Credential, Desk
from console.demo_agents.errands import Worker
from console.demo_agents.intake import Intake
from console.demo_agents.pace import Pace, Stopped

THINKING = {"classifier": parts.classifier, "pricing": parts.pricing, "demo-operator": parts.operator}


def main(name: str) -> None:
    """Work until a signal ends it."""
    given = json.load(sys.stdin)
    pace = Pace(given["speed"])
    pace.end_on_signals()
    logging.getLogger("httpx").setLevel(logging.WARNING)
    desk = Desk(given["url"], Credential(**given["credential"]), pace)
    part: Intake | BadDay | Worker
    match name:
        case "intake":
            part = Intake(desk, pace, Random(given.get("seed")))
        case "demo-reviewer":
            part = BadDay(name, desk, pace, given["provider"])
        case _:
            part = Worker(name, desk, pace, THINKING[name], parts.leave_to_a_person)
    try:
        part.work()
    except Stopped:
        desk.close()


main(sys.argv[1])
