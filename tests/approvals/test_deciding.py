"""Deciding: who may, on what they were shown, in which order it is refused, and what one decision makes of a review."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from approvals.deciding import DecisionRequest, decision_number, decision_ref
from approvals.errors import (
    AuthorityChanged,
    FactsChanged,
    ManifestMismatch,
    NotShown,
    SnapshotNotActive,
)
from approvals.models import Decision, Shown, Snapshot
from approvals.states import Verdict
from outbox import authorization
from outbox.models import Effect
from runs.administration import set_halt, set_person, set_workflow_suspended
from runs.chain import rfc3339
from runs.errors import (
    AgentsCannotDecide,
    AlreadyDecided,
    CommandIdReused,
    Forbidden,
    Halted,
    InvalidParams,
    NotFound,
    ReauthenticationRequired,
    VersionConflict,
    WorkflowSuspended,
)
from runs.models import LedgerEntry, Run
from runs.states import Role
from runs.values import Principal
from tests import cast, review
from tests.review import REFUND, REPORT, approve, bea, coordinator, deny, show
from tests.unguarded import take_guards_away

pytestmark = pytest.mark.django_db

JSON = Any


def decide(who: Principal, snapshot: str, request: DecisionRequest, **other: Any) -> authorization.Receipt:
    return authorization.decide(who, snapshot, replace(request, **other))


def refused(error: type[Exception], who: Principal, snapshot: str, request: DecisionRequest, **other: Any) -> Any:
    """The refusal of a decision; nothing is written for it."""
    before = Decision.objects.count(), cast.reading(snapshot.partition(":")[0]).head_seq
    with pytest.raises(error) as refusal:
        decide(who, snapshot, request, **other)
    assert (Decision.objects.count(), cast.reading(snapshot.partition(":")[0]).head_seq) == before
    return refusal.value


# ---- what a decision makes -------------------------------------------------------------------------------


def test_an_approval_is_an_entry_of_the_ledger_and_no_version_step() -> None:
    snapshot = review.report_ready_for_review()

    answer = approve(cast.ben(), snapshot).answer

    decision = Decision.objects.get()
    entry = LedgerEntry.objects.order_by("-seq")[0]
    assert answer == {
        "decision": decision_ref(decision.pk),
        "approvals_active": 1,
        "approvals_needed": 1,
        "effect": None,
        "authorization_refused": None,
    }
    assert (entry.kind, entry.actor, entry.version, entry.seq, entry.touched) == (
        "decision.approved", "user:ben", 7, decision.seq, [],
    )  # fmt: skip
    assert decision.manifest_sha256 == Snapshot.objects.get().manifest_sha256
    assert decision.expires_at == decision.decided_at + timedelta(hours=24)


def test_one_deny_ends_the_review_and_sends_the_run_back_to_work() -> None:
    snapshot = review.report_ready_for_review()
    approve(bea(), snapshot)

    deny(cast.ben(), snapshot)

    run = cast.reading(REPORT)
    assert (run.version, run.state.status, run.state.active_snapshot) == (8, "working", None)
    with pytest.raises(SnapshotNotActive):
        review.authorize(coordinator(), snapshot)


def test_a_deny_needs_a_reason_and_no_separation() -> None:
    snapshot = review.report_ready_for_review()
    ada = cast.person("ada", groups=())
    set_person("ada", cast.SETUP, roles=[Role.REVIEWER], groups=["report-reviewers"])
    seen = replace(show(ada, snapshot), verdict=Verdict.DENY)

    assert refused(InvalidParams, ada, snapshot, seen, reason=" \n").errors[0].pointer == "/reason"
    assert decide(ada, snapshot, seen).answer["approvals_active"] == 0


def test_two_people_make_a_quorum_of_two_and_the_last_of_them_authorizes() -> None:
    snapshot = review.refund_ready_for_review()
    cast.policy("refund", quorum=2)

    first, second = approve(cast.ben(), snapshot).answer, approve(bea(), snapshot).answer

    assert (first["approvals_active"], first["approvals_needed"], first["effect"]) == (1, 2, None)
    assert (second["approvals_active"], second["effect"]) == (2, "R-7:pay:v4")
    assert set(Decision.objects.values_list("spent_by", flat=True)) == {"R-7:pay:v4"}


def test_one_person_is_never_two() -> None:
    snapshot = review.refund_ready_for_review()
    cast.policy("refund", quorum=2)
    first = approve(cast.ben(), snapshot).answer

    refusal = refused(AlreadyDecided, cast.ben(), snapshot, show(cast.ben(), snapshot))

    assert refusal.members["decision"] == first["decision"]
    assert refusal.members["at"] == rfc3339(Decision.objects.get().decided_at)
    assert not Effect.objects.exists()


# ---- given again once it has lapsed ----------------------------------------------------------------------


def withdrawn(snapshot: str, decision: str) -> None:
    review.revoke(bea(), decision)


def outdated(snapshot: str, decision: str) -> None:
    cast.policy("report", quorum=2)


def expired(snapshot: str, decision: str) -> None:
    take_guards_away()
    Decision.objects.update(expires_at=Decision.objects.get().decided_at)


@pytest.mark.parametrize("lapse", [withdrawn, outdated, expired])
def test_an_approval_that_no_longer_counts_may_be_given_again(lapse: Callable[[str, str], None]) -> None:
    snapshot = review.report_ready_for_review()
    lapse(snapshot, approve(cast.ben(), snapshot).answer["decision"])

    again = approve(cast.ben(), snapshot).answer

    assert again["approvals_active"] == 1
    assert Decision.objects.count() == 2


def test_an_approval_lives_as_long_as_the_policy_says_however_long_the_snapshot_waited() -> None:
    cast.workflow("report")
    cast.policy("report", decision_expires_after=0)
    snapshot = review.report_ready_for_review()

    answers = [approve(cast.ben(), snapshot).answer for _ in range(2)]

    assert [answer["approvals_active"] for answer in answers] == [0, 0]


# ---- repeats ---------------------------------------------------------------------------------------------


def test_the_same_decision_again_is_answered_and_not_made_twice() -> None:
    snapshot = review.refund_ready_for_review()
    request = show(cast.ben(), snapshot)
    first = decide(cast.ben(), snapshot, request)

    again = decide(cast.ben(), snapshot, request, run_version=1, authority_epoch=1)

    assert (again.is_replay, again.answer) == (True, first.answer)
    assert Decision.objects.count() == 1


@pytest.mark.parametrize("other", [{"verdict": Verdict.DENY}, {"reason": "Another."}, {"manifest_sha256": "sha256:0"}])
def test_an_id_stands_for_one_decision(other: dict[str, Any]) -> None:
    snapshot = review.refund_ready_for_review()
    request = show(cast.ben(), snapshot)
    decide(cast.ben(), snapshot, request)

    refused(CommandIdReused, cast.ben(), snapshot, request, **other)


# ---- every refusal, in the order of the API --------------------------------------------------------------


@dataclass
class Scene:
    """A decision of Ben's on the report, with everything wrong that a refusal could name."""

    snapshot: str
    who: Principal
    request: DecisionRequest


def wrong_in_every_way() -> Scene:
    """Ben is an outsider, never saw it, names another hash, version and epoch, and has a part in it; all is halted."""
    cast.person("ben")
    who = coordinator()
    snapshot = review.report_ready_for_review()
    row = Snapshot.objects.get()
    request = DecisionRequest("d-1", Verdict.APPROVE, "sha256:" + "0" * 64, 6, 1, "It is right.")
    cast.command(cast.ada(), REPORT, "set-question", question="Q4 churn?")
    cast.command(cast.ada(), REPORT, "set-question", question="Q3 churn?")
    artifacts = {slot: review.artifact(who, REPORT, slot, 9, body) for slot, body in
                 (("research", review.RESEARCH), ("calculation", review.CALCULATION))}  # fmt: skip
    review.freeze(who, REPORT, "send", artifacts=artifacts, payload=review.report_payload(artifacts))
    set_halt(True, cast.SETUP)
    return Scene(snapshot, Principal("person", "ben"), replace(request, manifest_sha256=row.manifest_sha256[:-1] + "x"))


def as_agent(scene: Scene) -> None:
    scene.who = coordinator()


def as_member(scene: Scene) -> None:
    set_person("ben", cast.SETUP, roles=[Role.OPERATOR], groups=["report-operators", "report-reviewers"])
    scene.who = Principal("person", "ben")


def as_reviewer(scene: Scene) -> None:
    set_person("ben", cast.SETUP, roles=[Role.OPERATOR, Role.REVIEWER], groups=["report-operators", "report-reviewers"])
    cast.policy("report", quorum=2)


def unhalted(scene: Scene) -> None:
    set_halt(False, cast.SETUP)


def with_present_authority(scene: Scene) -> None:
    scene.request = replace(scene.request, authority_epoch=show(cast.ben(), scene.snapshot).authority_epoch)


def of_the_active_one(scene: Scene) -> None:
    scene.snapshot = cast.reading(REPORT).state.active_snapshot or ""


def with_its_hash(scene: Scene) -> None:
    sha256 = Snapshot.objects.get(pk=scene.snapshot).manifest_sha256
    scene.request = replace(scene.request, manifest_sha256=sha256)


def shown(scene: Scene) -> None:
    show(cast.ben(), scene.snapshot)


def at_its_version(scene: Scene) -> None:
    scene.request = replace(scene.request, run_version=cast.reading(REPORT).version)


#: What is refused, and then what is mended; the next refusal is the next line's.
ORDER: list[tuple[type[Exception], Callable[[Scene], None]]] = [
    (NotFound, as_agent),
    (AgentsCannotDecide, as_member),
    (Forbidden, as_reviewer),
    (Halted, unhalted),
    (AuthorityChanged, with_present_authority),
    (SnapshotNotActive, of_the_active_one),
    (ManifestMismatch, with_its_hash),
    (NotShown, shown),
    (VersionConflict, at_its_version),
]


def test_of_several_faults_the_first_in_the_order_of_the_api_is_told() -> None:
    scene = wrong_in_every_way()

    for error, mend in ORDER:
        refused(error, scene.who, scene.snapshot, scene.request)
        mend(scene)

    assert decide(scene.who, scene.snapshot, scene.request).answer["approvals_active"] == 1


def test_a_suspension_stops_approving_and_never_denying_or_looking() -> None:
    snapshot = review.refund_ready_for_review()
    for switch in (set_halt, lambda on, by: set_workflow_suspended("refund", on, by)):
        switch(True, cast.SETUP)
    seen = show(cast.ben(), snapshot)

    refused(Halted, cast.ben(), snapshot, seen)
    set_halt(False, cast.SETUP)
    refused(WorkflowSuspended, cast.ben(), snapshot, show(cast.ben(), snapshot))
    set_halt(True, cast.SETUP)

    assert deny(cast.ben(), snapshot).answer["approvals_active"] == 0


# ---- what was shown --------------------------------------------------------------------------------------


def test_a_decision_counts_only_for_what_this_person_was_shown() -> None:
    snapshot = review.refund_ready_for_review()
    cast.ben()
    seen = show(bea(), snapshot)

    refused(NotShown, cast.ben(), snapshot, seen)

    assert Shown.objects.get().manifest_sha256 == seen.manifest_sha256


def test_the_hash_of_another_snapshot_is_named_with_the_right_one() -> None:
    other = show(cast.ben(), review.refund_ready_for_review("R-8"))
    snapshot = review.refund_ready_for_review()
    seen = show(cast.ben(), snapshot)

    refusal = refused(ManifestMismatch, cast.ben(), snapshot, seen, manifest_sha256=other.manifest_sha256)

    assert refusal.members == {"expected": seen.manifest_sha256, "actual": other.manifest_sha256}


@pytest.mark.parametrize("column", ["manifest", "payload"])
def test_bytes_that_were_altered_behind_our_back_cannot_be_decided_on(column: str) -> None:
    snapshot = review.refund_ready_for_review()
    seen = show(cast.ben(), snapshot)
    take_guards_away()
    body = bytes(getattr(Snapshot.objects.get(), column))
    Snapshot.objects.update(**{column: body.replace(b"25.00", b"95.00")})

    refused(ManifestMismatch, cast.ben(), snapshot, seen)


@pytest.mark.parametrize("version", [6, 8])
def test_under_an_exact_contract_only_the_frozen_version_was_seen(version: int) -> None:
    snapshot = review.report_ready_for_review()

    refusal = refused(VersionConflict, cast.ben(), snapshot, show(cast.ben(), snapshot), run_version=version)

    assert (refusal.members["current_version"], refusal.members["base_version"]) == (7, version)


@pytest.mark.parametrize(("version", "counts"), [(2, False), (3, True), (4, True), (5, False)])
def test_under_the_other_contract_any_version_since_the_freeze_was_seen(version: int, counts: bool) -> None:
    snapshot = review.refund_ready_for_review()
    cast.command(cast.ada(), REFUND, "add-note", note={"id": "n1", "text": "called back"})
    seen = replace(show(cast.ben(), snapshot), run_version=version)

    if counts:
        assert decide(cast.ben(), snapshot, seen).answer["effect"] == "R-7:pay:v5"
    else:
        refused(VersionConflict, cast.ben(), snapshot, seen)


@pytest.mark.parametrize(
    ("contract", "change", "voids"),
    [
        ("until_changed", ("add-note", {"note": {"id": "n1", "text": "x"}}), False),
        ("until_changed", ("add-tag", {"tag": "vip"}), False),
        ("until_changed", ("record-contact", {}), False),
        ("until_changed", ("set-refund-amount", {"amount": "26.00", "currency": "EUR"}), True),
        ("until_changed", ("set-refund-amount", {"amount": "25.00", "currency": "USD"}), True),
        ("until_changed", ("set-recipient", {"recipient": "Ana Silva"}), True),
        ("until_changed", ("close-case", {}), True),
        ("exact", ("add-note", {"note": {"id": "n1", "text": "x"}}), True),
        ("exact", ("record-contact", {}), True),
    ],
)
def test_what_voids_a_review_by_contract_and_field(
    contract: str, change: tuple[str, dict[str, JSON]], voids: bool
) -> None:
    review.workflow("refund", ('contract = "until_changed"', f'contract = "{contract}"'))
    snapshot = review.refund_ready_for_review()
    seen = show(cast.ben(), snapshot)

    consent = cast.command(cast.ada(), REFUND, change[0], **change[1]).answer["consent"]

    run = cast.reading(REFUND)
    assert consent["stands"] is not voids
    assert consent["because"].startswith("void: " if voids else "stands: only ")
    assert (run.state.active_snapshot, run.state.status.value) == (
        (None, "working") if voids else (snapshot, "ready_for_review")
    )
    if voids:
        refused(SnapshotNotActive, cast.ben(), snapshot, seen)


def test_a_fact_that_was_changed_behind_our_back_is_named() -> None:
    snapshot = review.refund_ready_for_review()
    seen = show(cast.ben(), snapshot)
    take_guards_away()
    Run.objects.update(fields=Run.objects.get().fields.replace("25.00", "95.00"))

    refusal = refused(FactsChanged, cast.ben(), snapshot, seen)

    assert refusal.members == {"field": "refund_amount", "expected": "25.00", "actual": "95.00"}


# ---- authority since it was shown ------------------------------------------------------------------------


def authority_that_matters() -> dict[str, Callable[[], object]]:
    return {
        "quorum": lambda: cast.policy("refund", quorum=2),
        "separation": lambda: cast.policy("refund", separation="relaxed"),
        "reviewers": lambda: cast.policy("refund", reviewers=frozenset({"refund-reviewers", "others"})),
        "own groups": lambda: set_person("ben", cast.SETUP, groups=["refund-reviewers", "more"]),
        "own roles": lambda: set_person("ben", cast.SETUP, roles=[Role.REVIEWER, Role.AUDITOR]),
    }


def authority_that_does_not() -> dict[str, Callable[[], object]]:
    return {
        "a budget": lambda: cast.policy("refund", budget=replace(cast.definition().policy.budget, attempts=9)),
        "another workflow": lambda: cast.policy("report", quorum=2),
        "another person": lambda: set_person("bea", cast.SETUP, groups=["refund-reviewers", "more"]),
        "an agent": lambda: cast.agent("newcomer"),
        "a destination": lambda: review.destination("elsewhere", url="https://elsewhere.example.com/"),
        "a halt that is over": lambda: [set_halt(on, cast.SETUP) for on in (True, False)],
    }


@pytest.mark.parametrize("name", authority_that_matters())
def test_authority_that_changed_since_it_was_shown_has_to_be_looked_at_again(name: str) -> None:
    snapshot = review.refund_ready_for_review()
    seen = show(cast.ben(), snapshot)
    authority_that_matters()[name]()

    refusal = refused(AuthorityChanged, cast.ben(), snapshot, seen)

    assert refusal.members == {"expected": seen.authority_epoch + 1, "actual": seen.authority_epoch}


@pytest.mark.parametrize("name", authority_that_does_not())
def test_authority_of_others_refuses_nothing(name: str) -> None:
    cast.workflow("report")
    bea()
    snapshot = review.refund_ready_for_review()
    seen = show(cast.ben(), snapshot)
    authority_that_does_not()[name]()

    assert decide(cast.ben(), snapshot, seen).answer["effect"]


def test_an_epoch_of_the_future_was_never_shown() -> None:
    snapshot = review.refund_ready_for_review()
    seen = show(cast.ben(), snapshot)

    refused(AuthorityChanged, cast.ben(), snapshot, seen, authority_epoch=seen.authority_epoch + 1)


def test_where_the_policy_asks_for_it_approving_needs_a_fresh_proof_of_identity() -> None:
    cast.workflow("refund")
    cast.policy("refund", reauthenticate_within=60)
    snapshot = review.refund_ready_for_review()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        ((now,),) = cursor.fetchall()
    seen = show(cast.ben(), snapshot)

    refused(ReauthenticationRequired, cast.ben(), snapshot, seen)
    refused(ReauthenticationRequired, cast.ben(), snapshot, seen, authenticated_at=now - timedelta(seconds=61))

    assert decide(cast.ben(), snapshot, seen, authenticated_at=now - timedelta(seconds=50)).answer["effect"]


# ---- agents, and what is no decision ---------------------------------------------------------------------


@pytest.mark.parametrize("what", ["approve", "deny", "revoke"])
def test_no_agent_decides_or_revokes(what: str) -> None:
    snapshot = review.report_ready_for_review()
    decision = approve(cast.ben(), snapshot).answer["decision"]
    seen = replace(show(cast.ben(), snapshot), verdict=Verdict.DENY if what == "deny" else Verdict.APPROVE)

    with pytest.raises(AgentsCannotDecide):
        if what == "revoke":
            review.revoke(coordinator(), decision)
        else:
            decide(coordinator(), snapshot, seen)


def test_only_approvals_are_revoked_and_each_once() -> None:
    snapshot = review.report_ready_for_review()
    decision = approve(cast.ben(), snapshot).answer["decision"]
    review.revoke(bea(), decision)
    denial = deny(cast.ben(), snapshot).answer["decision"]

    with pytest.raises(AlreadyDecided, match="user:bea revoked this already"):
        review.revoke(cast.ben(), decision)
    with pytest.raises(Forbidden, match="Only an approval"):
        review.revoke(bea(), denial)


@pytest.mark.parametrize("ref", ["", "d-", "d-1", "x-" + "0" * 32, "d-" + "0" * 32, "d-" + "0" * 31 + "G"])
def test_what_is_no_decision_is_not_found(ref: str) -> None:
    with pytest.raises(NotFound):
        review.revoke(cast.ben(), ref)


def test_a_decision_has_one_public_id() -> None:
    decision = "d-" + "0" * 31 + "a"

    assert decision_ref(decision_number(decision)) == decision
    with pytest.raises(NotFound):
        decision_number("D-" + "0" * 31 + "a")
