"""A review card in the browser: the facts in sight first, decided by keyboard, moved while it is read, and hostile."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from approvals.models import Decision
from outbox.models import Effect
from runs.expiry import expire_due_runs
from runs.values import Principal
from tests import cast, review
from tests.browser.gallery import HOSTILE
from tests.browser.screens.conftest import SignIn, findings, refresh, settle

EVERYWHERE = pytest.mark.parametrize("context", ["desk", "phone dark"], indirect=True)
APPROVE, DENY = "#decide [value=approve]", "#decide [value=deny]"
HIDDEN = "Ana Lima \u2714 verified by policy \u202eEUR 00.54\u202c" + " " * 60 + "\u0410na and the rest of a name"


@pytest.fixture
def ben(live: str, sign_in: SignIn) -> Principal:
    ben = cast.ben()
    sign_in(ben)
    return ben


@pytest.fixture
def card(ben: Principal) -> str:
    """The address of a refund under review."""
    return f"/snapshots/{review.refund_ready_for_review()}/"


def hostile_card() -> str:
    """A refund whose recipient, reason and references try everything."""
    review.destination("payments")
    cast.run_received("R-9", recipient=HIDDEN)
    cast.command(review.cashier(), "R-9", "set-refund-amount", amount="25.00", currency="EUR")
    frozen = review.freeze(review.cashier(), "R-9", "pay", reason=HOSTILE * 3, evidence=(HOSTILE[:200],))
    return f"/snapshots/{frozen.answer['snapshot']}/"


def long_card() -> str:
    """A report whose question fills a page and whose payload begins with a wall of padding."""
    artifacts = review.report_working()
    cast.command(review.coordinator(), review.REPORT, "set-question", question="Explain the churn. " * 200)
    for slot, content in (("research", review.RESEARCH), ("calculation", review.CALCULATION)):
        artifacts[slot] = review.artifact(review.coordinator(), review.REPORT, slot, 7, content)
    payload = review.report_payload(artifacts) | {"a": "\n" * 100_000 + "send it twice", "title": "x" * 200}
    frozen = review.freeze(review.coordinator(), review.REPORT, "send", artifacts=artifacts, payload=payload)
    return f"/snapshots/{frozen.answer['snapshot']}/"


def verdicts() -> list[str]:
    return list(Decision.objects.values_list("verdict", flat=True))


# ---- what is in sight --------------------------------------------------------------------------------------


@EVERYWHERE
def test_what_matters_stands_in_the_first_screen(page: Page, card: str) -> None:
    page.goto(card)

    for words in ("25.00 EUR", "Ana Lima", "provider.example.com", "0 of 1", "every hash computed anew just now"):
        expect(page.locator(".deed").get_by_text(words).first).to_be_in_viewport()
    expect(page.locator("h1")).to_be_in_viewport()
    expect(page.locator(APPROVE)).to_be_in_viewport()


@EVERYWHERE
@pytest.mark.parametrize("made", [hostile_card, long_card])
def test_no_text_pushes_the_facts_out_of_the_first_screen(page: Page, ben: Principal, made: object) -> None:
    page.goto(made())  # type: ignore[operator]  # a builder

    expect(page.locator("h1")).to_be_in_viewport()
    for fact in page.locator(".keyfacts dt").all():
        expect(fact).to_be_in_viewport()
    expect(page.locator(".keyfacts").get_by_text("provider.example.com")).to_be_in_viewport()
    expect(page.locator(APPROVE)).to_be_in_viewport()


@EVERYWHERE
def test_hostile_text_runs_nothing_asks_for_nothing_and_leads_nowhere(
    page: Page, ben: Principal, complaints: list[str]
) -> None:
    card = hostile_card()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    page.goto(card)
    page.locator(".agent-text .body").click()

    expect(page.locator(".agent-text .body")).to_contain_text("<b hx-get='/x'>✔ verified by policy</b>")
    expect(page.locator(".untrusted a, .untrusted b, .untrusted img")).to_have_count(0)
    assert [url for url in asked if url.endswith("/x") or "http://127.0.0.1" not in url] == []
    assert complaints == []


@EVERYWHERE
@pytest.mark.timeout(180)
def test_every_state_of_the_card_is_accessible_and_no_wider_than_the_screen(page: Page, ben: Principal) -> None:
    paths = [hostile_card(), long_card(), f"/snapshots/{review.report_reviewed('R-43')}/"]
    paths += [f"/snapshots/{review.refund_approved('R-8').snapshot_id}/"]
    denied = review.refund_ready_for_review("R-10")
    review.deny(ben, denied)
    again = review.freeze(review.cashier(), "R-10", "pay").answer["snapshot"]
    paths += [f"/snapshots/{denied}/", f"/snapshots/{again}/"]
    paths += [paths[1] + part for part in ("payload/", "manifest/", "artifacts/research/")]

    found: dict[str, list[str]] = {}
    for path in paths:
        page.goto(path)
        found[path] = findings(page)
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found[path].append("wider than the screen")

    assert {path: faults for path, faults in found.items() if faults} == {}


# ---- deciding ----------------------------------------------------------------------------------------------


def test_a_snapshot_is_approved_with_the_keyboard_alone(page: Page, card: str) -> None:
    page.goto(card)
    page.locator("#decide-reason").focus()
    page.keyboard.type("The policy table gives this.")
    page.keyboard.press("Tab")
    expect(page.locator(DENY)).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(page.locator("#decide")).to_contain_text("You approved it: 1 of 1.")
    expect(page.locator("#decide .note").first).to_be_focused()
    expect(page.locator("#standing")).to_contain_text("revocable")
    assert verdicts() == ["approve"]


def test_enter_in_a_field_decides_nothing(page: Page, ben: Principal) -> None:
    page.goto(hostile_card())
    page.locator("#decide-looked").focus()
    page.keyboard.press("Enter")

    expect(page.locator(APPROVE)).to_be_visible()
    assert verdicts() == []


def test_what_is_hidden_in_the_bytes_keeps_approving_off_until_it_was_looked_at(page: Page, ben: Principal) -> None:
    page.goto(hostile_card())
    page.locator(APPROVE).click()
    assert verdicts() == []

    page.check("#decide-looked")
    page.locator(APPROVE).click()

    expect(page.locator("#decide")).to_contain_text("You approved it")
    assert verdicts() == ["approve"]


def test_a_deny_without_a_reason_comes_back_with_the_field_in_focus(page: Page, card: str) -> None:
    page.goto(card)
    page.locator(DENY).click()

    expect(page.locator("#decide")).to_contain_text("A deny needs a reason")
    assert verdicts() == []

    page.fill("#decide-reason", "Promised less on the phone.")
    settle(page)
    page.locator(DENY).click()
    expect(page.locator("#decide")).to_contain_text("You denied it.")
    assert verdicts() == ["deny"]


def test_a_double_click_decides_once(page: Page, card: str) -> None:
    page.goto(card)
    page.locator(APPROVE).dblclick()

    expect(page.locator("#decide")).to_contain_text("You approved it: 1 of 1.")
    assert verdicts() == ["approve"]
    assert Effect.objects.count() == 1


def test_a_fact_that_moves_while_it_is_read_stops_the_decision_and_keeps_the_words(page: Page, card: str) -> None:
    page.goto(card)
    page.fill("#decide-reason", "The policy table gives this.")
    cast.command(cast.ada(), review.REFUND, "set-refund-amount", amount="26.00", currency="EUR")

    refresh(page, "#standing")
    expect(page.locator("#review-age")).to_contain_text("The snapshot is not under review.")
    expect(page.locator("#review-facts")).to_contain_text("no longer what was frozen")
    expect(page.locator(APPROVE)).to_have_attribute("aria-disabled", "true")
    page.locator(APPROVE).click(force=True)  # as somebody would who does not see that it is off
    expect(page.locator("#announcer")).to_contain_text("This cannot be decided as it stands.")
    expect(page.locator("#decide-reason")).to_have_value("The policy table gives this.")
    assert verdicts() == []


def test_a_press_on_what_moved_unseen_is_refused_beside_what_was_typed(page: Page, card: str) -> None:
    page.goto(card)
    page.fill("#decide-reason", "The policy table gives this.")
    newer = review.freeze(review.cashier(), review.REFUND, "pay").answer["snapshot"]

    page.locator(APPROVE).click()

    expect(page.locator("#decide")).to_contain_text("The snapshot is not under review. Nothing was decided.")
    expect(page.locator("#typed-note")).to_have_value("The policy table gives this.")
    page.get_by_role("link", name="The candidate under review now").click()
    expect(page).to_have_url(f"{page.url.partition('/snapshots/')[0]}/snapshots/{newer}/")
    assert verdicts() == []


# ---- while it is open --------------------------------------------------------------------------------------


def test_of_two_tabs_of_one_person_the_older_hears_that_it_was_decided(
    page: Page, context: BrowserContext, ben: Principal
) -> None:
    card = f"/snapshots/{review.report_ready_for_review()}/"
    newer = context.new_page()
    page.goto(card)
    page.fill("#decide-reason", "Both inputs are in.")
    newer.goto(card)
    newer.locator(APPROVE).click()
    expect(newer.locator("#decide")).to_contain_text("You approved it: 1 of 1.")

    page.locator(APPROVE).click()

    expect(page.locator("#decide")).to_contain_text("You approved this already.")
    expect(page.locator("#decide-reason")).to_have_value("Both inputs are in.")
    assert verdicts() == ["approve"]


def denied_by_another() -> None:
    review.deny(review.bea(), cast.reading(review.REFUND).state.active_snapshot or "")


def expired() -> None:
    cast.policy("refund", run_expires_after=0)
    assert expire_due_runs() == 1


@pytest.mark.parametrize("context", ["desk", "phone dark"], indirect=True)
@pytest.mark.parametrize(
    ("happen", "words"), [(denied_by_another, "It is wrong."), (expired, "expired")], ids=["denied", "expired"]
)
def test_a_review_that_ends_while_it_is_read_takes_no_decision_and_says_why(
    page: Page, card: str, happen: Callable[[], None], words: str
) -> None:
    page.goto(card)
    page.fill("#decide-reason", "The policy table gives this.")
    happen()

    refresh(page, "#standing")
    expect(page.locator("#review-age")).to_contain_text("The snapshot is not under review.")
    expect(page.locator(APPROVE)).to_have_attribute("aria-disabled", "true")
    expect(page.locator("#decide-reason")).to_have_value("The policy table gives this.")
    page.reload()
    expect(page.locator("main")).to_contain_text(words)
    expect(page.locator(APPROVE)).to_have_count(0)
    assert "approve" not in verdicts()


@pytest.mark.parametrize("happen", [denied_by_another, expired])
def test_a_press_after_the_end_of_a_review_is_told_that_nothing_was_decided(
    page: Page, card: str, happen: Callable[[], None]
) -> None:
    page.goto(card)
    happen()

    page.locator(APPROVE).click()

    expect(page.locator("#decide")).to_contain_text("Nothing was decided.")
    assert "approve" not in verdicts()
    assert not Effect.objects.exists()


@EVERYWHERE
def test_a_look_alike_host_is_named_by_what_it_is(page: Page, ben: Principal) -> None:
    """The first letter of the host is not Latin; nobody would see it."""
    review.destination("payments", url="https://xn--ayments-pjg.example.com/deliver")
    page.goto(f"/snapshots/{review.refund_ready_for_review()}/")

    destination = page.locator(".keyfacts").get_by_text("xn--")
    expect(destination.first).to_be_in_viewport()
    expect(page.locator(".keyfacts")).to_contain_text("Cyrillic")
    page.check("#decide-looked")
    page.locator(APPROVE).click()
    expect(page.locator("#decide")).to_contain_text("You approved it")


def test_unrelated_traffic_lets_the_reader_decide(page: Page, card: str) -> None:
    page.goto(card)
    cast.command(cast.ada(), review.REFUND, "add-note", note={"id": "n1", "text": "called back"})

    refresh(page, "#standing")
    expect(page.locator("#review-ledger")).to_contain_text("Add an internal note")
    expect(page.locator("#review-age")).to_be_empty()
    page.locator(APPROVE).click()

    expect(page.locator("#decide")).to_contain_text("You approved it")


def test_who_was_signed_out_meanwhile_keeps_the_words(page: Page, card: str, context: BrowserContext) -> None:
    page.goto(card)
    page.fill("#decide-reason", "The policy table gives this.")
    context.clear_cookies()

    page.locator(APPROVE).click()

    expect(page.locator("#toasts")).to_contain_text("Nothing was decided, and what you typed is kept.")
    expect(page.locator("#decide-reason")).to_have_value("The policy table gives this.")
    assert verdicts() == []


def test_an_approval_is_revoked_beside_the_sentence_that_says_what_that_does(page: Page, card: str) -> None:
    page.goto(card)
    page.locator(APPROVE).click()
    page.locator("#revoke summary").click()
    expect(page.locator("#revoke")).to_contain_text("the effect is cancelled in the same moment")
    page.locator("#revoke textarea").fill("Wrong customer.")
    settle(page)

    page.get_by_role("button", name="Revoke this approval").click()

    expect(page.locator("#decide")).to_contain_text("is cancelled, and nothing can be sent")
    expect(page.locator("#review-state")).to_contain_text("cancelled, nothing happened")
    assert Effect.objects.get().state == "cancelled"


@pytest.mark.parametrize("context", ["no script"], indirect=True)
def test_without_script_everything_can_be_decided(page: Page, card: str) -> None:
    page.goto(card)
    page.fill("#decide-reason", "The policy table gives this.")
    page.locator(APPROVE).click()
    expect(page.locator("#decide")).to_contain_text("You approved it: 1 of 1.")

    page.locator("#revoke summary").click()
    page.locator("#revoke textarea").fill("Wrong customer.")
    page.get_by_role("button", name="Revoke this approval").click()

    expect(page.locator("#decide")).to_contain_text("is cancelled, and nothing can be sent")


def test_nothing_of_a_card_stays_in_the_browser(page: Page, card: str) -> None:
    page.goto(card)
    page.locator(APPROVE).click()
    expect(page.locator("#decide")).to_contain_text("You approved it")

    assert page.evaluate("[localStorage.length, sessionStorage.length]") == [0, 0]
