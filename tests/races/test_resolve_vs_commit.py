"""An operator settles a case while somebody else writes, proposes, claims or settles: both orders, proven blocking."""

from typing import Any

import pytest

from runs import escalations
from runs.claims import ClaimRequest, claim
from runs.errors import AlreadyDecided, Unavailable, VersionConflict
from runs.escalations import Resolution, ResolutionRequest, resolve
from runs.models import Command, Escalation, LedgerEntry
from runs.outcomes import Outcome
from runs.refusals import escalation_ref
from runs.values import Principal
from runs.verbs import Verb
from tests import cast
from tests.races.pairs import STEP, race
from tests.sync import rivals_before

JSON = Any
KEY = "R-42"


@pytest.fixture(autouse=True)
def bot() -> Principal:
    """An agent whose amount 45.00 waits for an operator: Ada has set 30.00. The record stands at version 2."""
    mara(), lena()
    pricing = cast.agent("pricing").principal
    cast.run_with_open_amount(KEY, pricing)
    return pricing


def mara() -> Principal:
    return cast.person_operating("mara")


def lena() -> Principal:
    return cast.person_operating("lena")


def settle(who: Principal, verb: Verb = Verb.APPLY) -> Resolution:
    """Settle the case as it was at version 2."""
    ref = escalation_ref(Escalation.objects.get().pk)
    return resolve(who, ref, ResolutionRequest(f"r-{who.name}", verb, "The invoice says so.", 2, 1))


def set_amount(who: Principal, amount: str) -> Outcome:
    """Set the amount as computed from version 2."""
    return cast.command(who, KEY, "set-refund-amount", on=2, amount=amount, currency="EUR", id_=f"c-{who.name}")


def add_tag(who: Principal) -> Outcome:
    return cast.command(who, KEY, "add-tag", on=2, tag="vip", id_=f"c-{who.name}")


def amount() -> JSON:
    return cast.reading(KEY).state.fields["refund_amount"]


def case_state() -> str:
    return Escalation.objects.get().state


def story() -> list[tuple[int, int, str, str]]:
    """The ledger after the case was opened."""
    rows = LedgerEntry.objects.filter(run__key=KEY, seq__gt=3).order_by("seq")
    return list(rows.values_list("seq", "version", "kind", "actor"))


# ---- against a write of the same field -------------------------------------------------------------------


def test_a_write_that_comes_first_is_shown_to_the_operator_and_nothing_is_applied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written, settled = race(monkeypatch, lambda: set_amount(cast.ada(), "31.00"), lambda: settle(mara()))

    refusal = settled.error()
    assert written.result().state == "committed"
    assert isinstance(refusal, VersionConflict)
    assert refusal.members["changed_fields"][0]["current"] == "31.00"
    assert (amount(), case_state()) == ("31.00", "open")
    assert story() == [(4, 3, "command.committed", "user:ada")]


def test_a_write_that_comes_second_is_shown_what_the_operator_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    settled, written = race(monkeypatch, lambda: settle(mara()), lambda: set_amount(lena(), "31.00"))

    refused = written.result()
    assert settled.result().answer["verb"] == "apply"
    assert (refused.state, refused.answer["changed_fields"][0]["current"]) == ("retry", "45.00")
    assert refused.answer["changed_fields"][0]["changed_by"] == "user:mara"
    assert (amount(), case_state()) == ("45.00", "settled")
    assert story() == [(4, 3, "escalation.resolved", "user:mara")]


def test_a_write_of_what_was_proposed_settles_the_case_before_the_operator_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, settled = race(monkeypatch, lambda: set_amount(lena(), "45.00"), lambda: settle(mara(), Verb.KEEP))

    refusal = settled.error()
    assert isinstance(refusal, AlreadyDecided)
    assert (refusal.members["verb"], refusal.members["by"]) == ("superseded", "user:lena")
    assert story() == [(4, 3, "command.committed", "user:lena"), (5, 3, "escalation.superseded", "user:lena")]


def test_a_write_of_what_the_operator_applied_is_already_so(monkeypatch: pytest.MonkeyPatch) -> None:
    _, written = race(monkeypatch, lambda: settle(mara()), lambda: set_amount(lena(), "45.00"))

    assert written.result().answer["rule"]["name"] == "already-so"
    assert amount() == "45.00"


# ---- against unrelated traffic ---------------------------------------------------------------------------


@pytest.mark.parametrize("resolver_first", [True, False])
def test_unrelated_traffic_and_a_resolution_are_both_kept(
    bot: Principal, monkeypatch: pytest.MonkeyPatch, resolver_first: bool
) -> None:
    one, other = (lambda: settle(mara())), (lambda: add_tag(bot))
    ahead, behind = (one, other) if resolver_first else (other, one)

    for actor in race(monkeypatch, ahead, behind):
        actor.result()

    run = cast.reading(KEY)
    assert (run.version, run.state.fields["refund_amount"], run.state.fields["tags"]) == (4, "45.00", ["vip"])
    assert case_state() == "settled"


# ---- against a newer proposal ----------------------------------------------------------------------------


def propose(who: Principal) -> Outcome:
    """Another amount of the same agent, on the current version."""
    return cast.command(who, KEY, "set-refund-amount", on=2, amount="60.00", currency="EUR", id_="c-newer")


def test_a_proposal_that_joins_first_has_to_be_seen_by_the_operator(
    bot: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined, settled = race(monkeypatch, lambda: propose(bot), lambda: settle(mara()))

    refusal = settled.error()
    assert joined.result().answer["rule"]["name"] == "held"
    assert isinstance(refusal, VersionConflict)
    assert refusal.members["escalation"]["version"] == 2
    assert (amount(), case_state()) == ("30.00", "open")


def test_a_proposal_that_comes_after_the_case_is_settled_is_judged_anew(
    bot: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, proposed = race(monkeypatch, lambda: settle(mara()), lambda: propose(bot))

    outcome = proposed.result()
    assert (outcome.state, outcome.answer["rule"]["name"]) == ("escalated", "on_conflict[1]")
    assert amount() == "45.00"
    assert dict(Command.objects.filter(principal=bot.actor).values_list("command_id", "state")) == {
        "c-stale": "committed",
        "c-newer": "escalated",
    }


# ---- against another operator ----------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "second"), [(Verb.APPLY, Verb.KEEP), (Verb.KEEP, Verb.APPLY)])
def test_of_two_operators_one_settles_and_the_other_is_told(
    monkeypatch: pytest.MonkeyPatch, first: Verb, second: Verb
) -> None:
    _, late = race(monkeypatch, lambda: settle(mara(), first), lambda: settle(lena(), second))

    refusal = late.error()
    assert isinstance(refusal, AlreadyDecided)
    assert (refusal.members["verb"], refusal.members["by"]) == (first.value, "user:mara")
    assert amount() == ("45.00" if first is Verb.APPLY else "30.00")
    assert [kind for _, _, kind, _ in story()] == ["escalation.resolved"]


def test_without_the_lock_on_the_run_the_second_operator_learns_nothing_and_still_overwrites_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(escalations, "hold_run", lambda key: None)

    _, late = race(monkeypatch, lambda: settle(mara()), lambda: settle(lena(), Verb.KEEP))

    assert isinstance(late.error(), Unavailable)  # not told who settled it: the step itself found the head moved
    assert amount() == "45.00"


def test_a_claim_made_in_the_gap_holds_nothing_once_the_case_is_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    ref = escalation_ref(Escalation.objects.get().pk)
    rivals_before(monkeypatch, STEP, lambda: claim(lena(), ref, ClaimRequest("k-1")))

    settle(mara(), Verb.KEEP)

    assert case_state() == "settled"
    with pytest.raises(AlreadyDecided):
        claim(lena(), ref, ClaimRequest("k-2"))
