"""Runs under review and beyond, and the people around them: plain functions over the real actions.

As in `tests/cast.py`, the name of a state is the name of its builder. Whoever belongs to a scene is found again
when asked for again, so that one test can hold several runs.
"""

import hashlib
from collections.abc import Mapping
from itertools import count
from typing import Any

from approvals import destinations
from approvals.artifacts import Submission, submit_artifact
from approvals.deciding import DecisionRequest, record_shown
from approvals.models import Snapshot
from approvals.states import Verdict
from approvals.values import FreezeRequest
from outbox import authorization
from outbox.authorization import AuthorizationRequest, Receipt
from outbox.models import Effect
from runs import authority, catalog
from runs.models import Agent
from runs.outcomes import Outcome
from runs.states import Role
from runs.values import Principal
from tests import cast

JSON = Any

REFUND, REPORT = "R-7", "R-42"
RESEARCH, CALCULATION = b'{"sources": 4}', b'{"churn": "1.9"}'

_numbers = count(1)


def number(prefix: str = "n") -> str:
    """An id that nobody used yet."""
    return f"{prefix}-{next(_numbers)}"


# ---- who takes part --------------------------------------------------------------------------------------


def cashier() -> Principal:
    """The agent of Ada's that prepares refunds."""
    return _agent("cashier", cast.REFUND_SCOPES, "refund")


def coordinator() -> Principal:
    """The agent of Ada's that prepares reports."""
    return _agent("coordinator", cast.REPORT_SCOPES, "report")


def _agent(name: str, scopes: tuple[str, ...], slug: str) -> Principal:
    if Agent.objects.filter(name=name).exists():
        return authority.current(Principal("agent", name))
    return cast.agent(name, scopes, (slug,)).principal


def reviewer(name: str) -> Principal:
    """Another reviewer of both workflows."""
    return cast.person(name, Role.REVIEWER, groups=("refund-reviewers", "report-reviewers"))


def bea() -> Principal:
    """The second reviewer of both workflows."""
    return reviewer("bea")


# ---- workflows and destinations --------------------------------------------------------------------------


def workflow(slug: str, *edits: tuple[str, str]) -> None:
    """A shipped workflow with pieces of its text replaced, as its newest revision."""
    text = (cast.DEFINITIONS / f"{slug}.toml").read_text()
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    catalog.store_workflow(text, cast.SETUP.actor)


TERMS: Mapping[str, Any] = {
    "adapter": "http",
    "url": "https://provider.example.com/deliver",
    "recognises_repeats": True,
    "key_retention_seconds": 86400,
}


def destination(name: str, **terms: Any) -> None:
    """A registered destination; without terms only where the test has registered none of its own."""
    if not terms and destinations.newest_revision(name):
        return
    destinations.register_destination(name, destinations.Terms(**{**TERMS, **terms}), cast.SETUP)


# ---- what people and agents do ---------------------------------------------------------------------------


def tagged(content: bytes) -> str:
    """The hash of some content, computed apart from our own code."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def submission(slot: str, inputs: int, content: bytes, **other: Any) -> Submission:
    """An artifact as its worker sends it."""
    given: dict[str, Any] = {
        "id": number("a"), "slot": slot, "input_version": inputs, "media_type": "application/json",
        "content": content, "sha256": tagged(content),
    }  # fmt: skip
    return Submission(**given | other)


def artifact(who: Principal, key: str, slot: str, inputs: int, content: bytes) -> str:
    """An artifact in its slot; gives its id."""
    return submit_artifact(who, key, submission(slot, inputs, content)).artifact.pk


def freeze(who: Principal, key: str, action: str, on: int | None = None, **other: Any) -> Outcome:
    """Freeze a candidate, by default on the current version."""
    version = cast.reading(key).version if on is None else on
    request = FreezeRequest(**{"id": number("f"), "action": action, "reason": "It is complete."} | other)
    return authorization.freeze_snapshot(who, key, version, request)


def show(who: Principal, snapshot: str) -> DecisionRequest:
    """Show a snapshot to somebody, and what they would answer by approving what they saw."""
    row = Snapshot.objects.select_related("run").get(pk=snapshot)
    record_shown(who.id, snapshot, row.manifest_sha256)
    epoch = authority.current_epoch()
    return DecisionRequest(number("d"), Verdict.APPROVE, row.manifest_sha256, row.run.version, epoch, "It is right.")


def approve(who: Principal, snapshot: str) -> Receipt:
    """Look at a snapshot and approve it."""
    return authorization.decide(who, snapshot, show(who, snapshot))


def deny(who: Principal, snapshot: str) -> Receipt:
    """Look at a snapshot and deny it."""
    seen = show(who, snapshot)
    request = DecisionRequest(
        seen.id, Verdict.DENY, seen.manifest_sha256, seen.run_version, seen.authority_epoch, "It is wrong."
    )
    return authorization.decide(who, snapshot, request)


def authorize(who: Principal, snapshot: str, on: int | None = None, **other: Any) -> Receipt:
    """Authorize a snapshot, by default on the current version."""
    row = Snapshot.objects.select_related("run").get(pk=snapshot)
    given: dict[str, Any] = {"id": number("z"), "snapshot": snapshot, "manifest_sha256": row.manifest_sha256}
    request = AuthorizationRequest(**{"reason": "It is approved."} | given | other)
    return authorization.authorize(who, row.run.key, row.run.version if on is None else on, request)


def revoke(who: Principal, decision: str) -> Receipt:
    """Revoke an approval."""
    return authorization.revoke(who, decision, number("rv"), "It was for another customer.")


# ---- refunds: one fact-bound payment, authorized by the last approval ------------------------------------


def refund_working(key: str = REFUND, amount: str = "25.00") -> None:
    """A refund at version 2: the cashier has set its amount; Ada created it and named the recipient."""
    destination("payments")
    cast.run_received(key, recipient="Ana Lima")
    cast.command(cashier(), key, "set-refund-amount", amount=amount, currency="EUR")


def refund_ready_for_review(key: str = REFUND, amount: str = "25.00") -> str:
    """A refund at version 3, its payment frozen by the cashier; gives the snapshot."""
    refund_working(key, amount)
    snapshot: str = freeze(cashier(), key, "pay").answer["snapshot"]
    return snapshot


def refund_approved(key: str = REFUND, amount: str = "25.00") -> Effect:
    """A refund at version 4, approved by Ben and so authorized; gives the effect, which nobody has claimed."""
    approve(cast.ben(), refund_ready_for_review(key, amount))
    return effect_of(key)


def effect_of(key: str = REFUND) -> Effect:
    """The latest effect of a run as it is now."""
    return Effect.objects.select_related("snapshot").filter(run__key=key).order_by("-authorized_version")[0]


def approval_of(effect: Effect) -> str:
    """The public id of the one approval that an effect spent."""
    (spent,) = effect.approvals
    return f"d-{spent.hex}"


# ---- reports: exact bytes from two artifacts, authorized by the coordinator ------------------------------


def report_working(key: str = REPORT) -> dict[str, str]:
    """The report of the walk at version 6, with both artifacts; gives their ids by slot."""
    who = coordinator()
    destination("customer-reports")
    cast.run_received(key, "report", question="Q3 churn?", audience="team")
    cast.command(who, key, "start")
    cast.command(who, key, "add-tag", tag="q3")
    cast.command(who, key, "add-tag", tag="churn")
    cast.command(who, key, "add-note", note={"id": "n1", "text": "Use the warehouse."})
    cast.command(who, key, "set-audience", audience="board")
    research = artifact(who, key, "research", 6, RESEARCH)
    return {"research": research, "calculation": artifact(who, key, "calculation", 6, CALCULATION)}


def report_payload(artifacts: Mapping[str, str]) -> dict[str, JSON]:
    """A payload that names both artifacts as they are frozen."""
    hashes = {"research": tagged(RESEARCH), "calculation": tagged(CALCULATION)}
    named = {slot: {"id": number, "sha256": hashes[slot]} for slot, number in artifacts.items()}
    return {"title": "Q3", "artifacts": named}


def report_ready_for_review(key: str = REPORT) -> str:
    """The report of the walk at version 7, frozen by the coordinator; gives the snapshot."""
    artifacts = report_working(key)
    frozen = freeze(coordinator(), key, "send", artifacts=artifacts, payload=report_payload(artifacts))
    snapshot: str = frozen.answer["snapshot"]
    return snapshot


def report_reviewed(key: str = REPORT) -> str:
    """The report of the walk, approved by Ben and not yet authorized; gives the snapshot."""
    snapshot = report_ready_for_review(key)
    approve(cast.ben(), snapshot)
    return snapshot


def report_approved(key: str = REPORT) -> Effect:
    """The report of the walk at version 8: authorized, and nobody has claimed it."""
    authorize(coordinator(), report_reviewed(key))
    return effect_of(key)
