"""Waiting steps: confirmed by somebody else, once, while what they rest on stands; alone only on the command line."""

import json
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from runs.administration import By, newest_policy, set_person, set_person_active
from runs.confirmations import Settling, confirm_alone, may_confirm, overtaken_by, waiting_ref, withdraw
from runs.errors import (
    AgentsCannotDecide,
    AlreadyDecided,
    CommandIdReused,
    Forbidden,
    NotFound,
    SeparationOfDuties,
)
from runs.models import AuthorityChange, PolicyVersion, WaitingStep
from runs.states import Role
from runs.transactions import constraint_of
from runs.values import Principal
from tests import cast
from tests.admins import KINDS, confirmed, dan, only_step, policy_change

pytestmark = pytest.mark.django_db

BY = By("user:dora", "because the test says so")


@pytest.fixture
def dora() -> Principal:
    cast.workflow()
    return cast.dora()


@pytest.fixture
def waiting(dora: Principal) -> str:
    """A looser policy that Dora asked for."""
    ref = policy_change(dora, separation="relaxed").waiting
    assert ref is not None
    return ref


def separation() -> str:
    return newest_policy("refund").separation


# ---- confirmed ---------------------------------------------------------------------------------------------


def test_another_admin_puts_it_in_force(waiting: str) -> None:
    settled = confirmed(dan(), waiting, reason="I checked it.")

    assert separation() == "relaxed"
    assert settled.answer["state"] == "confirmed"
    row = only_step()
    assert (row.state, row.settled_by, row.settled_reason) == ("confirmed", "user:dan", "I checked it.")
    assert not row.without_second_person


def test_the_same_confirmation_again_is_the_same_answer(waiting: str) -> None:
    first = confirmed(dan(), waiting, id_="c-1")

    again = confirmed(dan(), waiting, id_="c-1")

    assert again.is_replay
    assert again.answer == first.answer
    assert newest_policy("refund").version == 2


def test_an_id_confirms_one_step(dora: Principal, waiting: str) -> None:
    confirmed(dan(), waiting, id_="c-1")
    other = policy_change(dora, reauthenticate_within="10m", operators=["refund-operators", "night"]).waiting

    with pytest.raises(CommandIdReused):
        confirmed(dan(), other, id_="c-1")


# ---- refused -----------------------------------------------------------------------------------------------


def test_nobody_confirms_what_they_asked_for(dora: Principal, waiting: str) -> None:
    with pytest.raises(SeparationOfDuties) as refused:
        confirmed(dora, waiting)

    assert refused.value.members["because"] == "proposer"
    assert (separation(), only_step().state) == ("strict", "open")


@pytest.mark.parametrize("who", [cast.ada, cast.ben, cast.eli, cast.cy])
def test_only_admins_confirm(waiting: str, who: Any) -> None:
    with pytest.raises(Forbidden):
        confirmed(who(), waiting)


def test_no_agent_confirms(waiting: str) -> None:
    with pytest.raises(AgentsCannotDecide):
        confirmed(cast.agent().principal, waiting)


def test_an_admin_who_is_none_any_more_confirms_nothing(waiting: str) -> None:
    former = dan()
    set_person("dan", BY, roles=[Role.AUDITOR])

    with pytest.raises(Forbidden):
        confirmed(former, waiting)


@pytest.mark.parametrize("ref", ["w-", "w-nothing", "w-" + "0" * 32, "es-1"])
def test_what_is_no_step_is_not_found(dora: Principal, ref: str) -> None:
    with pytest.raises(NotFound):
        confirmed(dan(), ref)


def test_a_step_is_confirmed_once(waiting: str) -> None:
    confirmed(dan(), waiting)

    with pytest.raises(AlreadyDecided) as refused:
        confirmed(cast.person("finn", Role.ADMIN), waiting)

    assert refused.value.members == {"expected": "open", "actual": "confirmed"}
    assert newest_policy("refund").version == 2


# ---- void ----------------------------------------------------------------------------------------------------


def test_a_step_is_void_when_its_subject_has_moved(dora: Principal, waiting: str) -> None:
    policy_change(dora, quorum=2)

    with pytest.raises(AlreadyDecided) as refused:
        confirmed(dan(), waiting)

    assert refused.value.members == {"expected": "open", "actual": "void"}
    row = only_step()
    assert (row.state, row.settled_reason) == ("void", "refund has changed since this was asked for.")
    assert separation() == "strict"


@pytest.mark.parametrize(
    "change",
    [lambda: set_person_active("dora", False, BY), lambda: set_person("dora", BY, roles=[])],
    ids=["suspended", "role taken"],
)
def test_a_step_is_void_when_the_one_who_asked_is_no_longer_an_admin(waiting: str, change: Any) -> None:
    change()

    with pytest.raises(AlreadyDecided, match="no longer an admin"):
        confirmed(dan(), waiting)

    assert separation() == "strict"


def test_a_list_says_why_a_step_cannot_be_confirmed(dora: Principal, waiting: str) -> None:
    row = only_step()
    assert may_confirm(KINDS, dora, row) == "You asked for it yourself."
    assert may_confirm(KINDS, cast.eli(), row) == "Only admins confirm."
    assert may_confirm(KINDS, dan(), row) == ""

    policy_change(dora, quorum=2)

    assert overtaken_by(KINDS, row) == "refund has changed since this was asked for."
    assert only_step().state == "open"


# ---- withdrawn ---------------------------------------------------------------------------------------------


def test_any_admin_takes_a_step_off_the_list(dora: Principal, waiting: str) -> None:
    answer = withdraw(dora, waiting, Settling("x-1", "A mistake.")).answer

    assert answer == {"waiting": waiting, "state": "withdrawn"}
    with pytest.raises(AlreadyDecided):
        confirmed(dan(), waiting)
    assert separation() == "strict"


def test_only_admins_withdraw(waiting: str) -> None:
    with pytest.raises(Forbidden):
        withdraw(cast.ada(), waiting, Settling("x-1", "No."))


# ---- without a second person -----------------------------------------------------------------------------------


def test_the_command_line_confirms_alone_and_it_shows_for_ever(waiting: str) -> None:
    confirm_alone(KINDS, waiting, "cli:root", "The other admin is on leave.")

    assert separation() == "relaxed"
    row = only_step()
    assert (row.state, row.settled_by, row.settled_by_person, row.without_second_person) == (
        "confirmed", "cli:root", None, True,
    )  # fmt: skip
    assert PolicyVersion.objects.get(slug="refund", version=2).without_second_person
    change = AuthorityChange.objects.first()
    assert change is not None
    assert change.without_second_person
    told = json.loads(change.body)["confirmation"]
    assert (told["by"], told["because"], told["other_admins"]) == ("cli:root", "The other admin is on leave.", 0)


def test_it_is_told_how_many_admins_could_have_been_asked(waiting: str) -> None:
    dan()

    confirm_alone(KINDS, waiting, "cli:root", "Urgent.")

    change = AuthorityChange.objects.first()
    assert change is not None
    assert json.loads(change.body)["confirmation"]["other_admins"] == 1


def test_alone_as_well_a_void_step_stays_void(dora: Principal, waiting: str) -> None:
    policy_change(dora, quorum=2)

    with pytest.raises(AlreadyDecided):
        confirm_alone(KINDS, waiting, "cli:root", "Now.")

    assert (separation(), only_step().state) == ("strict", "void")


# ---- what the database refuses by itself -----------------------------------------------------------------------


def refused_rule(ref: str, **columns: Any) -> str | None:
    """The rule by which the database refuses to write these columns of a step."""
    row = WaitingStep.objects.get()
    assert waiting_ref(row.pk) == ref
    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        WaitingStep.objects.filter(pk=row.pk).update(**columns)
    return constraint_of(refused.value)


CONFIRMED = {"state": "confirmed", "settled_at": "2026-01-01T00:00:00Z", "settled_by": "user:dora"}


def test_the_database_refuses_that_one_person_is_both(dora: Principal, waiting: str) -> None:
    assert refused_rule(waiting, **CONFIRMED, settled_by_person_id=dora.id) == "runs_waiting_second_person"
    assert refused_rule(waiting, **CONFIRMED) == "runs_waiting_second_person"


def test_the_database_refuses_another_step_than_was_asked_for(waiting: str) -> None:
    other = dan()

    rule = refused_rule(waiting, **CONFIRMED, settled_by_person_id=other.id, arguments="{}")

    assert rule == "runs_waiting_identity"


def test_the_database_refuses_to_settle_twice(waiting: str) -> None:
    confirmed(dan(), waiting)

    assert refused_rule(waiting, state="open", settled_at=None) == "runs_waiting_settled"
    assert refused_rule(waiting, settled_reason="Something else.") == "runs_waiting_settled"


def test_the_database_refuses_a_step_that_begins_settled(dora: Principal) -> None:
    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        WaitingStep.objects.create(kind="policy", subject="refund", proposed_by_id=dora.id, **CONFIRMED)

    assert constraint_of(refused.value) == "runs_waiting_begins"
