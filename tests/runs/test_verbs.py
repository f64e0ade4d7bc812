"""Which verbs an operator may use on a case, why one is missing, and what each would do."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from runs import actions, catalog
from runs.administration import (
    newest_policy,
    raise_epoch,
    set_agent_active,
    set_halt,
    set_person,
    set_workflow_suspended,
    store_policy,
)
from runs.errors import (
    AgentsCannotDecide,
    AlreadyDecided,
    AuthorityRevoked,
    EscalationClaimed,
    Forbidden,
    Halted,
    InvalidParams,
    InvalidTransition,
    LimitExceeded,
    NotFound,
    SeparationOfDuties,
    WorkflowSuspended,
)
from runs.models import Agent, Escalation
from runs.refusals import escalation_ref
from runs.states import Role
from runs.values import CommandRequest, Principal
from runs.verbs import Case, Verb, check_verb, load_case, number_of, preview_amended, verbs_for
from tests import cast

pytestmark = pytest.mark.django_db

JSON = Any
KEY = "R-42"


@pytest.fixture
def bot() -> Principal:
    """An agent whose amount waits for an operator: Ada has set another. The record stands at version 2."""
    pricing = cast.agent("pricing").principal
    cast.run_with_open_amount(KEY, pricing)
    return pricing


def mara() -> Principal:
    """An operator who has written nothing yet."""
    return cast.person_operating("mara")


def case(who: Principal | None = None) -> Case:
    """The one case, as somebody sees it."""
    return load_case(who or mara(), escalation_ref(Escalation.objects.get().pk))


def legal(who: Principal | None = None) -> set[str]:
    """The verbs that are legal for somebody now."""
    return {verb["verb"] for verb in verbs_for(case(who)) if verb["legal"]}


def why_not(verb: Verb, who: Principal | None = None) -> str:
    """Why a verb is missing."""
    (told,) = [item for item in verbs_for(case(who)) if item["verb"] == verb.value]
    assert not told["legal"]
    because: str = told["because"]
    return because


def revised(member: str, value: JSON) -> None:
    """Another version of the refund's policy."""
    policy = newest_policy("refund")
    changed = replace(policy, version=policy.version + 1, **{member: value})
    store_policy("refund", changed, cast.SETUP)
    raise_epoch("policy.changed", "refund", cast.SETUP)


def rewritten(**members: JSON) -> None:
    """Another credential of every agent."""
    Agent.objects.update(**members)
    raise_epoch("agent.changed", "pricing", cast.SETUP)


ALL = {"apply", "amend", "keep", "send-back"}

# ---- finding a case --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ref", ["es-", "es-1", "cf-" + "0" * 32, "es-" + "0" * 31 + "G", "es-{" + "0" * 32 + "}"])
def test_what_is_no_id_of_a_case_names_none(ref: str) -> None:
    with pytest.raises(NotFound):
        number_of(ref)


def test_a_case_that_was_never_opened_is_not_found() -> None:
    with pytest.raises(NotFound):
        load_case(mara(), "es-" + "0" * 32)


def test_a_case_of_a_workflow_one_may_not_see_is_not_found(bot: Principal) -> None:
    with pytest.raises(NotFound):
        case(cast.cy())


def test_agents_of_the_workflow_see_a_case(bot: Principal) -> None:
    assert case(bot).proposal.params == {"amount": "45.00", "currency": "EUR"}


# ---- who may settle --------------------------------------------------------------------------------------


def test_an_operator_who_wrote_neither_side_may_use_every_verb(bot: Principal) -> None:
    assert legal() == ALL


@pytest.mark.parametrize(
    ("who", "refusal"),
    [(cast.ben, Forbidden), (cast.dora, Forbidden), (cast.eli, Forbidden)],
    ids=["reviewer", "admin", "auditor"],
)
@pytest.mark.parametrize("verb", Verb)
def test_nobody_but_operators_settles(
    bot: Principal, who: Callable[[], Principal], refusal: type[Exception], verb: Verb
) -> None:
    with pytest.raises(refusal):
        check_verb(case(who()), verb)
    assert legal(who()) == set()


@pytest.mark.parametrize("verb", Verb)
def test_no_agent_settles_not_even_its_own_case(bot: Principal, verb: Verb) -> None:
    with pytest.raises(AgentsCannotDecide):
        check_verb(case(bot), verb)


def test_whoever_wrote_the_current_amount_may_apply_the_other_or_send_it_back(bot: Principal) -> None:
    assert legal(cast.ada()) == {"apply", "send-back"}
    for verb in (Verb.KEEP, Verb.AMEND):
        with pytest.raises(SeparationOfDuties) as refusal:
            check_verb(case(cast.ada()), verb)
        assert refusal.value.members["because"] == "current-side"
    assert why_not(Verb.KEEP, cast.ada()).startswith("You wrote the current refund_amount:")


def test_whoever_only_wrote_before_somebody_else_did_is_on_neither_side(bot: Principal) -> None:
    cast.command(mara(), KEY, "set-refund-amount", amount="50.00", currency="USD")

    assert legal(cast.ada()) == ALL
    assert legal(mara()) == {"apply", "send-back"}


def test_what_is_not_material_may_be_settled_by_whoever_wrote_it() -> None:
    cast.run_with_open_case(KEY)

    assert legal(cast.ada()) == ALL


def test_whoever_handed_a_form_over_may_only_take_it_back() -> None:
    cast.run_received(KEY)
    cast.command(cast.ada(), KEY, "set-category", category="billing")
    request = CommandRequest("c-1", "set-category", {"category": "damage"}, "The photos.", hand_over=True)
    assert actions.apply_command(mara(), KEY, 1, request).state == "escalated"

    assert legal(mara()) == {"send-back"}
    assert why_not(Verb.APPLY) == "You proposed this: another operator settles it."
    assert legal(cast.ada()) == ALL


# ---- while it can be settled -----------------------------------------------------------------------------


@pytest.mark.parametrize("verb", Verb)
def test_a_settled_case_is_not_settled_again(bot: Principal, verb: Verb) -> None:
    cast.command(cast.ada(), KEY, "set-refund-amount", amount="45.00", currency="EUR")

    with pytest.raises(AlreadyDecided) as refusal:
        check_verb(case(), verb)

    assert (refusal.value.members["verb"], refusal.value.members["by"]) == ("superseded", "user:ada")
    assert legal() == set()


def test_a_claim_stops_other_operators(bot: Principal) -> None:
    Escalation.objects.update(claimed_by="user:ada", claimed_until="2999-01-01T00:00:00Z")

    with pytest.raises(EscalationClaimed):
        check_verb(case(), Verb.KEEP)
    assert legal() == set()
    assert why_not(Verb.APPLY) == "user:ada holds this case."
    assert legal(cast.ada()) == {"apply", "send-back"}


def test_a_settled_case_says_so_before_it_says_who_held_it(bot: Principal) -> None:
    Escalation.objects.update(claimed_by="user:ada", claimed_until="2999-01-01T00:00:00Z")
    cast.command(cast.ada(), KEY, "set-refund-amount", amount="45.00", currency="EUR")

    assert why_not(Verb.KEEP) == "This case is settled."


def test_who_may_not_settle_is_told_that_and_not_who_holds_the_case(bot: Principal) -> None:
    Escalation.objects.update(claimed_by="user:ada", claimed_until="2999-01-01T00:00:00Z")

    with pytest.raises(AgentsCannotDecide):
        check_verb(case(bot), Verb.KEEP)


def test_a_halt_stops_what_leads_to_an_effect_and_nothing_else(bot: Principal) -> None:
    set_halt(True, cast.SETUP)

    assert legal() == {"keep", "send-back"}
    for verb in (Verb.APPLY, Verb.AMEND):
        with pytest.raises(Halted):
            check_verb(case(), verb)


def test_a_suspended_workflow_stops_what_leads_to_an_effect_and_nothing_else(bot: Principal) -> None:
    set_workflow_suspended("refund", True, cast.SETUP)

    assert legal() == {"keep", "send-back"}
    for verb in (Verb.APPLY, Verb.AMEND):
        with pytest.raises(WorkflowSuspended):
            check_verb(case(), verb)


# ---- the authority of whoever proposed -------------------------------------------------------------------


@pytest.mark.parametrize(
    "withdraw",
    [
        lambda: set_agent_active("pricing", False, cast.SETUP),
        lambda: rewritten(scopes=["refund:note"]),
        lambda: rewritten(workflows=["report"]),
        lambda: rewritten(expires_at="2020-01-01T00:00:00Z"),
    ],
    ids=["suspended", "without the scope", "without the workflow", "with an expired token"],
)
def test_a_proposal_is_not_applied_for_an_agent_that_may_no_longer_make_it(
    bot: Principal, withdraw: Callable[[], None]
) -> None:
    withdraw()

    with pytest.raises(AuthorityRevoked) as refusal:
        check_verb(case(), Verb.APPLY)

    assert refusal.value.members["principal"] == "agent:pricing"
    assert "agent:pricing may no longer do this" in refusal.value.detail
    assert legal() == {"amend", "keep", "send-back"}


def test_a_proposal_is_not_applied_for_somebody_whom_the_agent_may_no_longer_act_for() -> None:
    able = cast.agent("pricing", grants=("ada",)).principal
    cast.run_received(KEY)
    cast.command(cast.ada(), KEY, "set-category", category="billing")
    request = CommandRequest("c-1", "set-category", {"category": "damage"}, "The photos.", on_behalf_of="ada")
    actions.apply_command(able, KEY, 1, request)
    assert "apply" in legal()

    rewritten(grants=[])

    with pytest.raises(AuthorityRevoked):
        check_verb(case(), Verb.APPLY)


def test_a_proposal_is_not_applied_for_a_person_who_no_longer_operates() -> None:
    cast.run_received(KEY)
    cast.command(cast.ada(), KEY, "set-category", category="billing")
    request = CommandRequest("c-1", "set-category", {"category": "damage"}, "The photos.", hand_over=True)
    actions.apply_command(cast.person_operating("jonas"), KEY, 1, request)

    set_person("jonas", cast.SETUP, roles=[Role.AUDITOR])

    with pytest.raises(AuthorityRevoked):
        check_verb(case(), Verb.APPLY)


def test_an_amount_above_a_lowered_limit_is_amended_by_a_person_and_not_applied(bot: Principal) -> None:
    revised("limits", {"refund_amount": "40.00"})

    with pytest.raises(LimitExceeded) as refusal:
        check_verb(case(), Verb.APPLY)

    assert (refusal.value.members["expected"], refusal.value.members["actual"]) == ("40.00", "45.00")
    assert legal() == {"amend", "keep", "send-back"}


# ---- legality --------------------------------------------------------------------------------------------


def test_what_the_record_no_longer_allows_is_neither_applied_nor_amended(bot: Principal) -> None:
    cast.command(cast.ada(), KEY, "close-case")

    for verb in (Verb.APPLY, Verb.AMEND):
        with pytest.raises(InvalidTransition):
            check_verb(case(), verb)
    assert legal() == {"keep", "send-back"}
    assert why_not(Verb.APPLY) == "“Set the refund amount” is possible only while case_state is open; it is closed."


@pytest.mark.parametrize(
    ("params", "pointer"),
    [
        ({}, "/params"),
        ({"amount": "45", "currency": "EUR"}, "/params/amount"),
        ({"amount": "45.00", "currency": "XXX"}, "/params/currency"),
        ({"amount": "45.00", "currency": "EUR", "note": "x"}, "/params"),
    ],
)
def test_amending_needs_parameters_that_fit(bot: Principal, params: JSON, pointer: str) -> None:
    with pytest.raises(InvalidParams) as refusal:
        preview_amended(case(), params)

    assert refusal.value.errors[0].pointer == pointer


def without_command(name: str) -> str:
    """The text of the refund workflow without one of its commands."""
    text = (cast.DEFINITIONS / "refund.toml").read_text()
    start = text.index(f"[commands.{name}]")
    return text[:start] + text[text.index("[commands.", start + 1) :]


def test_a_case_whose_command_is_gone_with_a_new_revision_can_still_be_ended(bot: Principal) -> None:
    catalog.store_workflow(without_command("set-refund-amount"), cast.SETUP.actor)
    cast.command(cast.dora(), KEY, "move-to-revision", revision=2)

    assert legal() == {"keep", "send-back"}
    for verb in (Verb.APPLY, Verb.AMEND):
        with pytest.raises(InvalidTransition, match="Revision 2 of refund has no set-refund-amount"):
            check_verb(case(), verb)


# ---- what each verb would do -----------------------------------------------------------------------------


def previewed(verb: Verb) -> dict[str, JSON]:
    (told,) = [item for item in verbs_for(case()) if item["verb"] == verb.value]
    preview: dict[str, JSON] = told["preview"]
    return preview


def test_applying_shows_the_change_the_next_version_and_what_becomes_of_the_proposal(bot: Principal) -> None:
    cast.command(cast.ada(), KEY, "add-tag", tag="vip")

    assert previewed(Verb.APPLY) == {
        "version": 4,
        "changed": {"refund_amount": {"from": "30.00", "to": "45.00"}},
        "consent": None,
        "command": "committed",
    }


@pytest.mark.parametrize(("verb", "command"), [(Verb.KEEP, "rejected"), (Verb.SEND_BACK, "retry")])
def test_keeping_and_sending_back_leave_the_record_as_it_is(bot: Principal, verb: Verb, command: str) -> None:
    assert previewed(verb) == {"version": 2, "changed": {}, "command": command}


def test_amending_shows_what_other_parameters_would_do(bot: Principal) -> None:
    shown = preview_amended(case(), {"amount": "35.00", "currency": "USD"})

    assert shown == {
        "version": 3,
        "changed": {
            "refund_amount": {"from": "30.00", "to": "35.00"},
            "currency": {"from": "EUR", "to": "USD"},
        },
        "consent": None,
        "command": "superseded",
    }


def test_amending_to_what_already_is_changes_nothing(bot: Principal) -> None:
    shown = preview_amended(case(), {"amount": "30.00", "currency": "EUR"})

    assert shown == {"version": 2, "changed": {}, "command": "superseded"}
