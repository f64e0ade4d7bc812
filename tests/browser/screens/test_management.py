"""The screens about rules, authority and what happened, in a real browser, with data that is long, hostile or over."""

import pytest
from playwright.sync_api import Page, expect

from approvals.destinations import Terms, register_destination
from console.waiting_kinds import KINDS
from runs import catalog
from runs.administration import By, newest_policy, set_halt
from runs.confirmations import confirm_alone
from runs.preferences import save_filter
from runs.values import Principal
from tests import cast
from tests.admins import confirmed, dan, new_person, policy_change
from tests.browser.gallery import HOSTILE
from tests.browser.screens.conftest import SignIn, faults, too_small

EVERYWHERE = pytest.mark.parametrize("context", ["desk", "phone dark"], indirect=True)

PAYMENTS = Terms("http", "https://pay.example.com/v1/refunds", recognises_repeats=True, key_retention_seconds=86400)


@pytest.fixture
def dora(live: str) -> Principal:
    """An admin of an installation in which much has happened, and which is halted."""
    bot, dora = cast.agent().principal, cast.dora()
    cast.run_with_open_amount("R-1", bot)
    for number in range(5):
        cast.command(bot, "R-1", "add-note", on=1, note={"id": f"n{number}", "text": HOSTILE[:200]})
    _change_policies(dora)
    _store_second_revision()
    register_destination("payments", PAYMENTS, cast.SETUP)
    register_destination("mail", Terms("smtp", "smtp+tls://mail.example.com:587"), By("cli:ops", HOSTILE))
    save_filter(dora, "/audit/", "What <b>agents</b> did", "kind=command.")
    set_halt(True, By("user:dora", HOSTILE[:300]))
    return dora


def _change_policies(dora: Principal) -> None:
    policy_change(dora, quorum=2)
    confirmed(dan(), policy_change(dora, separation="relaxed").waiting)
    alone = policy_change(dora, reauthenticate_within="10m", operators=["refund-operators", "day"]).waiting
    assert alone is not None
    confirm_alone(KINDS, alone, "cli:ops", HOSTILE)
    policy_change(dora, limits={"refund_amount": "900.00"}, operators=["refund-operators", "day", "night"])
    new_person(dora, "gil", "reviewer", groups=("refund-reviewers",))


def _store_second_revision() -> None:
    text = (cast.DEFINITIONS / "refund.toml").read_text()
    catalog.store_workflow(text.replace('title = "Add a tag"', 'title = "Attach a tag"'), "cli:ops")


PATHS = [
    "/workflows/", "/workflows/refund/", "/workflows/refund/revisions/1/", "/workflows/refund/policy/",
    "/workflows/refund/revisions/", "/workflows/refund/dry-run/",
    "/workflows/refund/dry-run/?run=R-1&command=set-recipient&base=1&current=2&params.recipient=Ana",
    "/confirmations/", "/confirmations/?state=settled", "/people/", "/people/ada/", "/agents/",
    "/agents/classifier/", "/destinations/", "/destinations/payments/", "/destinations/mail/", "/halt/",
    "/insights/", "/insights/?span=day", "/audit/", "/audit/?kind=command.", "/audit/?run=R-1", "/account/",
]  # fmt: skip


@EVERYWHERE
@pytest.mark.timeout(300)
def test_every_screen_is_accessible_quiet_and_no_wider_than_the_screen(
    page: Page, sign_in: SignIn, dora: Principal, complaints: list[str]
) -> None:
    sign_in(dora)

    assert faults(page, PATHS) == {}
    assert complaints == []


@pytest.mark.parametrize("context", ["phone"], indirect=True)
def test_everything_that_is_pressed_on_a_phone_is_large_enough(page: Page, sign_in: SignIn, dora: Principal) -> None:
    sign_in(dora)

    pressed = ".button, main select, main input:not([type=hidden], [type=checkbox])"
    where = ("/workflows/refund/policy/", "/confirmations/", "/people/ada/", "/halt/", "/audit/")
    assert too_small(page, where, pressed) == {}


@pytest.mark.parametrize("context", ["desk", "desk no script"], indirect=True)
def test_a_policy_is_loosened_by_two_admins_one_after_the_other(page: Page, sign_in: SignIn, live: str) -> None:
    cast.workflow()
    sign_in(cast.dora())
    page.goto("/workflows/refund/policy/")
    page.get_by_label("Separation of duties").select_option("relaxed")
    page.get_by_label("Reason").fill("Two people only in the night shift.")
    page.get_by_role("button", name="Change the policy").click()
    expect(page.get_by_text("A second admin has to confirm")).to_be_visible()
    assert newest_policy("refund").separation == "strict"

    sign_in(dan())
    page.goto("/confirmations/")
    page.get_by_label("Reason").fill("Agreed in the meeting.")
    page.get_by_role("button", name="Confirm: put it in force").click()

    expect(page.get_by_text("In force now.")).to_be_visible()
    assert newest_policy("refund").separation == "relaxed"


def test_a_rule_that_a_link_leads_to_is_marked(page: Page, sign_in: SignIn, live: str) -> None:
    cast.workflow()
    sign_in(cast.ada())

    page.goto("/workflows/refund/#set-category.2")

    row = page.locator("#set-category\\.2")
    expect(row).to_be_in_viewport()
    assert row.evaluate("row => row.matches(':target')")


def test_the_banner_tells_everybody_of_a_halt_and_the_switch_ends_it(page: Page, sign_in: SignIn, live: str) -> None:
    sign_in(cast.dora())
    page.goto("/runs/")
    page.get_by_role("link", name="Halt").click()
    page.get_by_label("Reason").fill("A key leaked.")
    page.get_by_role("button", name="Halt now").click()

    expect(page.get_by_role("complementary", name="Halt")).to_contain_text("A key leaked. In force. 0 in flight.")
    page.get_by_label("Reason").fill("It was replaced.")
    page.get_by_role("button", name="Let it go on").click()
    expect(page.get_by_role("complementary", name="Halt")).to_have_count(0)
