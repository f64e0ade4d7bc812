"""The inbox: what waits for whom, in which order, and what somebody reads for whom nothing waits."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from console.web import queues
from console.web.case_line import ageing
from console.web.gate import Viewer
from console.web.inbox import told
from console.web.queues import Item, read_stretch
from runs import claims
from runs.backlog import DUE_AFTER_SECONDS
from runs.claims import ClaimRequest
from runs.models import Escalation
from runs.refusals import escalation_ref
from runs.values import Principal
from tests import cast
from tests.console.web.visitor import Answer, Visitor, stranger, visit

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def mara() -> Visitor:
    """An operator without a side; R-1 waits about its category, R-2 about its amount, which is material."""
    bot = cast.agent().principal
    cast.run_with_open_case("R-1", bot)
    cast.run_with_open_amount("R-2", bot)
    return visit(cast.person_operating("mara"))


def rows(answer: Answer) -> list[str]:
    """The runs of the cases listed, in order."""
    return re.findall(r'data-h="Run"><div><a class="mono" href="/runs/([^/]+)/"', answer.html)


def ref(key: str) -> str:
    return escalation_ref(Escalation.objects.get(run__key=key).pk)


# ---- what is listed ------------------------------------------------------------------------------------------


def test_material_cases_come_first_and_then_the_oldest(mara: Visitor) -> None:
    cast.run_with_open_case("R-3", cast.agent("other").principal)

    assert rows(mara.get("/")) == ["R-2", "R-1", "R-3"]


def test_a_case_is_told_in_plain_words_with_its_reason_and_leads_to_its_page(mara: Visitor) -> None:
    answer = mara.get("/")

    assert "agent classifier proposed refund_amount 45.00 on version 1 ; person ada changed it to 30.00" in answer.text
    assert "Somebody else has set the category since." in answer.text
    assert f'href="/escalations/{ref("R-2")}/"' in answer.html


def test_what_the_proposal_alone_would_change_is_told_with_its_base() -> None:
    bot = cast.agent().principal
    cast.run_received("R-1")
    cast.command(cast.ada(), "R-1", "set-refund-amount", amount="30.00", currency="EUR")
    cast.command(bot, "R-1", "set-refund-amount", on=1, amount="45.00", currency="USD")

    text = visit(cast.person_operating("mara")).get("/").text

    assert "proposed refund_amount 45.00 and currency EUR → USD on version 1" in text


def test_whoever_holds_a_case_is_shown(mara: Visitor) -> None:
    claims.claim(cast.person_operating("jo"), ref("R-1"), ClaimRequest("c-1"))

    assert "person jo" in mara.get("/").text


def test_a_settled_case_waits_no_more(mara: Visitor) -> None:
    case = f"/escalations/{ref('R-2')}/"
    form = mara.get(case).form(f"{case}resolutions/")
    mara.post(f"{case}resolutions/", form | {"verb": "keep", "reason": "so it is"})

    assert rows(mara.get("/")) == ["R-1"]


def test_an_operator_sees_no_case_of_another_workflow(mara: Visitor) -> None:
    answer = visit(cast.cy()).get("/")

    assert rows(answer) == []
    assert "Nothing waits for you" in answer.text


def test_admins_and_auditors_see_all_cases_to_look_at_only(mara: Visitor) -> None:
    for person in (cast.dora(), cast.eli()):
        answer = visit(person).get("/")

        assert rows(answer) == ["R-2", "R-1"]
        assert answer.text.count("to look at only") == 2
        assert 'id="count-inbox"' not in answer.html  # nothing waits for them


def test_the_number_beside_the_link_is_what_waits_for_this_person(mara: Visitor) -> None:
    assert '<span class="count" id="count-inbox">2</span>' in mara.get("/runs/").html


def test_somebody_without_a_role_is_told_whom_to_ask(mara: Visitor) -> None:
    cast.dora()

    text = visit(cast.person("nora")).get("/").text

    assert "You have no role yet" in text
    assert "person dora" in text


def test_somebody_without_a_role_in_an_installation_without_an_admin_is_told_so(mara: Visitor) -> None:
    assert "there is no admin in it yet" in visit(cast.person("nora")).get("/").text


def test_an_empty_inbox_says_what_would_appear() -> None:
    cast.workflow()

    assert "a frozen deed to approve or deny, an effect nobody can explain" in visit(cast.ada()).get("/").text


def test_a_stranger_is_led_to_the_sign_in_page() -> None:
    assert stranger().get("/").header("Location") == "/accounts/login/?next=/"


# ---- pages, cost, refreshing -----------------------------------------------------------------------------------


def test_the_inbox_goes_on_where_the_page_ended(mara: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.web.inbox.PAGE_SIZE", 1)

    first = mara.get("/")
    more = first.html.split('rel="next" href="')[1].split('"')[0].replace("&amp;", "&")
    second = mara.get("/" + more)

    assert rows(first) == ["R-2"]
    assert rows(second) == ["R-1"]
    assert 'rel="next"' not in second.html


@pytest.mark.parametrize("after", ["x", "WyJhIl0.forged"])
def test_a_forged_place_is_refused(mara: Visitor, after: str) -> None:
    assert mara.get("/", **{"after-escalations": after}).status == 400


def test_a_queue_that_does_not_exist_is_not_found(mara: Visitor) -> None:
    assert mara.get("/", queue="wishes").status == 404


def test_one_queue_alone_can_be_asked_for(mara: Visitor) -> None:
    assert rows(mara.get("/", queue="escalations")) == ["R-2", "R-1"]


def test_the_inbox_costs_the_same_whatever_waits(mara: Visitor) -> None:
    mara.get("/")
    cost = mara.cost("/")

    for number in range(3, 20):
        cast.run_with_open_case(f"R-{number}", cast.agent(f"bot-{number}").principal)

    mara.get("/")
    assert mara.cost("/") == cost < 10


def test_the_list_is_sent_again_only_when_it_changed(mara: Visitor) -> None:
    first = mara.poll("/")

    unchanged = mara.poll("/", tag=first.header("HX-PTag"))
    claims.claim(cast.person_operating("jo"), ref("R-1"), ClaimRequest("c-1"))
    changed = mara.poll("/", tag=first.header("HX-PTag"))

    assert not first.is_page
    assert unchanged.status == 304
    assert "person jo" in changed.text


# ---- ageing ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("minutes", "tone"), [(0, "quiet"), (29, "quiet"), (30, "warn"), (59, "warn"), (60, "bad"), (6000, "bad")]
)
def test_a_case_ages_from_half_of_its_time_on(minutes: int, tone: str) -> None:
    assert DUE_AFTER_SECONDS == 60 * 60
    assert ageing(NOW - timedelta(minutes=minutes), NOW) == tone


def test_an_overdue_case_says_so_in_words(mara: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.web.case_line.DUE_AFTER", timedelta(seconds=0))

    assert mara.get("/").text.count("overdue since") == 2


# ---- several queues --------------------------------------------------------------------------------------------


class Pile:
    """A queue of the tests: items named by number, waiting since as many minutes after noon."""

    def __init__(self, key: str, rank: int, minutes: Sequence[int]) -> None:
        self.key, self.label, self._rank, self._minutes = key, key.capitalize(), rank, minutes

    def is_for(self, viewer: Viewer) -> bool:
        return viewer.principal.name != "cy"

    def count(self, viewer: Viewer) -> int:
        return len(self._minutes)

    def items(self, viewer: Viewer, limit: int, after: str | None) -> list[Item]:
        later = [minute for minute in self._minutes if after is None or minute > int(after)]
        return [self._item(minute) for minute in later[:limit]]

    def _item(self, minute: int) -> Item:
        since = NOW + timedelta(minutes=minute)
        return Item("inbox/_case_row.html", f"{self.key} {minute}", self._rank, since, str(minute), str(minute))


def ada() -> Viewer:
    return Viewer(Principal("person", "ada"), 1, NOW)


def taken(piles: list[Pile], limit: int) -> Iterator[list[str]]:
    """The stretches of these queues until nothing follows."""
    after: dict[str, str] | None = {}
    while after is not None:
        stretch = read_stretch(ada(), piles, after, limit)
        yield [item.line for item in stretch.items]
        after = None if stretch.next is None else dict(stretch.next)


def test_queues_are_merged_by_rank_and_then_by_age() -> None:
    piles = [Pile("reviews", 0, [1, 4]), Pile("repairs", 2, [3]), Pile("cases", 0, [2, 5])]

    (stretch,) = taken(piles, 10)

    assert stretch == ["repairs 3", "reviews 1", "cases 2", "reviews 4", "cases 5"]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 9])
def test_no_item_is_lost_or_repeated_between_stretches(limit: int) -> None:
    piles = [Pile("reviews", 0, [1, 4, 6]), Pile("repairs", 0, [3]), Pile("cases", 0, [2, 3, 5])]

    lines = [line for stretch in taken(piles, limit) for line in stretch]

    assert len(lines) == 7
    assert sorted(lines) == sorted(set(lines))
    assert [int(line.split()[1]) for line in lines] == sorted(int(line.split()[1]) for line in lines)


def test_more_than_one_queue_makes_tabs_with_counts(mara: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queues, "QUEUES", [*queues.QUEUES, Pile("reviews", 0, [])])
    monkeypatch.setattr("console.web.inbox.QUEUES", queues.QUEUES)

    html = mara.get("/", queue="escalations").html

    assert re.search(r'<a href="/">All <span class="count">2</span></a>', html)
    assert re.search(
        r'<a href="/\?queue=escalations" aria-current="page">Escalations <span class="count">2</span>', html
    )
    assert re.search(r'<a href="/\?queue=reviews">Reviews</a>', html)


def test_a_long_count_ends_with_a_plus() -> None:
    assert [told(count) for count in (0, 1, 99, 100, 250)] == ["", "1", "99", "99+", "99+"]
