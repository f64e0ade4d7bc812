"""The quickest drills, played as people play them, and what the command does with its words and its end."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from console.drills.harness import Installation
from console.drills.observing import Broken

QUICK = ("answer-dropped", "bell-repeated")


def drill(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", "drill", *arguments]
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "console.settings"}
    return subprocess.run(
        command, cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True, check=False, timeout=110
    )


@pytest.mark.timeout(120)
def test_the_quickest_drills_hold(tmp_path: Path) -> None:
    report = tmp_path / "report.json"

    done = drill(*QUICK, "--seed", "7", "--json", str(report))

    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(report.read_text())
    assert (told["held"], told["seed"]) == (True, 7)
    assert sorted(result["name"] for result in told["drills"]) == sorted(QUICK)
    lines = [line for line in done.stdout.splitlines() if line.startswith("held ")]
    assert len(lines) == len(QUICK)


def test_a_drill_nobody_knows_is_refused_before_anything_starts() -> None:
    done = drill("earthquake")

    assert done.returncode == 1
    assert "There is no drill earthquake." in done.stderr


def test_drills_refuse_a_home_that_was_not_made_for_them(tmp_path: Path) -> None:
    with pytest.raises(Broken, match="was not made for drills"):
        Installation(tmp_path)

    assert not list(tmp_path.iterdir())
