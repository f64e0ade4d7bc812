"""What waits for operators, and who they are."""

from uuid import uuid4

import pytest

from runs import authority, backlog
from runs.administration import set_person_active
from runs.models import Conflict
from runs.states import Role
from tests import cast

pytestmark = pytest.mark.django_db


def test_open_cases_are_counted_by_workflow_and_by_run() -> None:
    bot = cast.agent().principal
    run = cast.run_with_open_case("R-1", bot)
    cast.command(bot, "R-1", "set-category", on=1, category="other", id_="c-9")  # joins the case
    other = cast.run_with_open_amount("R-2", bot)
    quiet = cast.run_received("R-3")

    assert backlog.count_open_cases(["refund"]) == 2
    assert backlog.count_open_cases(["report"]) == backlog.count_open_cases([]) == 0
    assert backlog.open_cases_by_run([run.id, other.id, quiet.id]) == {run.id: 1, other.id: 1}


def test_a_count_stops_where_it_says_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "COUNTED_AT_MOST", 1)
    bot = cast.agent().principal
    for key in ("R-1", "R-2"):
        cast.run_with_open_case(key, bot)

    assert backlog.count_open_cases(["refund"]) == 1


def test_the_open_cases_of_a_run_are_listed_oldest_first() -> None:
    run = cast.run_with_open_case("R-1", cast.agent("first").principal)
    cast.command(cast.agent("second").principal, "R-1", "set-category", on=1, category="other")
    cast.run_with_open_case("R-2", cast.agent("third").principal)

    assert [case.principal for case in backlog.open_cases_of_run(run.id)] == ["agent:first", "agent:second"]


def test_the_short_fields_of_a_base_are_read_without_the_long_ones() -> None:
    bot = cast.agent().principal
    cast.run_received(recipient="x" * 100)
    cast.command(cast.ada(), "R-42", "set-category", category="billing")
    cast.command(bot, "R-42", "set-category", on=1, category="damage")
    conflict = Conflict.objects.get()

    bases = backlog.read_short_bases([conflict.pk, uuid4()], 60)

    assert list(bases) == [conflict.pk]
    assert bases[conflict.pk]["currency"] == "EUR"
    assert bases[conflict.pk]["category"] is None
    assert "recipient" not in bases[conflict.pk]


def test_operators_are_the_active_people_of_its_groups_with_the_role() -> None:
    cast.run_received()
    for name in ("mara", "jo"):
        cast.person_operating(name)
    cast.ben()
    cast.cy()
    cast.person("guest", groups=("refund-operators",))
    set_person_active("jo", False, cast.SETUP)

    assert backlog.operators_of(authority.policy_of("refund")) == ["ada", "mara"]


def test_admins_are_the_active_people_with_the_role() -> None:
    cast.dora()
    cast.person("zoe", Role.ADMIN, Role.REVIEWER)
    cast.eli()

    assert backlog.admins() == ["dora", "zoe"]
