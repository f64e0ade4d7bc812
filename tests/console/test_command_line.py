"""Who is recorded for what the command line does."""

import getpass
import os

import pytest

from console import command_line


def test_the_actor_is_the_person_of_the_operating_system() -> None:
    assert command_line.actor() == f"cli:{getpass.getuser()}"


def test_a_user_without_a_name_is_recorded_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda uid: {}[uid])

    assert command_line.actor() == f"cli:{os.getuid()}"
