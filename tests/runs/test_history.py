"""The past of a run as its ledger tells it: last changes, the timeline backwards, what lies between two versions."""

import pytest

from runs import history
from runs.errors import NotFound
from tests import cast

pytestmark = pytest.mark.django_db


def test_each_field_names_who_changed_it_last() -> None:
    run = cast.run_working(recipient="Ana Lima")
    cast.command(cast.person_operating("mara"), "R-42", "set-category", category="damage", id_="c-2")

    last = history.read_last_changes(run.id)

    category = last.of("category")
    assert (category.actor, category.version, category.seq, category.command_id) == ("user:mara", 3, 3, "c-2")
    assert last.of("status").version == 2
    assert not category.is_creation


def test_what_nobody_touched_is_as_its_creation_left_it() -> None:
    run = cast.run_working(recipient="Ana Lima")

    untouched = history.read_last_changes(run.id).of("recipient")

    assert untouched.is_creation
    assert (untouched.actor, untouched.version) == ("user:ada", 1)


def test_a_timeline_goes_backwards_and_on_from_a_place() -> None:
    run = cast.run_working()
    cast.command(cast.ada(), "R-42", "add-tag", tag="vip")

    assert [entry.seq for entry in history.list_backwards(run.id, 2)] == [3, 2]
    assert [entry.seq for entry in history.list_backwards(run.id, 2, before=2)] == [1]


def test_a_case_is_told_by_what_lies_between_and_its_own_entry() -> None:
    cast.run_with_open_case()
    cast.command(cast.ada(), "R-42", "add-tag", tag="vip")
    run = cast.reading("R-42")

    whole = history.list_of_case(run.id, 1, 3, ("agent:classifier", "c-stale"), 10)
    own_only = history.list_of_case(run.id, 3, 3, ("agent:classifier", "c-stale"), 10)
    newest = history.list_of_case(run.id, 1, 3, ("agent:classifier", "c-stale"), 2)

    assert [entry.kind for entry in whole] == ["command.committed", "command.escalated", "command.committed"]
    assert [entry.kind for entry in own_only] == ["command.escalated"]
    assert [entry.seq for entry in newest] == [3, 4]


def test_one_entry_is_found_or_not() -> None:
    run = cast.run_working()

    assert history.get_entry(run.id, 1).kind == "run.created"
    with pytest.raises(NotFound):
        history.get_entry(run.id, 9)
