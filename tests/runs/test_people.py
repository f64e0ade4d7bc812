"""People as admins make and change them: what gives power waits, what takes it away is in force at once."""

from typing import Any

import pytest
from django.contrib.auth import authenticate

from runs.errors import AlreadyDecided, Forbidden, InvalidParams, NotFound, SeparationOfDuties
from runs.models import Person, Request, WaitingStep
from runs.people import list_people, tell_person
from runs.states import Role
from runs.values import Principal
from tests import cast
from tests.admins import again, confirmed, dan, new_person, only_step, person_change

pytestmark = pytest.mark.django_db


@pytest.fixture
def dora() -> Principal:
    return cast.dora()


def person(username: str) -> Person:
    return Person.objects.get(username=username)


# ---- creating ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("roles", [(), ("auditor",)])
def test_somebody_who_decides_nothing_is_there_at_once(dora: Principal, roles: tuple[str, ...]) -> None:
    answer = new_person(dora, "gil", *roles)

    assert answer.waiting is None
    assert answer.made == tell_person(person("gil"))
    assert authenticate(username="gil", password=answer.shown_once) == person("gil")


@pytest.mark.parametrize("role", ["admin", "reviewer", "operator"])
def test_somebody_who_decides_waits_for_a_second_admin(dora: Principal, role: str) -> None:
    answer = new_person(dora, "gil", role, groups=("refund-reviewers",))

    assert answer.waiting is not None
    assert f"the role {role}" in answer.because
    assert not Person.objects.filter(username="gil").exists()


def test_a_confirmed_person_signs_in_with_the_password_that_was_shown_once(dora: Principal) -> None:
    answer = new_person(dora, "gil", "reviewer", groups=("refund-reviewers",))

    confirmed(dan(), answer.waiting)

    assert authenticate(username="gil", password=answer.shown_once) == person("gil")
    assert (person("gil").roles, person("gil").workflow_groups) == (["reviewer"], ["refund-reviewers"])


def test_no_password_is_kept_but_its_hash_and_that_only_while_it_waits(dora: Principal) -> None:
    answer = new_person(dora, "gil", "admin")
    kept = [*Request.objects.values_list("answer", flat=True), *WaitingStep.objects.values_list("arguments", flat=True)]

    assert all(answer.shown_once not in text for text in kept)
    assert only_step().secret.startswith(("md5$", "pbkdf2_"))

    confirmed(dan(), answer.waiting)

    assert only_step().secret == ""


def test_a_repeat_does_not_show_the_password_again(dora: Principal) -> None:
    new_person(dora, "gil", id_="p-1")

    again = new_person(dora, "gil", id_="p-1")

    assert (again.is_replay, again.shown_once) == (True, "")
    assert Person.objects.filter(username="gil").count() == 1


def test_a_new_person_is_void_when_the_name_was_taken_meanwhile(dora: Principal) -> None:
    waiting = new_person(dora, "gil", "reviewer").waiting
    new_person(dora, "gil")

    with pytest.raises(AlreadyDecided):
        confirmed(dan(), waiting)

    assert person("gil").roles == []


@pytest.mark.parametrize(
    ("username", "roles", "groups", "pointer"),
    [
        ("", (), (), "/username"),
        ("not fine", (), (), "/username"),
        ("-gil", (), (), "/username"),
        ("a" * 151, (), (), "/username"),
        ("gil", ("king",), (), "/role/0"),
        ("gil", ("auditor",), ("fine", "not fine"), "/group/1"),
        ("dora", (), (), "/username"),
    ],
)
def test_every_fault_is_named_with_its_place(
    dora: Principal, username: str, roles: tuple[str, ...], groups: tuple[str, ...], pointer: str
) -> None:
    with pytest.raises(InvalidParams) as refused:
        new_person(dora, username, *roles, groups=groups)

    assert [fault.pointer for fault in refused.value.errors] == [pointer]


@pytest.mark.parametrize("who", [cast.ada, cast.ben, cast.eli])
def test_only_admins_make_people(who: Any) -> None:
    with pytest.raises(Forbidden):
        new_person(who(), "gil")


# ---- changing ----------------------------------------------------------------------------------------------


def test_taking_power_away_is_in_force_at_once(dora: Principal) -> None:
    cast.ada()

    answer = person_change(dora, "ada", roles=(), groups=("refund-operators",))

    assert answer.waiting is None
    assert (person("ada").roles, person("ada").workflow_groups) == ([], ["refund-operators"])


def test_giving_power_waits_while_what_is_taken_away_is_gone_already(dora: Principal) -> None:
    ada = cast.ada()

    answer = person_change(dora, "ada", roles=("reviewer",))

    assert answer.waiting is not None
    assert person("ada").roles == []
    assert again(ada).roles == frozenset()

    confirmed(dan(), answer.waiting)

    assert person("ada").roles == ["reviewer"]


def test_a_group_that_a_role_makes_matter_waits(dora: Principal) -> None:
    cast.ben()

    answer = person_change(dora, "ben", groups=("refund-reviewers", "payroll-reviewers"))

    assert answer.waiting is not None
    assert person("ben").workflow_groups == ["refund-reviewers"]


def test_suspending_is_in_force_at_once_and_its_end_waits(dora: Principal) -> None:
    cast.ben()

    assert person_change(dora, "ben", suspended=True).waiting is None
    assert not person("ben").is_active

    answer = person_change(dora, "ben", suspended=False)
    assert answer.waiting is not None
    assert not person("ben").is_active

    confirmed(dan(), answer.waiting)
    assert person("ben").is_active


def test_the_end_of_the_suspension_of_somebody_who_decides_nothing_does_not_wait(dora: Principal) -> None:
    cast.eli()
    person_change(dora, "eli", suspended=True)

    assert person_change(dora, "eli", suspended=False).waiting is None
    assert person("eli").is_active


def test_nobody_takes_over_a_deciding_account_by_setting_its_password(dora: Principal) -> None:
    cast.ben()

    answer = person_change(dora, "ben", new_password=True)

    assert answer.waiting is not None
    assert authenticate(username="ben", password=cast.PASSWORD) is not None
    confirmed(dan(), answer.waiting)
    assert authenticate(username="ben", password=answer.shown_once) is not None


def test_a_new_password_for_somebody_who_decides_nothing_does_not_wait(dora: Principal) -> None:
    cast.eli()

    answer = person_change(dora, "eli", new_password=True)

    assert answer.waiting is None
    assert authenticate(username="eli", password=answer.shown_once) is not None


def test_a_change_is_void_when_the_person_was_changed_meanwhile(dora: Principal) -> None:
    cast.ada()
    waiting = person_change(dora, "ada", roles=("operator", "admin")).waiting
    person_change(dora, "ada", groups=("refund-operators",))

    with pytest.raises(AlreadyDecided):
        confirmed(dan(), waiting)

    assert person("ada").roles == ["operator"]


def test_an_admin_does_not_make_themselves_more_by_confirming_it(dora: Principal) -> None:
    waiting = person_change(dora, "dora", roles=("admin", "reviewer"), groups=("refund-reviewers",)).waiting

    with pytest.raises(SeparationOfDuties):
        confirmed(dora, waiting)

    assert person("dora").roles == ["admin"]


def test_an_unknown_person_is_not_found(dora: Principal) -> None:
    with pytest.raises(NotFound):
        person_change(dora, "nobody", suspended=True)


def test_people_are_listed_by_name_after_a_name(dora: Principal) -> None:
    cast.ada()
    cast.person("adam", Role.AUDITOR)

    assert [row.username for row in list_people(10, q="ad")] == ["ada", "adam"]
    assert [row.username for row in list_people(10, after="ada")] == ["adam", "dora"]
    assert [row.username for row in list_people(1)] == ["ada"]
