"""Who may do what to a candidate, decided for every role, every part taken in it, and every action.

The tables say what has to come out; the code is only asked. A role, a relation or an action that is added has no
cells and fails until somebody decides them.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import product

import pytest
from django.db import connection

from approvals.deciding import DecisionRequest
from approvals.models import Decision, StandingApproval
from approvals.standing import StandingRequest, give_standing_approval, revoke_standing_approval, standing_ref
from approvals.states import Verdict
from approvals.values import FreezeRequest
from console.access import access_snapshot
from outbox import authorization
from outbox.authorization import AuthorizationRequest
from runs import actions, authority
from runs.administration import set_person, set_person_active
from runs.errors import ClearanceError
from runs.escalations import ResolutionRequest, resolve
from runs.models import Escalation
from runs.refusals import escalation_ref
from runs.states import Role
from runs.values import CommandRequest, Principal
from runs.verbs import Verb
from tests import cast, review
from tests.review import CALCULATION, REPORT, RESEARCH

pytestmark = pytest.mark.django_db

NAME = "pat"
PAT = Principal("person", NAME)
REVIEWERS, OPERATORS = ("refund-reviewers", "report-reviewers"), ("refund-operators", "report-operators")

# ---- roles -----------------------------------------------------------------------------------------------

ROLES: dict[str, tuple[tuple[Role, ...], tuple[str, ...]]] = {
    "reviewer": ((Role.REVIEWER,), REVIEWERS),
    "operator": ((Role.OPERATOR,), OPERATORS),
    "admin": ((Role.ADMIN,), ()),
    "auditor": ((Role.AUDITOR,), ()),
    "reviewer and operator": ((Role.REVIEWER, Role.OPERATOR), REVIEWERS + OPERATORS),
    "reviewer and admin": ((Role.REVIEWER, Role.ADMIN), REVIEWERS),
    "reviewer of something else": ((Role.REVIEWER,), ("other-reviewers",)),
    "operator of something else": ((Role.OPERATOR,), ("other-operators",)),
    "member without the role": ((), REVIEWERS + OPERATORS),
    "role in the group of the other": ((Role.REVIEWER,), OPERATORS),
    "suspended": ((Role.REVIEWER, Role.OPERATOR, Role.ADMIN), REVIEWERS + OPERATORS),
}

OK, SCOPE, NO, NOTHING, OUT = "ok", "scope-missing", "forbidden", "not-found", "authority-revoked"
ACTIONS = ("see", "approve", "deny", "revoke", "give", "end", "freeze", "authorize", "submit")
ROLE_MAY: dict[str, tuple[str, ...]] = {
    #                                 see      approve  deny     revoke   give     end      freeze   authorize submit
    "reviewer":                       (OK,      OK,      OK,      OK,      OK,      OK,      SCOPE,   SCOPE,   SCOPE),
    "operator":                       (OK,      NO,      NO,      NO,      NO,      NO,      OK,      OK,      OK),
    "admin":                          (OK,      NO,      NO,      OK,      NO,      OK,      SCOPE,   SCOPE,   SCOPE),
    "auditor":                        (OK,      NO,      NO,      NO,      NO,      NO,      SCOPE,   SCOPE,   SCOPE),
    "reviewer and operator":          (OK,      OK,      OK,      OK,      OK,      OK,      OK,      OK,      OK),
    "reviewer and admin":             (OK,      OK,      OK,      OK,      OK,      OK,      SCOPE,   SCOPE,   SCOPE),
    "reviewer of something else":     (NOTHING,) * 9,
    "operator of something else":     (NOTHING,) * 9,
    "member without the role":        (NOTHING,) * 9,
    "role in the group of the other": (NOTHING,) * 9,
    "suspended":                      (OUT,) * 9,
}  # fmt: skip

# ---- relations -------------------------------------------------------------------------------------------


def pat() -> Principal:
    """Pat while taking part: an operator of both workflows."""
    return cast.person(NAME, Role.OPERATOR, groups=OPERATORS)


def agent_of_pat(*grants: str, owner: str = NAME) -> Principal:
    return cast.agent("helper", cast.REPORT_SCOPES, ("report",), grants, owner).principal


def freeze(who: Principal, artifacts: dict[str, str]) -> None:
    review.freeze(who, REPORT, "send", artifacts=artifacts, payload=review.report_payload(artifacts))


def no_part() -> None:
    freeze(review.coordinator(), review.report_working())


def proposer() -> None:
    freeze(pat(), review.report_working())


def artifact_author() -> None:
    artifacts = review.report_working()
    cast.command(review.coordinator(), REPORT, "set-question", question="Q4 churn?")
    version = cast.reading(REPORT).version
    artifacts["research"] = review.artifact(pat(), REPORT, "research", version, RESEARCH)
    artifacts["calculation"] = review.artifact(review.coordinator(), REPORT, "calculation", version, CALCULATION)
    freeze(review.coordinator(), artifacts)


def _written(write: Callable[[], object]) -> None:
    """A candidate after somebody wrote the audience."""
    review.report_working()
    write()
    version = cast.reading(REPORT).version
    who = review.coordinator()
    research = review.artifact(who, REPORT, "research", version, RESEARCH)
    calculation = review.artifact(who, REPORT, "calculation", version, CALCULATION)
    freeze(who, {"research": research, "calculation": calculation})


def last_writer() -> None:
    _written(lambda: cast.command(pat(), REPORT, "set-audience", audience="crowd"))


def owner_of_the_agent() -> None:
    _written(lambda: cast.command(agent_of_pat(), REPORT, "set-audience", audience="crowd"))


def acted_for() -> None:
    request = CommandRequest("c-for", "set-audience", {"audience": "crowd"}, "Pat asked for it.", on_behalf_of=NAME)
    helper = agent_of_pat(NAME, owner="ada")
    _written(lambda: actions.apply_command(helper, REPORT, cast.reading(REPORT).version, request))


def resolver() -> None:
    def apply() -> None:
        before = cast.reading(REPORT).version
        cast.command(cast.ada(), REPORT, "set-audience", audience="team")
        helper = agent_of_pat(owner="ada")
        cast.command(helper, REPORT, "set-audience", on=before, audience="crowd")
        case = escalation_ref(Escalation.objects.get().pk)
        resolve(pat(), case, ResolutionRequest("r-1", Verb.APPLY, "The crowd it is.", before + 1, 1))

    _written(apply)


RELATIONS: dict[str, Callable[[], None]] = {
    "no part": no_part,
    "proposer": proposer,
    "artifact author": artifact_author,
    "last writer of a fact": last_writer,
    "owner of the agent that wrote": owner_of_the_agent,
    "person it was written for": acted_for,
    "resolver who shaped it": resolver,
}
PART = "separation-of-duties"
#: What a part taken makes of an approval that the role allows; of anything else it makes nothing.
APPROVES = dict.fromkeys(RELATIONS, PART) | {"no part": OK}


def expected(role: str, relation: str, action: str) -> str:
    allowed = dict(zip(ACTIONS, ROLE_MAY[role], strict=True))[action]
    return APPROVES[relation] if action == "approve" and allowed == OK else allowed


# ---- actions ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scene:
    """A candidate that Ben has approved, a standing approval of Bea's, and what Pat was shown of them."""

    snapshot: str
    seen: DecisionRequest
    given: str
    standing: str
    version: int

    def see(self, who: Principal) -> object:
        return access_snapshot(who, self.snapshot)

    def approve(self, who: Principal) -> object:
        return authorization.decide(who, self.snapshot, self.seen)

    def deny(self, who: Principal) -> object:
        return authorization.decide(who, self.snapshot, replace(self.seen, verdict=Verdict.DENY))

    def revoke(self, who: Principal) -> object:
        return authorization.revoke(who, self.given, "rv-1", "It is wrong.")

    def give(self, who: Principal) -> object:
        return give_standing_approval(who, TERMS)

    def end(self, who: Principal) -> object:
        return revoke_standing_approval(who, self.standing, "sr-1", "It is over.")

    def freeze(self, who: Principal) -> object:
        artifacts = {slot: f"{REPORT}:{slot}:{self._inputs}:a" for slot in ("research", "calculation")}
        payload = review.report_payload(artifacts)
        request = FreezeRequest("f-again", "send", "Once more.", artifacts, payload)
        return authorization.freeze_snapshot(who, REPORT, self.version, request)

    def authorize(self, who: Principal) -> object:
        request = AuthorizationRequest("z-1", self.snapshot, self.seen.manifest_sha256, "It is approved.")
        return authorization.authorize(who, REPORT, self.version, request)

    def submit(self, who: Principal) -> object:
        return review.artifact(who, REPORT, "research", self._inputs, b'{"more": 1}')

    @property
    def _inputs(self) -> int:
        return cast.reading(REPORT).input_version


TERMS = StandingRequest(
    "s-1", "refund", "pay", "EUR", Decimal(30), Decimal(60), 3, datetime(2126, 1, 1, tzinfo=UTC), "Small refunds."
)


def scene(role: str, relation: str) -> Scene:
    """Pat took that part as an operator, and only then came to the role."""
    cast.workflow("refund")
    pat()
    RELATIONS[relation]()
    roles, groups = ROLES[role]
    set_person(NAME, cast.SETUP, roles=roles, groups=groups)
    give_standing_approval(review.bea(), TERMS)
    snapshot = cast.reading(REPORT).state.active_snapshot or ""
    review.approve(cast.ben(), snapshot)
    seen = review.show(authority.current(Principal("person", NAME)), snapshot)
    if role == "suspended":
        set_person_active(NAME, False, cast.SETUP)
    given, standing = f"d-{Decision.objects.get().pk.hex}", standing_ref(StandingApproval.objects.get().pk)
    return Scene(snapshot, seen, given, standing, cast.reading(REPORT).version)


@contextmanager
def taken_back() -> Iterator[None]:
    """Whatever is done here is undone, below Django, which lets nothing be nested in a transaction of an action."""
    with connection.cursor() as cursor:
        cursor.execute("SAVEPOINT before")
        try:
            yield
        finally:
            cursor.execute("ROLLBACK TO SAVEPOINT before")


def outcome(met: Scene, action: str, who: Principal = PAT) -> str:
    """What comes of it: ok, or the code of the refusal."""
    with taken_back():
        try:
            getattr(met, action)(who)
        except ClearanceError as refusal:
            return refusal.code
        return OK


@pytest.mark.parametrize(("role", "relation"), list(product(ROLES, RELATIONS)))
def test_every_role_with_every_part_gets_what_the_tables_say(role: str, relation: str) -> None:
    met = scene(role, relation)

    found = {action: outcome(met, action) for action in ACTIONS}

    assert found == {action: expected(role, relation, action) for action in ACTIONS}


@pytest.mark.parametrize("relation", RELATIONS)
def test_under_relaxed_separation_no_part_keeps_anybody_from_approving(relation: str) -> None:
    cast.workflow("report")
    cast.policy("report", separation="relaxed")

    assert outcome(scene("reviewer", relation), "approve") == OK


AGENT_MAY = {
    #                      see      approve deny revoke give end: never   freeze   authorize submit
    "all scopes":         (OK,      OK,      OK,      OK),
    "a note's scope":     (OK,      SCOPE,   SCOPE,   SCOPE),
    "another workflow":   (NOTHING, NOTHING, NOTHING, NOTHING),
}  # fmt: skip
AGENTS = {
    "all scopes": (cast.REPORT_SCOPES, "report"),
    "a note's scope": (("report:note",), "report"),
    "another workflow": (cast.REFUND_SCOPES, "refund"),
}


@pytest.mark.parametrize("credential", AGENTS)
def test_no_credential_of_an_agent_decides_revokes_or_approves_in_advance(credential: str) -> None:
    met = scene("reviewer", "no part")
    scopes, workflow = AGENTS[credential]
    agent = cast.agent("other", scopes, (workflow,)).principal

    found = {action: outcome(met, action, agent) for action in ACTIONS}

    see, *work = AGENT_MAY[credential]
    never = "agents-cannot-decide"
    of_reports = NOTHING if see == NOTHING else never
    of_refunds = never if workflow == "refund" else NOTHING
    assert found == {
        "see": see, "approve": of_reports, "deny": of_reports, "revoke": of_reports, "give": of_refunds,
        "end": of_refunds, **dict(zip(("freeze", "authorize", "submit"), work, strict=True)),
    }  # fmt: skip


def test_every_cell_is_decided() -> None:
    assert ROLE_MAY.keys() == ROLES.keys()
    assert APPROVES.keys() == RELATIONS.keys()
    assert {len(cells) for cells in ROLE_MAY.values()} == {len(ACTIONS)}
    assert all(callable(getattr(Scene, action)) for action in ACTIONS)
