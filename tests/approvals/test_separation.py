"""Four eyes: every role, every part in a snapshot, every act, each cell decided."""

from collections.abc import Callable

import pytest

from approvals.models import Decision
from outbox import authorization
from runs import actions
from runs.administration import set_person
from runs.errors import Forbidden, NotFound, SeparationOfDuties
from runs.escalations import ResolutionRequest
from runs.models import Escalation, Person
from runs.refusals import escalation_ref
from runs.states import Role
from runs.values import CommandRequest, Principal
from runs.verbs import Verb
from tests import cast, review
from tests.review import REFUND, REPORT, approve, cashier, coordinator, deny, show

pytestmark = pytest.mark.django_db

EVERY_GROUP = ("refund-operators", "refund-reviewers", "report-operators", "report-reviewers")


def zoe() -> Principal:
    """Somebody who is both an operator and a reviewer."""
    return cast.person("zoe", Role.OPERATOR, Role.REVIEWER, groups=EVERY_GROUP)


def helper(grants: tuple[str, ...] = ()) -> Principal:
    """An agent of Zoe's that may do everything; with grants one of Ada's that may act for somebody."""
    zoe()
    owner = "ada" if grants else "zoe"
    return cast.agent(
        "helper", (*cast.REFUND_SCOPES, *cast.REPORT_SCOPES), ("refund", "report"), grants, owner
    ).principal


def set_amount(who: Principal, on: int | None = None, amount: str = "27.00", on_behalf_of: str | None = None) -> None:
    params = {"amount": amount, "currency": "EUR"}
    request = CommandRequest(
        review.number("c"), "set-refund-amount", params, "The invoice says so.", on_behalf_of=on_behalf_of
    )
    actions.apply_command(who, REFUND, cast.reading(REFUND).version if on is None else on, request)


def frozen(who: Principal | None = None) -> str:
    """The payment as `who` froze it."""
    snapshot: str = review.freeze(who or cashier(), REFUND, "pay").answer["snapshot"]
    return snapshot


def took_no_part() -> str:
    return review.refund_ready_for_review()


def proposed_it() -> str:
    review.refund_working()
    return frozen(zoe())


def owns_the_agent_that_proposed_it() -> str:
    review.refund_working()
    return frozen(helper())


def wrote_a_fact() -> str:
    review.refund_working()
    set_amount(zoe())
    return frozen()


def owns_the_agent_that_wrote_a_fact() -> str:
    review.refund_working()
    set_amount(helper())
    return frozen()


def was_acted_for_in_writing_a_fact() -> str:
    review.refund_working()
    set_amount(helper(grants=("zoe",)), on_behalf_of="zoe")
    return frozen()


def gave_a_fact_at_creation() -> str:
    cast.workflow("refund")
    review.destination("payments")
    given = {"recipient": "Ana Lima"}
    actions.create_run(zoe(), actions.RunRequest("new", "refund", REFUND, given, "a case came in"))
    set_amount(cashier())
    return frozen()


def wrote_a_fact_that_another_wrote_since() -> str:
    review.refund_working()
    set_amount(zoe())
    set_amount(cashier(), amount="28.00")
    return frozen()


def wrote_what_is_no_fact() -> str:
    review.refund_working()
    cast.command(zoe(), REFUND, "add-tag", tag="vip")
    return frozen()


def report_with_research_of(who: Principal) -> str:
    artifacts = review.report_working()
    artifacts["research"] = review.artifact(who, REPORT, "research", 6, b'{"sources": 5}')
    payload = review.report_payload(artifacts)
    payload["artifacts"]["research"]["sha256"] = review.tagged(b'{"sources": 5}')
    made: str = review.freeze(coordinator(), REPORT, "send", artifacts=artifacts, payload=payload).answer["snapshot"]
    return made


def wrote_an_artifact() -> str:
    return report_with_research_of(zoe())


def owns_the_agent_that_wrote_an_artifact() -> str:
    return report_with_research_of(helper())


def settle_as(who: Principal) -> None:
    """Apply what waits for an operator."""
    case = Escalation.objects.get()
    request = ResolutionRequest("r-1", Verb.APPLY, "It is right.", cast.reading(REFUND).version, case.version)
    authorization.resolve(who, escalation_ref(case.pk), request)


def applied_what_waited() -> str:
    review.refund_working()
    set_amount(cast.person_operating("mara"))
    set_amount(cashier(), on=2, amount="29.00")
    settle_as(zoe())
    return frozen()


def had_proposed_what_was_applied() -> str:
    review.refund_working()
    set_amount(cast.person_operating("mara"))
    set_amount(helper(), on=2, amount="29.00")
    settle_as(cast.person_operating("nora"))
    return frozen()


def applied_a_freeze_that_waited() -> str:
    review.refund_working()
    set_amount(cast.person_operating("mara"))
    review.freeze(cashier(), REFUND, "pay", on=2)
    settle_as(zoe())
    return cast.reading(REFUND).state.active_snapshot or ""


def had_proposed_a_freeze_that_was_applied() -> str:
    review.refund_working()
    set_amount(cast.person_operating("mara"))
    review.freeze(helper(), REFUND, "pay", on=2)
    settle_as(cast.person_operating("nora"))
    return cast.reading(REFUND).state.active_snapshot or ""


#: What Zoe has to do with a snapshot -> whether she may approve it.
PARTS: dict[Callable[[], str], bool] = {
    took_no_part: True,
    wrote_what_is_no_fact: True,
    wrote_a_fact_that_another_wrote_since: True,
    proposed_it: False,
    owns_the_agent_that_proposed_it: False,
    wrote_a_fact: False,
    owns_the_agent_that_wrote_a_fact: False,
    was_acted_for_in_writing_a_fact: False,
    gave_a_fact_at_creation: False,
    wrote_an_artifact: False,
    owns_the_agent_that_wrote_an_artifact: False,
    applied_what_waited: False,
    had_proposed_what_was_applied: False,
    applied_a_freeze_that_waited: False,
    had_proposed_a_freeze_that_was_applied: False,
}

#: What Zoe is when she acts -> what becomes of approving, denying and revoking.
Fate = type[Exception] | None
ROLES: dict[str, tuple[list[Role], tuple[str, ...], dict[str, Fate]]] = {
    "nobody": ([], EVERY_GROUP, {"approve": NotFound, "deny": NotFound, "revoke": NotFound}),
    "reviewer of others": ([Role.REVIEWER], ("others",), {"approve": NotFound, "deny": NotFound, "revoke": NotFound}),
    "operator": ([Role.OPERATOR], EVERY_GROUP, {"approve": Forbidden, "deny": Forbidden, "revoke": Forbidden}),
    "auditor": ([Role.AUDITOR], EVERY_GROUP, {"approve": Forbidden, "deny": Forbidden, "revoke": Forbidden}),
    "admin": ([Role.ADMIN], EVERY_GROUP, {"approve": Forbidden, "deny": Forbidden, "revoke": None}),
    "reviewer": ([Role.REVIEWER], EVERY_GROUP, {"approve": None, "deny": None, "revoke": None}),
    "everything": (list(Role), EVERY_GROUP, {"approve": None, "deny": None, "revoke": None}),
}


def approved_by_another(snapshot: str) -> str:
    cast.policy(cast.reading(snapshot.partition(":")[0]).workflow, quorum=2)
    decision: str = approve(cast.ben(), snapshot).answer["decision"]
    return decision


def act(what: str, snapshot: str, decision: str) -> None:
    match what:
        case "approve":
            approve(Principal("person", "zoe", zoe_number()), snapshot)
        case "deny":
            deny(Principal("person", "zoe", zoe_number()), snapshot)
        case _:
            review.revoke(Principal("person", "zoe"), decision)


def zoe_number() -> int:
    return Person.objects.values_list("pk", flat=True).get(username="zoe")


@pytest.mark.parametrize("what", ["approve", "deny", "revoke"])
@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_who_may_act_by_role_part_and_act(part: Callable[[], str], what: str) -> None:
    zoe()
    snapshot = part()
    decision = approved_by_another(snapshot)

    for name in sorted(ROLES, key=lambda name: ROLES[name][2][what] is None):
        roles, groups, fates = ROLES[name]
        set_person("zoe", cast.SETUP, roles=roles, groups=groups)
        fate = fates[what]
        if fate is None and what == "approve" and not PARTS[part]:
            fate = SeparationOfDuties
        if fate is None:
            act(what, snapshot, decision)
            break  # it is done, and cannot be done again
        with pytest.raises(fate):
            act(what, snapshot, decision)


@pytest.mark.parametrize("name", [name for name, (_, _, fates) in ROLES.items() if fates["revoke"] is None])
def test_each_of_these_may_revoke(name: str) -> None:
    zoe()
    snapshot = proposed_it()
    decision = approved_by_another(snapshot)
    set_person("zoe", cast.SETUP, roles=ROLES[name][0], groups=ROLES[name][1])

    act("revoke", snapshot, decision)

    assert Decision.objects.get().revoked_by == "user:zoe"


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_where_separation_is_relaxed_whoever_reviews_may_approve(part: Callable[[], str]) -> None:
    zoe()
    snapshot = part()
    cast.policy(cast.reading(snapshot.partition(":")[0]).workflow, quorum=2, separation="relaxed")

    assert approve(zoe(), snapshot).answer["approvals_active"] == 1


def test_a_part_is_told_in_words_and_by_person_not_by_name() -> None:
    zoe()
    snapshot = owns_the_agent_that_wrote_a_fact()
    seen = show(zoe(), snapshot)

    with pytest.raises(SeparationOfDuties) as refusal:
        authorization.decide(zoe(), snapshot, seen)

    assert refusal.value.members == {"because": "owns helper, which wrote refund_amount last"}
