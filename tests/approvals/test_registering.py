"""Destinations as admins ask for them: only acceptable addresses, and never without a second admin."""

from dataclasses import replace
from typing import Any

import pytest
from pytest_django import Settings

from approvals.destinations import Terms, current_revision, newest_revision, register_destination
from approvals.models import DestinationRevision
from approvals.registering import (
    KINDS,
    DestinationChange,
    DestinationRequest,
    ask_change,
    ask_destination,
    list_destinations,
    list_revisions,
    tell_destination,
)
from outbox.targets import capabilities_of, declares
from runs.confirmations import Settling, confirm
from runs.errors import AgentsCannotDecide, AlreadyDecided, Forbidden, InvalidParams, NotFound
from runs.models import WaitingStep
from runs.requests import Answer
from runs.values import Principal
from tests import cast
from tests.admins import dan, number

pytestmark = pytest.mark.django_db

TERMS = Terms("http", "https://pay.example.com/v1", recognises_repeats=True, key_retention_seconds=86400)
WHY = "because the test says so"


@pytest.fixture
def dora(settings: Settings) -> Principal:
    settings.CLEARANCE_ALLOW_PRIVATE_DESTINATIONS = False
    return cast.dora()


def asked(who: Principal, terms: Terms = TERMS, name: str = "payments", id_: str = "") -> Answer:
    return ask_destination(who, DestinationRequest(id_ or number(), name, terms, WHY))


def changed(who: Principal, **terms: Any) -> Answer:
    return ask_change(who, "payments", DestinationChange(number(), terms, WHY))


def confirmed(ref: str | None) -> None:
    assert ref is not None
    confirm(KINDS, dan(), ref, Settling(number(), "I called them."))


def test_a_destination_waits_until_a_second_admin_confirms_it(dora: Principal) -> None:
    answer = asked(dora)

    assert newest_revision("payments") is None
    confirmed(answer.waiting)

    row = current_revision("payments")
    assert (row.revision, row.url, row.actor, row.without_second_person) == (1, TERMS.url, "user:dora", False)


def test_a_change_waits_and_the_old_revision_stays_in_force(dora: Principal) -> None:
    confirmed(asked(dora).waiting)

    answer = changed(dora, url="https://pay.example.com/v2")

    assert current_revision("payments").url == TERMS.url
    confirmed(answer.waiting)
    assert [row.url for row in list_revisions("payments")] == ["https://pay.example.com/v2", TERMS.url]
    assert current_revision("payments").recognises_repeats


def test_what_changes_nothing_waits_for_nobody(dora: Principal) -> None:
    confirmed(asked(dora).waiting)

    again = asked(dora)

    assert again.waiting is None
    assert again.made == tell_destination(current_revision("payments"))


def test_a_destination_that_moved_meanwhile_makes_the_step_void(dora: Principal) -> None:
    waiting = asked(dora).waiting
    register_destination("payments", replace(TERMS, url="https://pay.example.com/v3"), cast.SETUP)

    with pytest.raises(AlreadyDecided):
        confirmed(waiting)

    assert [row.url for row in list_revisions("payments")] == ["https://pay.example.com/v3"]


def test_the_same_request_again_waits_once(dora: Principal) -> None:
    first = asked(dora, id_="d-1")

    again = asked(dora, id_="d-1")

    assert (again.is_replay, again.waiting) == (True, first.waiting)
    assert WaitingStep.objects.count() == 1


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"url": "http://pay.example.com/"}, "/url"),
        ({"url": ""}, "/url"),
        ({"url": "https://127.1/"}, "/url"),
        ({"lookup_url": "https://169.254.169.254/"}, "/lookup_url"),
        ({"cancel_url": "https://user@pay.example.com/"}, "/cancel_url"),
        ({"adapter": "carrier-pigeon"}, "/adapter"),
        ({"max_in_flight": 0}, "/max_in_flight"),
        ({"signing_secret_env": "not a name"}, "/signing_secret_env"),
    ],
)
def test_every_fault_is_named_with_its_place(dora: Principal, change: dict[str, Any], pointer: str) -> None:
    with pytest.raises(InvalidParams) as refused:
        asked(dora, replace(TERMS, **change))

    assert [fault.pointer for fault in refused.value.errors] == [pointer]
    assert not WaitingStep.objects.exists()


@pytest.mark.parametrize(
    ("term", "pointer"),
    [
        ({"recognises_repeats": True}, "/idempotency_key"),
        ({"key_retention_seconds": 86400}, "/key_retention"),
        ({"compares_payloads": True}, "/matches_payload"),
        ({"lookup_url": "https://mail.example.com/"}, "/lookup_url"),
        ({"cancel_url": "https://mail.example.com/"}, "/cancel_url"),
        ({"unavailable_means_throttled": True}, "/unavailable_means_throttled"),
        ({"signing_secret_env": "MAIL_SECRET"}, "/signing_secret_env"),
    ],
)
def test_nothing_is_declared_that_mail_cannot_do(dora: Principal, term: dict[str, Any], pointer: str) -> None:
    mail = Terms("smtp", "smtp+tls://mail.example.com")
    with pytest.raises(InvalidParams) as refused:
        asked(dora, replace(mail, **term))

    assert [(fault.pointer, fault.code) for fault in refused.value.errors] == [(pointer, "ability")]
    assert asked(dora, mail).waiting is not None


def test_an_ability_that_was_declared_before_mail_was_refused_it_counts_for_nothing() -> None:
    columns = replace(TERMS, adapter="smtp", lookup_url="https://mail.example.com/").as_columns()
    row = DestinationRevision(name="mail", revision=1, **columns)

    can = capabilities_of(row)

    assert (can.recognises_repeats, can.has_lookup, declares(row, "cancel_url")) == (False, False, False)


@pytest.mark.parametrize("name", ["", "Payments", "pay ments", "a" * 65])
def test_a_destination_has_a_name_that_workflows_can_say(dora: Principal, name: str) -> None:
    with pytest.raises(InvalidParams):
        asked(dora, name=name)


def test_the_command_line_refuses_the_same_addresses(dora: Principal) -> None:
    with pytest.raises(InvalidParams):
        register_destination("payments", replace(TERMS, url="https://10.0.0.1/"), cast.SETUP)


def test_an_address_that_became_unacceptable_is_refused_when_it_is_confirmed(
    dora: Principal, settings: Settings
) -> None:
    settings.CLEARANCE_ALLOW_PRIVATE_DESTINATIONS = True
    waiting = asked(dora, replace(TERMS, url="http://127.0.0.1:8901/deliver")).waiting
    settings.CLEARANCE_ALLOW_PRIVATE_DESTINATIONS = False

    with pytest.raises(InvalidParams):
        confirmed(waiting)

    assert newest_revision("payments") is None


@pytest.mark.parametrize("who", [cast.ada, cast.ben, cast.eli])
def test_only_admins_ask_for_destinations(dora: Principal, who: Any) -> None:
    with pytest.raises(Forbidden):
        asked(who())


def test_no_agent_asks_for_destinations(dora: Principal) -> None:
    cast.workflow()
    with pytest.raises(AgentsCannotDecide):
        asked(cast.agent().principal)


def test_an_unknown_destination_is_not_changed(dora: Principal) -> None:
    with pytest.raises(NotFound):
        changed(dora, url="https://pay.example.com/v2")


def test_destinations_are_listed_by_name_in_their_newest_revision(dora: Principal) -> None:
    for name, url in (("b", TERMS.url), ("a", TERMS.url), ("a", "https://pay.example.com/v2")):
        register_destination(name, replace(TERMS, url=url), cast.SETUP)

    assert [(row.name, row.revision) for row in list_destinations(10)] == [("a", 2), ("b", 1)]
    assert [row.name for row in list_destinations(1, after="a")] == ["b"]
