"""The doctor on installations that are not well; `test_up` shows it one that is."""

import io
import os
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from console.diagnosis import Finding, Level, examine
from runs.administration import set_halt
from tests.cast import SETUP


def findings(subject: str) -> list[Finding]:
    return [finding for finding in examine() if finding.subject == subject]


@pytest.mark.django_db
def test_each_finding_that_is_not_fine_has_a_remedy(settings: Settings, tmp_path: Path) -> None:
    settings.CLEARANCE_HOME = tmp_path / "nowhere"
    settings.REDIS_URL = f"unix://{tmp_path}/nowhere.sock"

    found = list(examine())

    assert not [finding for finding in found if finding.level is not Level.OK and not finding.remedy]
    assert {finding.subject for finding in found if finding.level is Level.FAULT} == {"home", "broker"}


@pytest.mark.django_db
def test_secrets_others_can_read_are_a_fault_with_the_command_that_mends_it(settings: Settings, tmp_path: Path) -> None:
    settings.CLEARANCE_HOME = tmp_path
    (tmp_path / "secrets.json").touch(mode=0o644)
    os.chmod(tmp_path / "secrets.json", 0o644)

    fault = findings("home")[0]

    assert (fault.level, fault.remedy) == (Level.FAULT, f"chmod 600 {tmp_path / 'secrets.json'}")


@pytest.mark.django_db
def test_one_database_role_for_everything_is_noted(settings: Settings) -> None:
    settings.APP_DATABASE_ROLE = settings.OWNER_DATABASE_ROLE

    assert [finding.level for finding in findings("database")] == [Level.OK, Level.NOTE]


@pytest.mark.django_db
def test_a_database_restored_behind_our_back_is_a_fault(settings: Settings, tmp_path: Path) -> None:
    settings.CLEARANCE_HOME = tmp_path
    (tmp_path / "ledger_epoch").write_text("7\n")

    assert [(finding.level, finding.remedy) for finding in findings("ledger")] == [
        (Level.FAULT, "Run manage.py quarantine before anything is sent.")
    ]


@pytest.mark.django_db
def test_a_halt_is_noted_with_its_reason(settings: Settings) -> None:
    set_halt(True, SETUP)

    assert "setting the scene" in findings("halt")[0].text


@pytest.mark.django_db
def test_a_port_nobody_answers_on_is_noted(settings: Settings) -> None:
    settings.CLEARANCE_PORT = 1

    assert findings("web on port 1")[0].text == "does not answer"


@pytest.mark.django_db
def test_a_fault_makes_the_command_fail(settings: Settings, tmp_path: Path) -> None:
    settings.CLEARANCE_HOME = tmp_path / "nowhere"
    output = io.StringIO()

    with pytest.raises(CommandError, match="1 to be mended"):
        call_command("doctor", stdout=output)

    assert "FAULT  home" in output.getvalue()
