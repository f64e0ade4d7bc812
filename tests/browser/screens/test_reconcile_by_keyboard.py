"""Finding out what became of an effect on a phone, by keyboard alone; accessible and narrow all along."""

import pytest
from playwright.sync_api import Locator, Page, expect

from outbox.findings import VerdictRequest, give_verdict
from outbox.models import Effect, Repair
from outbox.states import Finding
from runs.values import Principal
from tests import cast, review
from tests.browser.screens.conftest import SignIn, findings, overflow, settle, too_small
from tests.browser.screens.keyboard import choose, press, tick, walk_to, write
from tests.browser.screens.test_reconcile import EVIDENCE, RECORD, sent, verdicts
from tests.outbox import settling

PHONE = pytest.mark.parametrize("context", ["phone"], indirect=True)
pytestmark = [PHONE, pytest.mark.timeout(120)]

VERDICT, REPAIR = "#verdict-form [name=verdict]", "#repair-form [name=repair]"
ORDER = "#repair-form [data-decides]"
WAITS = "It waits for a second admin."


@pytest.fixture
def dora(live: str, sign_in: SignIn) -> Principal:
    dora = cast.dora()
    sign_in(dora)
    return dora


def look_over(page: Page) -> None:
    """What has to hold at every step, seen from the top: what the bars at the edges half cover counts as too small."""
    page.evaluate("scrollTo(0, 0)")
    assert (findings(page), overflow(page)) == ([], 0)


def find(page: Page, verdict: str, number: str = "") -> None:
    """Record a verdict with its evidence."""
    choose(page, VERDICT, verdict)
    write(page, page.locator("#verdict-provider_request_id"), number)
    write(page, page.locator("#verdict-evidence"), EVIDENCE)
    write(page, page.locator("#verdict-reason"), "So it is.")
    look_over(page)
    press(page, page.locator(RECORD))


def agree(page: Page, effect: Effect) -> None:
    """As a second admin, confirm what waits."""
    page.goto(f"/effects/{effect.pk}/")
    look_over(page)
    write(page, page.get_by_label("Why you agree"), "I looked as well.")
    press(page, page.get_by_role("button", name="Confirm as second admin"))
    expect(told(page)).to_contain_text("Confirmed: it is in force.")
    look_over(page)


def told(page: Page) -> Locator:
    """What was said after a press; it has the focus."""
    return page.locator("#settle .note:focus")


def open_case(page: Page) -> Effect:
    """The page of an effect of which nobody knows what became."""
    effect = sent()
    page.goto(f"/effects/{effect.pk}/")
    look_over(page)
    return effect


def state(effect: Effect) -> str:
    effect.refresh_from_db()
    return effect.state


# ---- verdicts ----------------------------------------------------------------------------------------------


def test_it_happened_and_the_provider_gave_an_id(page: Page, dora: Principal) -> None:
    effect = open_case(page)

    find(page, "happened", "pay_8812")

    expect(told(page)).to_contain_text("Recorded, with your name and evidence.")
    expect(page.locator("h1")).to_contain_text("Confirmed: it happened.")
    look_over(page)
    assert state(effect) == "succeeded"


def test_it_happened_without_an_id_and_nobody_is_a_second_person_to_herself(
    page: Page, dora: Principal, second_admin: Page
) -> None:
    effect = open_case(page)

    find(page, "happened")

    expect(told(page)).to_contain_text(WAITS)
    expect(page.locator("#settle")).to_contain_text("Nothing changes until another admin confirms it.")
    expect(page.get_by_role("button", name="Confirm as second admin")).to_have_count(0)
    look_over(page)
    assert state(effect) == "needs_reconciliation"

    agree(second_admin, effect)
    expect(page.locator("h1")).to_contain_text("Confirmed: it happened.")
    assert state(effect) == "succeeded"


def test_it_cannot_be_told_and_another_verdict_follows(page: Page, dora: Principal) -> None:
    effect = open_case(page)

    find(page, "cannot_tell")
    expect(told(page)).to_contain_text("Recorded, with your name and evidence.")
    expect(page.locator("#effect-live")).to_contain_text(EVIDENCE)
    look_over(page)
    assert state(effect) == "needs_reconciliation"

    expect(page.locator("#verdict-evidence")).to_have_value("")
    settle(page)
    find(page, "happened", "pay_8812")
    expect(page.locator("h1")).to_contain_text("Confirmed: it happened.")
    assert verdicts() == ["cannot_tell", "happened"]


@pytest.mark.parametrize(("repair", "after"), [("resend", "dispatching"), ("mark_failed", "failed")])
def test_it_did_not_happen_and_what_follows_is_ordered_by_two(
    page: Page, dora: Principal, second_admin: Page, repair: str, after: str
) -> None:
    effect = open_case(page)
    find(page, "did_not_happen")
    expect(page.locator("h1")).to_contain_text("Nothing is sent until somebody orders it.")
    look_over(page)

    settle(page)
    choose(page, REPAIR, repair)
    write(page, page.locator("#repair-reason"), "Ana waits for it.")
    press(page, page.locator(ORDER))
    expect(told(page)).to_contain_text(WAITS)
    look_over(page)
    assert state(effect) == "needs_reconciliation"

    agree(second_admin, effect)
    assert state(effect) == after


def test_everything_that_is_pressed_is_large_enough(page: Page, dora: Principal) -> None:
    where = (f"/effects/{sent().pk}/", "/effects/")

    assert too_small(page, where, ".button, .choice, main select, main .pick label") == {}


# ---- a page that is not up to date -------------------------------------------------------------------------


def test_what_moved_while_the_form_was_open_is_said_and_the_words_are_kept(page: Page, dora: Principal) -> None:
    effect = open_case(page)
    page.route("**/effects/**", lambda route: route.abort() if route.request.method == "GET" else route.continue_())
    settling.change(effect)

    find(page, "cannot_tell")

    expect(told(page)).to_contain_text("You saw version 3; it is at 4. What you typed is kept.")
    expect(page.locator("#verdict-evidence")).to_have_value(EVIDENCE)
    look_over(page)
    settle(page)
    press(page, page.locator(RECORD))
    expect(page.locator("#announcer")).to_contain_text("This cannot be decided as it stands.")
    assert verdicts() == []

    page.unroute_all()
    press(page, page.get_by_role("link", name="See how it stands"))
    expect(page.locator("#verdict-evidence")).to_have_value(EVIDENCE)
    choose(page, VERDICT, "cannot_tell")
    press(page, page.locator(RECORD))
    expect(told(page)).to_contain_text("Recorded")
    assert verdicts() == ["cannot_tell"]


# ---- several at once ---------------------------------------------------------------------------------------


def unknown(key: str) -> Effect:
    """An effect of which nobody knows what became, at a provider that has forgotten its key."""
    return settling.let_pass(settling.attempt(review.refund_approved(key), settling.UNKNOWN), hours=1)


def found_not(key: str) -> Effect:
    """The same, found not to have happened."""
    effect = unknown(key)
    request = VerdictRequest(review.number("v"), Finding.DID_NOT_HAPPEN, EVIDENCE, "So.", effect.version)
    give_verdict(cast.dora(), effect.pk, request)
    effect.refresh_from_db()
    return effect


def test_a_bulk_repair_is_planned_looked_at_applied_and_told_row_by_row(page: Page, dora: Principal) -> None:
    review.destination("payments", recognises_repeats=True, key_retention_seconds=100)
    settled = settling.succeed(review.refund_approved("R-4"))
    effects = [found_not("R-1"), found_not("R-2"), unknown("R-3"), settled]
    page.goto("/effects/")
    look_over(page)
    for effect in effects:
        tick(page, page.locator(f"[value='{effect.pk}']"))
    walk_to(page, page.locator("#plan-repair"))
    page.keyboard.type("Send again")
    write(page, page.locator("#plan-reason"), "Their night of errors is over.")
    press(page, page.get_by_role("button", name="Plan it for the chosen effects"))

    expect(page.locator("#plan")).to_contain_text("2 would settle · 1 still unknown or waiting · 1 refused")
    look_over(page)
    assert not Repair.objects.exists()
    settling.change(effects[1])

    press(page, page.get_by_role("button", name="Apply to 4 effects"))

    expect(page.locator("#plan .note:focus")).to_contain_text("1 of 4 settled.")
    look_over(page)
    rows = dict(zip((effect.run.key for effect in effects), row_by_row(page, effects), strict=True))
    assert rows == {"R-1": "ordered, in force", "R-2": "refused", "R-3": "still unknown", "R-4": "refused"}
    assert Repair.objects.get().effect_id == effects[0].pk


def row_by_row(page: Page, effects: list[Effect]) -> list[str]:
    """What is told of each effect."""
    rows = [page.locator("#plan tr", has=page.get_by_text(effect.pk, exact=True)) for effect in effects]
    return [row.locator(".badge").inner_text() for row in rows]
