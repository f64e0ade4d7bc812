"""`manage.py break-glass`: in force without a second person, and said so for ever, everywhere."""

import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from console import command_line
from runs.administration import newest_policy
from runs.models import AuthorityChange, PolicyVersion
from tests import cast
from tests.admins import confirmed, dan, only_step, policy_change
from tests.console.web.visitor import visit

pytestmark = pytest.mark.django_db

ROOT = Path(command_line.__file__).resolve().parent.parent
REASON = "--reason=Nobody else is here."


@pytest.fixture
def waiting() -> str:
    """A looser policy that Dora, the only admin, asked for."""
    cast.workflow()
    ref = policy_change(cast.dora(), separation="relaxed").waiting
    assert ref is not None
    return ref


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("break_glass", *arguments, stdout=out)
    return out.getvalue()


def test_it_is_in_force_and_marked_wherever_it_is_told(waiting: str) -> None:
    printed = run("confirm", waiting, REASON)

    assert "in force: confirm" in printed
    assert "Without a second person: A second admin has to confirm: separation of duties is relaxed." in printed
    assert newest_policy("refund").separation == "relaxed"
    assert PolicyVersion.objects.get(slug="refund", version=2).without_second_person
    change = AuthorityChange.objects.first()
    assert change is not None
    told = json.loads(change.body)["confirmation"]
    assert (change.without_second_person, told["by"], told["because"], told["other_admins"]) == (
        True, command_line.actor(), "Nobody else is here.", 0,
    )  # fmt: skip
    dora = visit(cast.dora())
    for path in ("/workflows/refund/policy/", "/confirmations/?state=settled", "/audit/?kind=workflow."):
        assert "without a second person" in dora.get(path).text


def test_trying_it_out_changes_nothing(waiting: str) -> None:
    printed = run("confirm", waiting, REASON, "--dry-run")

    assert printed.startswith("Would confirm")
    assert only_step().state == "open"


def test_it_needs_a_reason(waiting: str) -> None:
    with pytest.raises(CommandError):
        run("confirm", waiting)
    with pytest.raises(CommandError, match="Say why"):
        run("confirm", waiting, "--reason= ")
    assert only_step().state == "open"


def test_what_was_settled_or_overtaken_stays_so(waiting: str) -> None:
    policy_change(cast.dora(), quorum=2)
    with pytest.raises(CommandError, match="is void: refund has changed"):
        run("confirm", waiting, REASON)

    other = policy_change(cast.dora(), separation="relaxed").waiting
    assert other is not None
    confirmed(dan(), other)
    with pytest.raises(CommandError, match="was confirmed already"):
        run("confirm", other, REASON)


@pytest.mark.parametrize("ref", ["w-nothing", "w-" + "0" * 32])
def test_what_is_no_step_is_refused(waiting: str, ref: str) -> None:
    with pytest.raises(CommandError):
        run("confirm", ref, REASON)


def test_it_is_called_with_a_hyphen(process_environment: dict[str, str]) -> None:
    command = [sys.executable, "manage.py", "break-glass", "confirm", "w-nothing", REASON]

    ended = subprocess.run(
        command, cwd=ROOT, env=os.environ | process_environment, capture_output=True, text=True, check=False
    )

    assert ended.returncode == 1
    assert "Unknown command" not in ended.stderr
