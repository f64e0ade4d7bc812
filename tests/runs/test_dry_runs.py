"""A dry run says what the command itself would meet."""

import pytest

from runs.dry_runs import Trial, Verdict, try_command
from runs.errors import InvalidParams, InvalidTransition
from runs.models import LedgerEntry
from tests import cast

pytestmark = pytest.mark.django_db


def attempt(command: str, base: int, current: int, actor: str = "agent:bot", **params: object) -> Verdict:
    return try_command(actor, cast.reading("R-42"), cast.definition(), Trial(command, params, base, current))


@pytest.fixture
def _story() -> None:
    """Version 2: Ada sets the category; 3: a tag; 4: she closes the case; 5: she opens it again."""
    cast.run_working()
    cast.command(cast.ada(), "R-42", "add-tag", tag="vip")
    cast.command(cast.ada(), "R-42", "close-case")
    cast.command(cast.ada(), "R-42", "reopen-case")


@pytest.mark.usefixtures("_story")
@pytest.mark.parametrize(
    ("base", "current", "disposition", "rule"),
    [
        (1, 2, "escalate", "on_conflict[1]"),
        (2, 3, "merge", "default"),
        (2, 4, "reject", "on_conflict[0]"),
        (2, 5, "merge", "default"),
        (5, 5, "commit", None),
        (1, 1, "commit", None),
    ],
)
def test_the_disposition_is_that_of_the_two_versions(
    base: int, current: int, disposition: str, rule: str | None
) -> None:
    verdict = attempt("set-category", base, current, category="damage")

    assert (verdict.disposition, verdict.rule) == (disposition, rule)
    assert verdict.because


@pytest.mark.usefixtures("_story")
def test_what_the_dry_run_says_is_what_becomes_of_the_command() -> None:
    verdict = attempt("set-category", 1, 5, actor="agent:classifier", category="damage")

    outcome = cast.command(cast.agent().principal, "R-42", "set-category", on=1, category="damage")

    assert outcome.answer["disposition"] == verdict.disposition
    assert outcome.answer["rule"] == {"command": "set-category", "name": verdict.rule, "because": verdict.because}


@pytest.mark.usefixtures("_story")
def test_a_conflict_with_ones_own_write_is_no_conflict_with_anybody() -> None:
    assert attempt("set-category", 1, 2, actor="user:ada", category="damage").disposition == "retry"


@pytest.mark.usefixtures("_story")
def test_what_already_holds_would_change_nothing() -> None:
    assert attempt("add-tag", 5, 5, tag="vip").disposition == "unchanged"
    assert attempt("add-tag", 1, 5, tag="vip").disposition == "reject"


@pytest.mark.usefixtures("_story")
def test_what_the_record_did_not_allow_is_refused_as_the_command_would_be() -> None:
    with pytest.raises(InvalidTransition, match="only while case_state is open; it is closed"):
        attempt("set-category", 4, 4, category="damage")


@pytest.mark.usefixtures("_story")
@pytest.mark.parametrize(
    ("command", "base", "current", "pointer"),
    [
        ("paint", 1, 2, "/command"),
        ("add-tag", 1, 2, "/params"),
        ("close-case", 1, 6, "/current_version"),
        ("close-case", 3, 2, "/base_version"),
    ],
)
def test_a_trial_that_makes_no_sense_is_named(command: str, base: int, current: int, pointer: str) -> None:
    with pytest.raises(InvalidParams) as refused:
        attempt(command, base, current)

    assert refused.value.errors[0].pointer == pointer


def test_versions_whose_entries_were_erased_cannot_be_tried() -> None:
    cast.run_working()
    cast.command(cast.ada(), "R-42", "cancel")
    LedgerEntry.objects.filter(seq=2).update(body=None)

    with pytest.raises(InvalidParams, match="erased"):
        attempt("close-case", 1, 2)
