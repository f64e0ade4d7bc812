"""Standing approvals: giving one, what is left of each, revoking one."""

import pytest

from approvals.models import StandingApproval
from approvals.standing import standing_ref
from tests import cast, review
from tests.console.web.visitor import Answer, Visitor, stranger, visit

pytestmark = pytest.mark.django_db

STANDING = "/standing-approvals/"
GIVE = f"{STANDING}given/"
LIMITS = {"limit": "50.00", "total": "200.00", "uses": "4", "reason": "Small refunds, as agreed."}


@pytest.fixture
def ben() -> Visitor:
    cast.workflow()
    return visit(cast.ben())


def give(visitor: Visitor, **typed: str) -> Answer:
    return visitor.post(GIVE, visitor.get(STANDING).form(GIVE) | LIMITS | typed)


def revoke_path() -> str:
    return f"{STANDING}{standing_ref(StandingApproval.objects.get().pk)}/revocations/"


def test_a_reviewer_approves_in_advance_within_limits(ben: Visitor) -> None:
    answer = give(ben)

    text = ben.get(STANDING).text
    assert answer.status == 303
    assert "Pay the refund Small refunds, as agreed. person ben" in text
    assert "50.00 EUR" in text
    assert "0.00 of 200.00" in text
    assert "0 of 4" in text
    assert "holds until" in text


def test_what_was_spent_of_it_is_told(ben: Visitor) -> None:
    give(ben)
    review.refund_ready_for_review()

    text = ben.get(STANDING).text

    assert "25.00 of 200.00" in text
    assert "1 of 4" in text


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("limit", "0"),
        ("limit", "300.00"),
        ("limit", "5.001"),
        ("total", "x"),
        ("uses", "0"),
        ("currency", "euro"),
        ("expires_at", "2001-01-01T00:00"),
        ("action", "refund/recall"),
        ("reason", " "),
    ],
)
def test_limits_that_make_no_sense_are_refused_and_what_was_typed_stays(ben: Visitor, member: str, value: str) -> None:
    answer = give(ben, **{member: value})

    assert answer.status == 422
    assert "error" in answer.html
    assert not StandingApproval.objects.exists()
    assert answer.form(GIVE)["uses"] == ("0" if member == "uses" else "4")


def test_a_form_sent_twice_gives_one(ben: Visitor) -> None:
    form = ben.get(STANDING).form(GIVE) | LIMITS

    ben.post(GIVE, form)
    ben.post(GIVE, form)

    assert StandingApproval.objects.count() == 1


def test_revoking_is_one_press_with_a_reason(ben: Visitor) -> None:
    give(ben)
    path = revoke_path()

    silent = ben.post(path, ben.get(STANDING).form(path))
    done = ben.post(path, ben.get(STANDING).form(path) | {"reason": "Prices went up."})
    again = ben.post(path, {"id": "another", "reason": "Once more."})

    assert silent.status == 422
    assert done.status == 303
    assert again.status == 409
    assert "revoked" in ben.get(STANDING).text
    assert StandingApproval.objects.get().revoked_by == "user:ben"


def test_a_change_of_authority_outdates_it_and_the_list_says_so(ben: Visitor) -> None:
    give(ben)

    cast.policy(quorum=2)

    assert "given under an older authority of the workflow" in ben.get(STANDING).text


def test_others_look_on_and_only_admins_and_reviewers_revoke(ben: Visitor) -> None:
    give(ben)
    path = revoke_path()
    form = {"id": "r-1", "reason": "Stop."}

    ada = visit(cast.ada())
    assert "To look at only. Reviewers approve in advance" in ada.get(STANDING).text
    assert ada.post(GIVE, LIMITS | {"id": "s-1", "action": "refund/pay"}).status == 422
    assert ada.post(path, form).status == 403
    assert visit(cast.dora()).post(path, form).status == 303


def test_for_an_outsider_there_is_none_and_reading_gives_none(ben: Visitor) -> None:
    give(ben)

    assert "Small refunds" not in visit(cast.cy()).get(STANDING).text
    assert ben.get(GIVE).status == 405
    assert ben.get(revoke_path()).status == 405
    assert stranger().get(STANDING).status == 302
    assert ben.post(f"{STANDING}sa-1/revocations/", {"id": "r-1", "reason": "So."}).status == 404


def test_the_list_costs_the_same_with_one_and_with_many(ben: Visitor) -> None:
    give(ben)
    ben.get(STANDING)
    one = ben.cost(STANDING)
    for _ in range(5):
        give(ben)

    assert ben.cost(STANDING) == one
