"""The list of what waits: what would change, who asked, and a second admin's click."""

from typing import Any

import pytest

from runs.administration import newest_policy
from runs.confirmations import confirm_alone
from runs.models import WaitingStep
from tests import cast
from tests.admins import KINDS, dan, new_person, person_change, policy_change
from tests.console.web.visitor import Answer, Visitor, visit

pytestmark = pytest.mark.django_db

PAGE = "/confirmations/"


@pytest.fixture
def waiting() -> str:
    """A looser policy that Dora asked for."""
    cast.workflow()
    ref = policy_change(cast.dora(), limits={"refund_amount": "900.00"}).waiting
    assert ref is not None
    return ref


def settle(
    who: Visitor, ref: str, verb: str = "confirm", page: Answer | None = None, reason: str = "Checked."
) -> Answer:
    drawn = (page or who.get(PAGE)).form(f"{PAGE}{ref}/confirm/")
    return who.post(f"{PAGE}{ref}/{verb}/", drawn | {"reason": reason})


def test_a_step_tells_what_would_change_from_what_to_what(waiting: str) -> None:
    text = visit(dan()).get(PAGE).text

    assert "Change of a policy: refund" in text
    assert "limits.refund_amount was 500.00 is 900.00" in text
    assert "by person dora" in text
    assert "because the test says so" in text


def test_a_second_admin_puts_it_in_force(waiting: str) -> None:
    visitor = visit(dan())

    answer = settle(visitor, waiting)

    assert (answer.status, answer.header("Location")) == (303, PAGE)
    assert dict(newest_policy("refund").limits) == {"refund_amount": "900.00"}
    text = visitor.get(PAGE).text
    assert "In force now." in text
    assert "Nothing waits" in text
    assert "Confirmed" in visitor.get(PAGE, state="settled").text


def test_who_asked_for_it_is_told_why_they_cannot_confirm_it(waiting: str) -> None:
    visitor = visit(cast.dora())

    assert "Confirming is not possible: You asked for it yourself." in visitor.get(PAGE).text
    refused = settle(visitor, waiting)

    assert (refused.status, "another admin has to confirm it" in refused.text) == (403, True)
    assert WaitingStep.objects.get().state == "open"


def test_a_void_step_says_so_and_confirming_it_does_nothing(waiting: str) -> None:
    visitor = visit(dan())
    page = visitor.get(PAGE)
    policy_change(cast.dora(), quorum=2)

    assert "It can no longer be confirmed." in visitor.get(PAGE).text
    refused = settle(visitor, waiting, page=page)

    assert (refused.status, "Void" in refused.text) == (409, True)
    assert dict(newest_policy("refund").limits) == {"refund_amount": "500.00"}


def test_a_step_is_settled_once_however_often_it_is_clicked(waiting: str) -> None:
    visitor = visit(dan())
    page = visitor.get(PAGE)
    settle(visitor, waiting, page=page)

    assert settle(visitor, waiting, page=page).status == 303
    assert newest_policy("refund").version == 2


def test_any_admin_takes_a_step_off_the_list(waiting: str) -> None:
    visitor = visit(cast.dora())

    settle(visitor, waiting, "withdraw", reason="A mistake.")

    text = visitor.get(PAGE, state="settled").text
    assert "withdrawn" in text
    assert "A mistake." in text


def test_a_reason_is_needed_and_what_was_typed_stays(waiting: str) -> None:
    answer = settle(visit(dan()), waiting, reason=" ")

    assert (answer.status, "Say why" in answer.text) == (422, True)
    assert WaitingStep.objects.get().state == "open"


def test_people_are_told_as_what_they_gain_and_no_password_is_shown(waiting: str) -> None:
    cast.ben()
    new_person(cast.dora(), "gil", "reviewer", groups=("refund-reviewers",))
    person_change(cast.dora(), "ben", new_password=True)

    page = visit(dan()).get(PAGE)

    assert "New person: gil" in page.text
    assert "password is a new one" in page.text
    assert "md5$" not in page.html


def test_hostile_words_are_shown_as_text(waiting: str) -> None:
    visitor = visit(dan())
    settle(visitor, waiting, "withdraw", reason="<img src=x onerror=alert(1)>\u202e")

    html = visitor.get(PAGE, state="settled").html
    assert "<img" not in html
    assert "U+202E" in html


def test_what_was_confirmed_alone_says_so_for_ever(waiting: str) -> None:
    confirm_alone(KINDS, waiting, "cli:root", "Nobody else was there.")

    text = visit(dan()).get(PAGE, state="settled").text
    assert "without a second person" in text
    assert "Nobody else was there." in text


@pytest.mark.parametrize("who", [cast.ada, cast.ben, cast.cy])
def test_the_list_is_for_admins_and_auditors(waiting: str, who: Any) -> None:
    assert visit(who()).get(PAGE).status == 403
    assert visit(who()).post(f"{PAGE}{waiting}/confirm/", {"id": "x", "reason": "Mine."}).status == 403
    auditor = visit(cast.eli()).get(PAGE)
    assert "Only admins confirm." in auditor.text
    assert not auditor.has_form(f"{PAGE}{waiting}/confirm/")


def test_a_get_settles_nothing(waiting: str) -> None:
    for verb in ("confirm", "withdraw"):
        assert visit(dan()).get(f"{PAGE}{waiting}/{verb}/").status == 405
    assert WaitingStep.objects.get().state == "open"


def test_older_steps_are_on_the_next_page(waiting: str) -> None:
    for number in range(31):
        new_person(cast.dora(), f"gil{number:02}", "reviewer")
    visitor = visit(dan())

    page = visitor.get(PAGE)
    assert "gil30" in page.text
    assert "Change of a policy" not in page.text
    older = page.html.split('rel="next" href="')[1].split('"')[0].replace("&amp;", "&")
    assert "Change of a policy" in visitor.get(PAGE + older).text


def test_the_inbox_of_another_admin_shows_and_counts_it_until_it_is_settled(waiting: str) -> None:
    visitor = visit(dan())

    answer = visitor.get("/", queue="confirmations")
    assert "Change of a policy: refund" in answer.text
    assert "Second admin 1" in answer.text
    assert f'href="{PAGE}#{waiting}"' in answer.html
    settle(visitor, waiting)
    assert "Change of a policy" not in visitor.get("/", queue="confirmations").text


def test_the_inbox_of_who_asked_shows_it_to_look_at_and_counts_nothing(waiting: str) -> None:
    text = visit(cast.dora()).get("/", queue="confirmations").text

    assert "Change of a policy: refund" in text
    assert "to look at only" in text
    assert "Second admin 1" not in text


def test_the_inbox_of_somebody_who_is_no_admin_does_not_show_it(waiting: str) -> None:
    assert "Change of a policy" not in visit(cast.ada()).get("/").text


def test_a_step_that_was_overtaken_is_void_in_the_inbox(waiting: str) -> None:
    policy_change(cast.dora(), quorum=2)

    assert "refund has changed since this was asked for." in visit(dan()).get("/").text


def test_the_inbox_goes_on_after_the_last_step_it_showed(waiting: str) -> None:
    for number in range(50):
        new_person(cast.dora(), f"gil{number:02}", "reviewer")
    visitor = visit(dan())

    page = visitor.get("/")
    assert "gil48" in page.text
    assert "gil49" not in page.text
    further = page.html.split('rel="next" href="')[1].split('"')[0].replace("&amp;", "&")
    text = visitor.get("/" + further).text
    assert "gil49" in text
    assert "gil48" not in text
