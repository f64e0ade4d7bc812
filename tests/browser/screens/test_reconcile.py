"""Finding out what became of an effect, in the browser: by keyboard, moved while it is read, by a second admin."""

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from outbox.models import Effect, Verdict
from outbox.providers.base import Result
from outbox.quarantine import quarantine_all
from outbox.reconcile import reconcile
from outbox.recording import record
from outbox.states import Outcome
from runs.states import Role
from runs.values import Principal
from tests import cast, review
from tests.browser.gallery import HOSTILE
from tests.browser.screens.conftest import SignIn, findings, refresh
from tests.outbox import settling

EVERYWHERE = pytest.mark.parametrize("context", ["desk", "phone dark"], indirect=True)
RECORD = "#verdict-form [data-decides]"
EVIDENCE = "The portal shows nothing under this key."


@pytest.fixture
def dora(live: str, sign_in: SignIn) -> Principal:
    dora = cast.dora()
    sign_in(dora)
    return dora


def sent(key: str = review.REFUND, response: bytes = b"") -> Effect:
    """An effect that was sent once, an hour ago, to a provider that recognises no repeats; nobody knows more."""
    review.destination("payments", recognises_repeats=False, key_retention_seconds=None)
    result = Result(Outcome.UNKNOWN, "ReadTimeout: no answer", None, None, response=response)
    return settling.let_pass(settling.attempt(review.refund_approved(key), result), hours=1)


def late(key: str) -> Effect:
    """The same, of which a late answer said that it was accepted."""
    review.destination("payments", recognises_repeats=False, key_retention_seconds=None)
    effect = review.refund_approved(key)
    held = settling.claimed(effect)
    settling.let_pass(effect, hours=1)
    reconcile()
    record(held, Result(Outcome.ACCEPTED, HOSTILE, "pay_8812", 202, response=HOSTILE.encode()))
    effect.refresh_from_db()
    return effect


@pytest.fixture
def case(dora: Principal) -> str:
    """The address of an effect whose outcome nobody knows."""
    return f"/effects/{sent().pk}/"


def find(page: Page, verdict: str) -> None:
    """Choose a verdict and say why."""
    page.check(f"#verdict-form [value={verdict}]")
    page.fill("#verdict-evidence", EVIDENCE)
    page.fill("#verdict-reason", "So it is.")


def verdicts() -> list[str]:
    return list(Verdict.objects.order_by("at").values_list("verdict", flat=True))


# ---- what is in sight --------------------------------------------------------------------------------------


@EVERYWHERE
def test_what_is_known_and_what_it_is_about_stand_in_the_first_screen(page: Page, case: str) -> None:
    page.goto(case)

    expect(page.get_by_role("heading", level=1)).to_contain_text("and do not know whether it happened")
    for words in ("Nothing more is sent until somebody has found out.", "25.00 EUR", "Ana Lima"):
        expect(page.get_by_text(words).first).to_be_in_viewport()
    expect(page.locator("h1")).to_be_in_viewport()
    expect(page.locator(RECORD)).to_be_in_viewport()


@EVERYWHERE
@pytest.mark.timeout(240)
def test_every_state_of_an_effect_is_accessible_quiet_and_no_wider_than_the_screen(
    page: Page, dora: Principal, complaints: list[str]
) -> None:
    made = [sent("R-1", HOSTILE.encode()), late("R-2"), settling.succeed(review.refund_approved("R-3"))]
    review.revoke(cast.ben(), review.approval_of(made[2]))
    made += [settling.attempt(review.refund_approved("R-4"), settling.REFUSED), review.refund_approved("R-5")]
    review.destination("payments", recognises_repeats=True, key_retention_seconds=86400)
    made += [settling.attempt(review.refund_approved("R-6"), settling.UNKNOWN)]
    remediation = made[2].remediations.get().pk.hex

    paths = [f"/effects/{effect.pk}/" for effect in made]
    paths += ["/effects/", "/effects/?state=failed", f"/remediations/rm-{remediation}/", "/remediations/"]
    paths += ["/standing-approvals/", "/", "/?queue=repairs", "/runs/R-3/", "/runs/R-1/freezes/pay/"]
    found: dict[str, list[str]] = {}
    for path in paths:
        page.goto(path)
        found[path] = findings(page)
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found[path].append("wider than the screen")

    assert {path: faults for path, faults in found.items() if faults} == {}
    assert complaints == []


# ---- finding out -------------------------------------------------------------------------------------------


def test_a_verdict_is_given_with_the_keyboard_alone(page: Page, case: str) -> None:
    page.goto(case)
    page.locator("#verdict-form [name=verdict]").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#verdict-form [value=cannot_tell]")).to_be_checked()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type(EVIDENCE)
    page.keyboard.press("Tab")
    page.keyboard.type("Nobody answered.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(page.locator("#settle")).to_contain_text("Recorded, with your name and evidence.")
    expect(page.locator("#effect-live")).to_contain_text(EVIDENCE)
    assert verdicts() == ["cannot_tell"]


def test_the_button_says_what_it_records(page: Page, case: str) -> None:
    page.goto(case)
    said = [page.locator(RECORD).inner_text()]
    for verdict in ("happened", "did_not_happen", "cannot_tell"):
        page.check(f"#verdict-form [value={verdict}]")
        said.append(page.locator(RECORD).inner_text())

    assert said == [
        "Record the verdict",
        "Record: it happened",
        "Record: it did not happen",
        "Record: cannot tell",
    ]


def test_repairs_appear_only_after_a_finding(page: Page, case: str) -> None:
    page.goto(case)
    expect(page.locator("#repairs")).to_contain_text("First somebody has to find out that it did not happen.")
    expect(page.locator("#repair-form")).to_have_count(0)

    find(page, "did_not_happen")
    page.locator(RECORD).click()

    expect(page.locator("#repair-form")).to_be_visible()
    expect(page.locator("#effect-head")).to_contain_text("Nothing is sent until somebody orders it.")


def test_an_effect_that_moves_while_it_is_read_stops_the_verdict_and_keeps_the_words(page: Page, case: str) -> None:
    page.goto(case)
    find(page, "cannot_tell")
    settling.change(review.effect_of())

    refresh(page, "#effect-live")
    expect(page.locator("#effect-age")).to_contain_text("The effect moved to version")
    expect(page.locator(RECORD)).to_have_attribute("aria-disabled", "true")
    page.locator(RECORD).click(force=True)  # as somebody would who does not see that it is off
    expect(page.locator("#announcer")).to_contain_text("This cannot be decided as it stands.")
    expect(page.locator("#verdict-evidence")).to_have_value(EVIDENCE)
    assert verdicts() == []

    page.get_by_role("link", name="See how it stands").click()
    expect(page.locator("#verdict-evidence")).to_have_value(EVIDENCE)
    page.check("#verdict-form [value=cannot_tell]")
    page.locator(RECORD).click()
    expect(page.locator("#settle")).to_contain_text("Recorded")
    assert verdicts() == ["cannot_tell"]


def test_a_press_on_what_moved_unseen_is_refused_beside_what_was_typed(page: Page, case: str) -> None:
    page.goto(case)
    find(page, "cannot_tell")
    settling.change(review.effect_of())

    page.locator(RECORD).click()

    expect(page.locator("#settle")).to_contain_text("You saw version 3; it is at 4. What you typed is kept.")
    expect(page.locator("#verdict-evidence")).to_have_value(EVIDENCE)
    expect(page.locator("#verdict-form [value=cannot_tell]")).to_be_checked()
    assert verdicts() == []


def test_a_double_click_records_once(page: Page, case: str) -> None:
    page.goto(case)
    find(page, "cannot_tell")

    page.locator(RECORD).dblclick()

    expect(page.locator("#settle")).to_contain_text("Recorded")
    assert verdicts() == ["cannot_tell"]


def test_a_second_admin_confirms_beside_the_evidence(
    page: Page, case: str, context: BrowserContext, sign_in: SignIn
) -> None:
    page.goto(case)
    find(page, "happened")
    page.locator(RECORD).click()
    expect(page.locator("#settle")).to_contain_text("It waits for a second admin.")
    expect(page.get_by_role("button", name="Confirm as second admin")).to_have_count(0)

    sign_in(cast.person("otto", Role.ADMIN))
    page.goto(case)
    expect(page.locator("#settle")).to_contain_text(EVIDENCE)
    page.get_by_label("Why you agree").fill("I looked as well.")
    page.get_by_role("button", name="Confirm as second admin").click()

    expect(page.locator("#settle")).to_contain_text("Confirmed: it is in force.")
    expect(page.locator("h1")).to_contain_text("Confirmed: it happened.")
    assert Effect.objects.get().state == "succeeded"


@pytest.mark.parametrize("context", ["no script"], indirect=True)
def test_without_script_everything_can_be_found_out_and_ordered(page: Page, case: str) -> None:
    page.goto(case)
    find(page, "did_not_happen")
    page.locator(RECORD).click()
    expect(page.locator("#settle")).to_contain_text("Recorded, with your name and evidence.")

    page.check("#repair-form [value=mark_failed]")
    page.fill("#repair-reason", "Nothing to pay any more.")
    page.locator("#repair-form [data-decides]").click()

    expect(page.locator("#settle")).to_contain_text("It waits for a second admin.")


def test_a_late_answer_is_evidence_and_offers_its_id(page: Page, dora: Principal) -> None:
    page.goto(f"/effects/{late('R-2').pk}/")

    page.locator("#late summary").click()
    expect(page.locator("#late")).to_contain_text("⟨U+202E⟩")
    expect(page.locator("#verdict-provider_request_id")).to_have_value("pay_8812")
    expect(page.locator("h1")).to_contain_text("do not know whether it happened")


# ---- several at once ---------------------------------------------------------------------------------------


def test_several_effects_are_released_by_a_plan_that_is_looked_at_first(page: Page, dora: Principal) -> None:
    for key in ("R-1", "R-2", "R-3"):
        review.refund_approved(key)
    quarantine_all(cast.SETUP)
    page.goto("/effects/")

    page.check("[value='R-1:pay:v4']")
    page.check("[value='R-3:pay:v4']")
    page.select_option("#plan-repair", "release")
    page.fill("#plan-reason", "Restored at noon; we find out one by one.")
    page.get_by_role("button", name="Plan it for the chosen effects").click()
    expect(page.locator("#plan")).to_contain_text("2 would settle")
    assert Effect.objects.filter(quarantined=True).count() == 3

    page.get_by_role("button", name="Apply to 2 effects").click()

    expect(page.locator("#plan")).to_contain_text("2 of 2 settled.")
    assert list(Effect.objects.filter(quarantined=True).values_list("run__key", flat=True)) == ["R-2"]
