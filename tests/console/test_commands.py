"""The commands that change authority: what they print, what they record, what they refuse, what they only try."""

import json
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from console import command_line
from runs import authority
from runs.authority import principal_for_token
from runs.models import Agent, AuthorityChange, Installation, Person
from tests import cast
from tests.unguarded import guards_off

ROOT = Path(command_line.__file__).resolve().parent.parent
REASON = "--reason=the audit asked for it"


def run(*arguments: str) -> str:
    """What a command prints."""
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def last_change() -> AuthorityChange:
    change = AuthorityChange.objects.order_by("-id").first()
    assert change is not None
    return change


# ---- people --------------------------------------------------------------------------------------------------


def test_a_generated_password_is_printed_alone_and_lets_the_person_in(db: None) -> None:
    printed = run("create_person", "ada", "--role", "operator", "auditor", "--group", "refund-operators")

    person = Person.objects.get()
    assert person.check_password(printed.removesuffix("\n"))
    assert (person.roles, person.workflow_groups) == (["auditor", "operator"], ["refund-operators"])


def test_options_may_be_repeated(db: None) -> None:
    run("create_person", "ada", "--role", "operator", "--role", "reviewer", "--group", "a", "--group", "b")

    person = Person.objects.get()
    assert (person.roles, person.workflow_groups) == (["operator", "reviewer"], ["a", "b"])


def test_a_password_from_the_environment_is_not_printed(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADAS_PASSWORD", "a long pass phrase")

    printed = run("create_person", "ada", "--password-env", "ADAS_PASSWORD")

    assert Person.objects.get().check_password("a long pass phrase")
    assert "pass phrase" not in printed


@pytest.mark.parametrize(
    ("options", "is_marked"),
    [
        (["--role", "admin"], True),
        (["--role", "reviewer", "--group", "refund-reviewers"], True),
        (["--role", "auditor"], False),
        ([], False),
    ],
)
def test_whoever_is_made_able_to_decide_is_marked_as_made_without_a_second_person(
    db: None, options: list[str], is_marked: bool
) -> None:
    run("create_person", "ada", *options)

    change = last_change()
    assert (change.kind, change.subject, change.actor) == ("person.created", "ada", command_line.actor())
    assert change.without_second_person is is_marked


def test_what_is_not_named_of_a_person_stays(db: None) -> None:
    cast.ada()

    printed = run("set_person", "ada", "--role", "operator", "reviewer", REASON)

    person = Person.objects.get()
    assert person.roles == ["operator", "reviewer"]
    assert person.workflow_groups == ["refund-operators", "report-operators"]
    assert person.check_password(cast.PASSWORD)
    assert printed.endswith("Without a second person: the role reviewer.\n")
    assert (last_change().reason, last_change().without_second_person) == ("the audit asked for it", True)


def test_taking_power_away_is_not_marked(db: None) -> None:
    cast.ada()

    run("set_person", "ada", "--no-roles", "--no-groups", REASON)

    person = Person.objects.get()
    assert (person.roles, person.workflow_groups) == ([], [])
    assert not last_change().without_second_person


def test_a_new_password_for_somebody_who_decides_is_marked(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    cast.ada()
    monkeypatch.setenv("NEW", "another long pass phrase")

    run("set_person", "ada", "--password-env", "NEW", REASON)

    assert Person.objects.get().check_password("another long pass phrase")
    assert last_change().without_second_person


# ---- agents --------------------------------------------------------------------------------------------------

AGENT = ["create_agent", "pricing", "--owner", "ada", "--workflow", "refund", "--scope", "refund:amount", "refund:note"]


@pytest.fixture
def refunds(db: None) -> None:
    cast.workflow()
    cast.ada()


def test_a_token_is_printed_alone_and_stands_for_the_agent(refunds: None) -> None:
    token = run(*AGENT, "--on-behalf-of", "ada", "--expires", "90d").removesuffix("\n")

    principal = principal_for_token(token)
    assert (principal.name, principal.owner, set(principal.grants)) == ("pricing", "ada", {"ada"})
    assert principal.scopes == {"refund:amount", "refund:note"}
    assert principal.expires_at is not None
    assert token not in str(Agent.objects.values())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--owner", "nobody"], "There is no person nobody."),
        (["--workflow", "refunds"], "There is no workflow refunds."),
        (["--scope", "Everything"], "Write names joined by colons"),
        (["--on-behalf-of", "nobody"], "There is no person nobody."),
        (["--expires", "soon"], "write a whole number and a unit"),
    ],
)
def test_an_agent_that_makes_no_sense_is_refused_in_words(refunds: None, options: list[str], words: str) -> None:
    with pytest.raises(CommandError, match=words):
        run(*AGENT, *options)

    assert not Agent.objects.exists()


# ---- suspension and halt -------------------------------------------------------------------------------------


def suspended() -> dict[str, bool]:
    return {
        "person": not Person.objects.get(username="ada").is_active,
        "agent": not Agent.objects.get().is_active,
        "workflow": authority.policy_of("refund").suspended,
    }


@pytest.mark.parametrize(("kind", "name"), [("person", "ada"), ("agent", "classifier"), ("workflow", "refund")])
def test_a_suspension_is_in_force_and_can_be_ended(refunds: None, kind: str, name: str) -> None:
    cast.agent()

    run("suspend", kind, name, REASON)
    then, change = suspended(), last_change()
    run("unsuspend", kind, name, REASON)

    assert then == {**dict.fromkeys(suspended(), False), kind: True}
    assert (change.kind, change.subject, change.reason) == (f"{kind}.suspended", name, "the audit asked for it")
    assert not any(suspended().values())
    assert last_change().without_second_person is (kind == "person")


def test_a_halt_is_in_force_and_can_be_ended(db: None) -> None:
    run("halt", "on", REASON)
    then = Installation.objects.get()
    run("halt", "off", REASON)

    assert (then.is_halted, then.halted_by, then.halt_reason) == (True, command_line.actor(), "the audit asked for it")
    assert not Installation.objects.get().is_halted


# ---- refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["create_person", "ada"], "ada exists already."),
        (["create_person", "a da"], "Letters, digits and @"),
        (["create_person", "noor", "--role", "emperor"], "invalid choice: 'emperor'"),
        (["create_person", "noor", "--group", "a b"], "Write letters, digits"),
        (["create_person", "noor", "--password-env", "NOT_SET"], "NOT_SET is not set, or blank."),
        (["set_person", "nobody", "--no-roles", REASON], "There is no person nobody."),
        (["set_person", "ada", REASON], "Nothing to change"),
        (["set_person", "ada", "--no-roles"], "--reason"),
        (["suspend", "person", "nobody", REASON], "There is no person nobody."),
        (["suspend", "agent", "nobody", REASON], "There is no agent nobody."),
        (["suspend", "workflow", "nothing", REASON], "There is no workflow nothing."),
        (["suspend", "city", "nowhere", REASON], "invalid choice: 'city'"),
        (["suspend", "person", "ada"], "--reason"),
        (["suspend", "person", "ada", "--reason", "  "], "Say why"),
        (["halt", "perhaps", REASON], "invalid choice: 'perhaps'"),
        (["halt", "on"], "--reason"),
    ],
)
def test_what_cannot_be_done_is_said_in_words_and_changes_nothing(db: None, arguments: list[str], words: str) -> None:
    cast.ada()
    epoch = authority.current_epoch()

    with pytest.raises(CommandError, match=words):
        run(*arguments)

    assert authority.current_epoch() == epoch


def test_a_refusal_ends_with_1_and_no_traceback(transactional_db: None, process_environment: dict[str, str]) -> None:
    command = [sys.executable, "manage.py", "suspend", "person", "nobody", REASON]

    ended = subprocess.run(command, cwd=ROOT, env=process_environment, capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", "CommandError: There is no person nobody.\n")


# ---- trying it out -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (
            ["create_person", "noor", "--role", "admin"],
            "Would create the person noor with roles: admin; groups: none. Without a second person: the role admin.",
        ),
        (["set_person", "ada", "--no-roles", REASON], "Would give ada roles: none; groups: "),
        (AGENT, "Would create the agent pricing of ada for refund with refund:amount, refund:note."),
        (["suspend", "person", "ada", REASON], "Would suspend the person ada."),
        (["unsuspend", "workflow", "refund", REASON], "Would end the suspension of the workflow refund."),
        (["halt", "on", REASON], "Would halt the installation."),
    ],
)
def test_a_dry_run_says_what_would_happen_and_changes_nothing(
    refunds: None, arguments: list[str], printed: str
) -> None:
    before = snapshot_of_authority()

    assert run(*arguments, "--dry-run").startswith(printed)
    assert snapshot_of_authority() == before


def snapshot_of_authority() -> list[Any]:
    return [list(model.objects.order_by("pk").values()) for model in (Installation, Person, Agent, AuthorityChange)]


def test_a_dry_run_refuses_what_would_be_refused(db: None) -> None:
    with pytest.raises(CommandError, match="There is no person nobody"):
        run("suspend", "person", "nobody", REASON, "--dry-run")


# ---- verify --------------------------------------------------------------------------------------------------


def test_where_everything_holds_verify_says_what_it_looked_at(transactional_db: None) -> None:
    cast.run_working("R-1")

    assert re.fullmatch(r"All \d+ invariants hold\. .*entries: 2, .*runs: 1.*\n", run("verify"))


@pytest.fixture
def tampered(transactional_db: None, owner_dsn: str) -> None:
    """R-1 says something that its ledger does not tell."""
    cast.run_working("R-1")
    with guards_off(owner_dsn), connection.cursor() as cursor:
        cursor.execute("UPDATE runs_run SET fields = replace(fields, 'billing', 'damage')")


def test_verify_prints_a_line_for_each_violation_and_fails(tampered: None) -> None:
    out = StringIO()

    with pytest.raises(CommandError, match=r"^1 violation\.$"):
        call_command("verify", stdout=out)

    assert out.getvalue() == "fold: R-1: The ledger tells another category.\n"


def test_verify_tells_the_same_to_programs(tampered: None) -> None:
    out = StringIO()

    with pytest.raises(CommandError):
        call_command("verify", "--json", stdout=out)

    report = json.loads(out.getvalue())
    assert report["violations"] == [
        {"invariant": "fold", "where": "R-1", "detail": "The ledger tells another category."}
    ]
    assert (report["holds"], report["seen"]["runs"]) == (False, 1)
    assert report["violations"][0]["invariant"] in report["invariants"]


def test_verify_needs_no_more_than_the_application_may(as_application: None) -> None:
    cast.run_working("R-1")

    assert run("verify").startswith("All ")
