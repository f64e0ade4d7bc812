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


#: Drills of guards that are missing from a careless installation, and what each of them has to find there.
MISSED = {
    "late-result": "not seen within 10 s: the late result of",
    "result-kept": "the attempts were taken for unknown and unknown",
}


def drill(*arguments: str, settings_module: str = "console.settings") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", "drill", *arguments]
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": settings_module}
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


@pytest.mark.timeout(120)
def test_drills_are_broken_where_the_guard_is_missing_that_each_is_about(tmp_path: Path) -> None:
    report = tmp_path / "report.json"

    done = drill(*MISSED, "--json", str(report), settings_module="tests.drills.careless")

    assert done.returncode == 1
    told = json.loads(report.read_text())
    assert {result["name"] for result in told["drills"]} == set(MISSED)
    for result in told["drills"]:
        assert not result["held"]
        assert result["found"].startswith(MISSED[result["name"]])


def test_a_drill_nobody_knows_is_refused_before_anything_starts() -> None:
    done = drill("earthquake")

    assert done.returncode == 1
    assert "There is no drill earthquake." in done.stderr


def test_drills_refuse_a_home_that_was_not_made_for_them(tmp_path: Path) -> None:
    with pytest.raises(Broken, match="was not made for drills"):
        Installation(tmp_path)

    assert not list(tmp_path.iterdir())
