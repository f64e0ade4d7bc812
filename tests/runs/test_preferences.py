"""What people choose for themselves: named filters, and where to be told."""

import pytest

from runs.errors import InvalidParams
from runs.models import NotificationChoice, SavedFilter
from runs.preferences import Choice, choose, list_filters, read_choice, remove_filter, save_filter
from tests import cast

pytestmark = pytest.mark.django_db


def names(screen: str = "/runs/") -> list[tuple[str, str]]:
    return [(row.name, row.query) for row in list_filters(cast.ada().id, screen)]


def test_filters_are_kept_by_person_and_screen_under_their_names() -> None:
    save_filter(cast.ada(), "/runs/", "mine", "q=R")
    save_filter(cast.ada(), "/audit/", "all", "kind=run.")
    save_filter(cast.ben(), "/runs/", "his", "q=B")

    assert names() == [("mine", "q=R")]
    assert names("/audit/") == [("all", "kind=run.")]


def test_the_same_name_again_takes_its_place_and_a_removed_one_may_come_back() -> None:
    save_filter(cast.ada(), "/runs/", "mine", "q=R")
    save_filter(cast.ada(), "/runs/", " mine ", "q=S")
    assert names() == [("mine", "q=S")]

    remove_filter(cast.ada(), "/runs/", "mine")
    remove_filter(cast.ada(), "/runs/", "nothing")
    assert names() == []

    save_filter(cast.ada(), "/runs/", "mine", "q=T")
    assert names() == [("mine", "q=T")]
    assert SavedFilter.objects.count() == 1


@pytest.mark.parametrize(
    ("name", "query"), [("", "q=R"), (" ", "q=R"), ("a" * 81, ""), ("a\nb", ""), ("a", "q" * 2001)]
)
def test_a_name_is_one_short_line(name: str, query: str) -> None:
    with pytest.raises(InvalidParams):
        save_filter(cast.ada(), "/runs/", name, query)


def test_only_so_many_are_kept() -> None:
    for number in range(30):
        save_filter(cast.ada(), "/runs/", f"f{number}", "")

    with pytest.raises(InvalidParams):
        save_filter(cast.ada(), "/runs/", "one more", "")
    save_filter(cast.ada(), "/runs/", "f7", "q=R")
    assert ("f7", "q=R") in names()


# ---- where to be told ------------------------------------------------------------------------------------------


def test_nobody_is_told_by_mail_who_did_not_choose_it() -> None:
    assert read_choice(cast.ada().id) == Choice("", by_email=False)


def test_a_choice_is_kept_and_begins_when_it_was_turned_on() -> None:
    choose(cast.ada(), Choice("ada@example.com", by_email=True))
    first = NotificationChoice.objects.get().since

    choose(cast.ada(), Choice("ada@example.org", by_email=True))
    assert NotificationChoice.objects.get().since == first
    assert read_choice(cast.ada().id) == Choice("ada@example.org", by_email=True)

    choose(cast.ada(), Choice("ada@example.org", by_email=False))
    choose(cast.ada(), Choice("ada@example.org", by_email=True))
    assert NotificationChoice.objects.get().since >= first


def test_mail_needs_an_address() -> None:
    with pytest.raises(InvalidParams):
        choose(cast.ada(), Choice("", by_email=True))
