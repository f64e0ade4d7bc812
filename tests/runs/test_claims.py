"""Claims of cases: fifteen minutes, visible, renewed, released, handed over."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from runs.administration import set_person_active
from runs.claims import CLAIM_MINUTES, ClaimRequest, claim, hand_over, release
from runs.errors import (
    AgentsCannotDecide,
    AlreadyDecided,
    CommandIdReused,
    EscalationClaimed,
    Forbidden,
    InvalidParams,
    NotFound,
)
from runs.models import Escalation
from runs.refusals import escalation_ref
from runs.values import Principal
from tests import cast

pytestmark = pytest.mark.django_db

KEY = "R-42"


@pytest.fixture
def ref() -> str:
    """A case that waits for an operator."""
    cast.run_with_open_case(KEY)
    return escalation_ref(Escalation.objects.get().pk)


def mara() -> Principal:
    return cast.person_operating("mara")


def lena() -> Principal:
    return cast.person_operating("lena")


def minutes_left() -> float:
    row = Escalation.objects.annotate(now=Now()).get()
    assert row.claimed_until is not None
    return float((row.claimed_until - row.now) / timedelta(minutes=1))


def age_claim(minutes: int) -> None:
    """As if the claim had been made so many minutes earlier."""
    row = Escalation.objects.get()
    assert row.claimed_until is not None
    Escalation.objects.update(claimed_until=row.claimed_until - timedelta(minutes=minutes))


def test_a_claim_lasts_fifteen_minutes_and_is_visible(ref: str) -> None:
    row = claim(mara(), ref, ClaimRequest("k-1")).row

    assert (row.claimed_by, CLAIM_MINUTES) == ("user:mara", 15)
    assert 14.9 < minutes_left() <= 15


def test_a_claim_changes_nothing_of_the_run(ref: str) -> None:
    before = cast.reading(KEY)

    claim(mara(), ref, ClaimRequest("k-1"))

    assert cast.reading(KEY) == before


def test_what_another_holds_cannot_be_claimed(ref: str) -> None:
    claim(mara(), ref, ClaimRequest("k-1"))

    with pytest.raises(EscalationClaimed) as refusal:
        claim(lena(), ref, ClaimRequest("k-1"))

    assert refusal.value.members["held_by"] == refusal.value.members["actual"] == "user:mara"
    assert refusal.value.members["held_until"].endswith("Z")
    assert Escalation.objects.get().claimed_by == "user:mara"


def test_a_refused_claim_leaves_its_id_free(ref: str) -> None:
    claim(mara(), ref, ClaimRequest("k-1"))
    with pytest.raises(EscalationClaimed):
        claim(lena(), ref, ClaimRequest("k-1"))
    release(mara(), ref)

    assert claim(lena(), ref, ClaimRequest("k-1")).row.claimed_by == "user:lena"


def test_a_claim_that_ran_out_can_be_taken_over(ref: str) -> None:
    claim(mara(), ref, ClaimRequest("k-1"))
    age_claim(15)

    assert claim(lena(), ref, ClaimRequest("k-2")).row.claimed_by == "user:lena"


def test_claiming_again_under_another_id_renews(ref: str) -> None:
    claim(mara(), ref, ClaimRequest("k-1"))
    age_claim(10)

    claim(mara(), ref, ClaimRequest("k-2"))

    assert minutes_left() > 14.9


def test_claiming_again_under_the_same_id_changes_nothing(ref: str) -> None:
    claim(mara(), ref, ClaimRequest("k-1"))
    age_claim(10)

    claim(mara(), ref, ClaimRequest("k-1"))

    assert minutes_left() <= 5


def test_the_id_of_a_command_is_refused_for_a_claim(ref: str) -> None:
    cast.command(mara(), KEY, "add-tag", tag="vip", id_="k-1")

    with pytest.raises(CommandIdReused):
        claim(mara(), ref, ClaimRequest("k-1"))


def test_releasing_frees_the_case_and_only_ones_own(ref: str) -> None:
    claim(mara(), ref, ClaimRequest("k-1"))

    release(lena(), ref)
    assert Escalation.objects.get().claimed_by == "user:mara"

    release(mara(), ref)
    assert (Escalation.objects.get().claimed_by, Escalation.objects.get().claimed_until) == (None, None)
    release(mara(), ref)


def test_only_operators_claim_release_and_hand_over(ref: str) -> None:
    bot = Principal("agent", "classifier")
    for who, refusal in ((cast.ben(), Forbidden), (cast.dora(), Forbidden), (bot, AgentsCannotDecide)):
        with pytest.raises(refusal):
            claim(who, ref, ClaimRequest("k-1"))
        with pytest.raises(refusal):
            release(who, ref)
        with pytest.raises(refusal):
            hand_over(who, ref, "mara")
    with pytest.raises(NotFound):
        claim(cast.cy(), ref, ClaimRequest("k-1"))


def test_a_settled_case_is_not_claimed(ref: str) -> None:
    cast.command(cast.ada(), KEY, "set-category", category="damage")

    with pytest.raises(AlreadyDecided) as refusal:
        claim(mara(), ref, ClaimRequest("k-1"))
    assert (refusal.value.members["expected"], refusal.value.members["actual"]) == ("open", "settled")
    lena()
    with pytest.raises(AlreadyDecided):
        hand_over(mara(), ref, "lena")


def test_a_case_can_be_handed_to_another_operator_who_then_holds_it(ref: str) -> None:
    lena()
    claim(mara(), ref, ClaimRequest("k-1"))
    age_claim(10)

    hand_over(mara(), ref, "lena")

    assert Escalation.objects.get().claimed_by == "user:lena"
    assert minutes_left() > 14.9


def test_a_free_case_can_be_handed_over_and_one_that_another_holds_cannot(ref: str) -> None:
    lena()
    hand_over(mara(), ref, "lena")

    with pytest.raises(EscalationClaimed):
        hand_over(mara(), ref, "mara")


@pytest.mark.parametrize("name", ["ben", "cy", "gone", "nobody"])
def test_a_case_is_handed_to_operators_of_the_workflow_only(ref: str, name: str) -> None:
    cast.ben()
    cast.cy()
    cast.person_operating("gone")
    set_person_active("gone", False, cast.SETUP)

    with pytest.raises(InvalidParams) as refusal:
        hand_over(mara(), ref, name)

    assert refusal.value.errors[0].pointer == "/to"
