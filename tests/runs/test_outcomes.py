"""What a repeat of a command is answered, after every kind of outcome. `docs/concurrency.md` numbers the cases."""

import pytest

from runs.actions import apply_command
from runs.errors import CommandIdReused, InvalidTransition
from runs.escalations import ResolutionRequest, resolve
from runs.models import Conflict, Escalation, LedgerEntry
from runs.outcomes import Outcome
from runs.refusals import escalation_ref
from runs.states import Role
from runs.values import CommandRequest, Principal
from runs.verbs import Verb
from tests import cast

pytestmark = pytest.mark.django_db

KEY = "R-42"


@pytest.fixture
def agent() -> Principal:
    """An agent, and a run at version 2 with the category billing."""
    cast.run_working(KEY)
    return cast.agent().principal


def deliver(who: Principal, name: str, on: int, **params: str) -> Outcome:
    """Deliver the command `c-1`, as computed from version `on`."""
    return apply_command(who, KEY, on, CommandRequest("c-1", name, params, "the customer asked"))


def entries_of(who: Principal) -> list[str]:
    rows = LedgerEntry.objects.filter(run__key=KEY, actor=who.actor, command_id="c-1").order_by("seq")
    return list(rows.values_list("kind", flat=True))


def test_a_first_delivery_commits(agent: Principal) -> None:
    """Case 1: fresh."""
    outcome = deliver(agent, "assign", 2, assigned_owner="mara")

    assert (outcome.state, outcome.is_replay, outcome.answer["version"]) == ("committed", False, 3)


def test_a_repeat_after_success_gives_the_first_answer_whatever_version_it_names(agent: Principal) -> None:
    """Case 2: replayed after success."""
    first = deliver(agent, "assign", 2, assigned_owner="mara")
    cast.command(cast.ada(), KEY, "assign", assigned_owner="noor")

    for version in (1, 2, 4, 99):
        again = deliver(agent, "assign", version, assigned_owner="mara")
        assert (again.state, again.is_replay, again.answer) == ("committed", True, first.answer)
    assert entries_of(agent) == ["command.committed"]
    assert cast.reading(KEY).state.fields["assigned_owner"] == "noor"


def test_a_rejected_command_stays_rejected_when_its_reason_is_gone(agent: Principal) -> None:
    """Case 3: replayed after rejection."""
    cast.command(cast.ada(), KEY, "close-case")
    first = deliver(agent, "set-category", 2, category="damage")
    cast.command(cast.ada(), KEY, "reopen-case")

    again = deliver(agent, "set-category", cast.reading(KEY).version, category="damage")

    assert (first.state, again.state, again.is_replay, again.answer) == ("rejected", "rejected", True, first.answer)
    assert cast.reading(KEY).state.fields["category"] == "billing"


def test_an_escalated_command_stays_escalated_while_its_case_is_open(agent: Principal) -> None:
    """Case 4: replayed after escalation."""
    first = deliver(agent, "set-category", 1, category="damage")

    again = deliver(agent, "set-category", 2, category="damage")

    assert (first.state, again.state, again.is_replay, again.answer) == ("escalated", "escalated", True, first.answer)
    assert entries_of(agent) == ["command.escalated"]


@pytest.mark.parametrize(("verb", "state"), [(Verb.APPLY, "committed"), (Verb.KEEP, "rejected")])
def test_a_repeat_after_the_resolution_gives_what_the_resolution_made_of_it(
    agent: Principal, verb: Verb, state: str
) -> None:
    """Case 5: replayed after its resolution."""
    deliver(agent, "set-category", 1, category="damage")
    settle(verb)

    again = deliver(agent, "set-category", 1, category="damage")

    assert (again.state, again.is_replay) == (state, True)
    assert again.resolution is not None
    assert (again.resolution["verb"], again.resolution["by"]) == (verb.value, "user:nia")
    assert entries_of(agent) == ["command.escalated"]


def settle(verb: Verb) -> None:
    """Settle the open case as an operator who wrote neither side."""
    nia = cast.person("nia", Role.OPERATOR, groups=("refund-operators",))
    case = Escalation.objects.get(state="open")
    seen = cast.reading(KEY).version
    resolve(nia, escalation_ref(case.pk), ResolutionRequest("r-1", verb, "I looked", seen, case.version))


def test_a_command_that_was_sent_back_is_evaluated_anew(agent: Principal) -> None:
    """Case 6: resent after it was sent back."""
    deliver(agent, "set-category", 1, category="damage")
    settle(Verb.SEND_BACK)

    again = deliver(agent, "set-category", 2, category="damage")

    assert (again.state, again.is_replay) == ("committed", False)
    assert entries_of(agent) == ["command.escalated", "command.committed"]


def test_a_retry_repeated_on_the_same_version_is_the_same_refusal_and_counts_once(agent: Principal) -> None:
    """Case 7: retry with the same version."""
    cast.command(cast.ada(), KEY, "add-message", message={"id": "m1", "from": "customer", "text": "broken"})
    first = deliver(agent, "set-category", 2, category="damage")

    again = [deliver(agent, "set-category", 2, category="damage") for _ in range(3)]

    assert first.state == "retry"
    assert [(each.state, each.is_replay, each.answer) for each in again] == [("retry", True, first.answer)] * 3
    assert Conflict.objects.count() == 1
    assert entries_of(agent) == []


def test_a_retry_on_another_version_is_evaluated_anew(agent: Principal) -> None:
    """Case 8: retry with another version."""
    cast.command(cast.ada(), KEY, "add-message", message={"id": "m1", "from": "customer", "text": "broken"})
    deliver(agent, "set-category", 2, category="damage")

    again = deliver(agent, "set-category", 3, category="damage")

    assert (again.state, again.is_replay, again.answer["version"]) == ("committed", False, 4)


def test_an_id_never_stands_for_two_requests(agent: Principal) -> None:
    """Case 10: reused with another request."""
    deliver(agent, "assign", 2, assigned_owner="mara")

    with pytest.raises(CommandIdReused):
        deliver(agent, "assign", 3, assigned_owner="noor")

    assert cast.reading(KEY).state.fields["assigned_owner"] == "mara"


def test_a_stale_command_is_judged_by_its_rules_and_then_stands_for_its_outcome(agent: Principal) -> None:
    """Case 12: stale."""
    first = deliver(agent, "assign", 1, assigned_owner="mara")
    again = deliver(agent, "assign", 1, assigned_owner="mara")

    assert (first.state, first.answer["merged_onto"]) == ("merged", 2)
    assert (again.state, again.is_replay) == ("merged", True)
    assert entries_of(agent) == ["command.merged"]


def test_an_illegal_command_records_nothing_and_leaves_its_id_free(agent: Principal) -> None:
    """Case 13: illegal."""
    with pytest.raises(InvalidTransition):
        deliver(agent, "reopen-case", 2)

    other = deliver(agent, "assign", 2, assigned_owner="mara")

    assert other.state == "committed"


def test_a_command_that_changes_nothing_is_recorded_without_an_entry(agent: Principal) -> None:
    """Case 14: no effect."""
    outcomes = [deliver(agent, "set-category", 2, category="billing") for _ in range(2)]

    assert [(each.state, each.is_replay) for each in outcomes] == [("unchanged", False), ("unchanged", True)]
    assert (cast.reading(KEY).version, entries_of(agent)) == (2, [])
