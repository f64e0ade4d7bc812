"""Every screen of runs, inbox and conflict cases with data that is long, hostile, empty or over."""

import pytest
from playwright.sync_api import BrowserContext, Page

from runs import actions
from runs.escalations import ResolutionRequest, resolve
from runs.models import Escalation
from runs.refusals import escalation_ref
from runs.values import CommandRequest, Principal
from runs.verbs import Verb
from tests import cast
from tests.browser.gallery import HOSTILE
from tests.browser.screens.conftest import SignIn, faults, too_small

#: Both sizes and both themes; the components themselves are looked at in every theme elsewhere.
EVERYWHERE = pytest.mark.parametrize("context", ["desk", "phone dark"], indirect=True)


def case_of(key: str) -> str:
    return f"/escalations/{escalation_ref(Escalation.objects.get(run__key=key).pk)}/"


@pytest.fixture
def mara(live: str) -> Principal:
    """An operator with cases of every kind before her."""
    mara, bot = cast.person_operating("mara"), cast.agent().principal
    cast.run_with_open_amount("R-1", bot)
    cast.run_with_open_amount("R-2", bot)
    resolve(mara, case_of("R-2").split("/")[2], ResolutionRequest("r-1", Verb.KEEP, "So it is.", 2, 1))
    cast.run_received("R-3", recipient=HOSTILE[:120], messages=[{"id": "m1", "from": "x" * 200, "text": HOSTILE * 3}])
    cast.command(cast.ada(), "R-3", "set-recipient", recipient="Ana Lima")
    asked = CommandRequest("c-x", "set-recipient", {"recipient": "x" * 200}, HOSTILE, (HOSTILE[:60], "y" * 300))
    actions.apply_command(bot, "R-3", 1, asked)
    cast.run_cancelled("R-4")
    cast.run_received("Q-1", "report", question="Explain the churn. " * 60, audience="the board")
    return mara


def paths() -> list[str]:
    return [
        "/", "/runs/", "/runs/?q=nothing", "/runs/?status=bogus",
        "/runs/R-1/", "/runs/R-3/", "/runs/R-4/", "/runs/Q-1/", "/runs/R-3/ledger/", "/runs/R-3/chain/",
        "/runs/R-3/json/", "/runs/R-3/ledger/1/",
        *(f"/runs/R-1/?command={name}" for name in ("add-message", "set-refund-amount", "cancel", "reopen")),
        case_of("R-1"), case_of("R-2"), case_of("R-3"), case_of("R-3") + "json/",
    ]  # fmt: skip


@EVERYWHERE
@pytest.mark.timeout(240)
def test_every_screen_is_accessible_quiet_and_no_wider_than_the_screen(
    page: Page, sign_in: SignIn, mara: Principal, complaints: list[str]
) -> None:
    sign_in(mara)

    assert faults(page, paths()) == {}
    assert complaints == []


@pytest.mark.parametrize("context", ["phone"], indirect=True)
def test_everything_that_is_pressed_on_a_phone_is_large_enough(page: Page, sign_in: SignIn, mara: Principal) -> None:
    sign_in(mara)

    pressed = ".button, .choice, .steps a, main select, main input:not([type=hidden], [type=radio])"
    where = ("/", "/runs/R-1/", "/runs/R-1/?command=set-refund-amount", case_of("R-1"))
    assert too_small(page, where, pressed) == {}


def test_hostile_text_runs_nothing_and_asks_for_nothing(
    page: Page, context: BrowserContext, sign_in: SignIn, mara: Principal, live: str
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    sign_in(mara)

    for path in ("/", "/runs/R-3/", "/runs/R-3/ledger/", "/runs/R-3/json/", case_of("R-3")):
        page.goto(path)
        page.mouse.wheel(0, 4000)

    assert [url for url in asked if not url.startswith(live)] == []
    assert [url for url in asked if url.endswith("/x")] == []
    assert page.locator(".untrusted b, .untrusted a, .untrusted img, .untrusted script").count() == 0
    assert page.evaluate("localStorage.length") == 0
