"""The tables of dispositions through the API: every stale command against every competitor, on a real database.

One test is one base. It is made once; each competitor is taken back before the next one comes, and so is each
proposal.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import transaction

from approvals import destinations
from approvals.artifacts import Submission, submit_artifact
from approvals.deciding import DecisionRequest, record_shown
from approvals.models import Snapshot
from approvals.states import Verdict
from approvals.values import FreezeRequest
from outbox import authorization
from outbox.authorization import AuthorizationRequest
from outbox.leases import claim
from outbox.providers.base import Result
from outbox.recording import record
from outbox.states import Outcome as Attempted
from runs import actions, authority, catalog
from runs.outcomes import Outcome
from runs.values import CommandRequest, Principal
from tests import cast
from tests.console.api.caller import Caller, Response, as_agent, as_person, told
from tests.runs.dispositions import BASES, Base, Move, Table

pytestmark = pytest.mark.django_db

JSON = Any
KEY = "R-42"
CLOCK = Principal("system", "clock")

SCOPES = {
    "refund": (*cast.REFUND_SCOPES, "refund:cancel"),
    "report": (*cast.REPORT_SCOPES, "report:cancel"),
}
ACTIONS = {"refund": "pay", "report": "send"}
DESTINATIONS = {"refund": "payments", "report": "customer-reports"}


@dataclass(frozen=True)
class Stage:
    """Everybody who takes part, and the run at its base."""

    base: Base
    proposer: Caller
    operator: Caller
    admin: Caller
    coordinator: Principal
    reviewer: Principal

    @classmethod
    def set(cls, base: Base) -> "Stage":
        slug = base.slug
        cast.workflow(slug)
        text = (cast.DEFINITIONS / f"{slug}.toml").read_text()
        terms = destinations.Terms(adapter="http", url="https://provider.example.com/deliver")
        destinations.register_destination(DESTINATIONS[slug], terms, cast.SETUP)
        proposer = as_agent(cast.agent("proposer", SCOPES[slug], (slug,)))
        coordinator = cast.agent("coordinator", SCOPES[slug], (slug,)).principal
        stage = cls(base, proposer, as_person(cast.ada()), as_person(cast.dora()), coordinator, cast.ben())
        body = {"id": "new", "workflow": slug, "key": KEY, "fields": base.fields, "reason": "A case came in."}
        told(stage.operator.post("/runs/", body), 201)
        catalog.store_workflow(f"{text}\n# revised\n", cast.SETUP.actor)
        stage.reach_status()
        return stage

    def reach_status(self) -> None:
        """Bring the run from received to the status of the base."""
        if self.base.status == "received":
            return
        first = ("start", {}) if self.base.slug == "report" else ("add-note", {"note": {"id": "n0", "text": "…"}})
        self.command(self.operator, *first)
        if self.base.status == "sent":
            self.freeze()
            self.decide(Verdict.APPROVE)
            (claimed,) = claim("worker")
            record(claimed, Result(Attempted.ACCEPTED, "taken", provider_request_id="p-1"))

    # ---- the competitor --------------------------------------------------------------------------------------

    def compete(self, moves: tuple[Move, ...]) -> None:
        """Do what the competitor does, each step on the version that is current then."""
        steps: Mapping[str, Callable[[], None]] = {
            "freeze": self.freeze,
            "deny": lambda: self.decide(Verdict.DENY),
            "approve": lambda: self.decide(Verdict.APPROVE),
            "expire": self.expire,
        }
        for move in moves:
            if step := steps.get(move.name):
                step()
            else:
                self.command(self._person_for(move.name), move.name, move.params)

    def _person_for(self, name: str) -> Caller:
        return self.admin if name == "move-to-revision" else self.operator

    def command(self, caller: Caller, name: str, params: Mapping[str, JSON]) -> None:
        number = f"{name}-{cast.reading(KEY).version}"
        told(_send(caller, Move(name, params), caller.tag(KEY), number), 201)

    def expire(self) -> None:
        """Let the time of the run be over."""
        _expire(cast.reading(KEY).version, "competitor")

    def freeze(self) -> None:
        """Put a candidate under review, as the coordinator."""
        run, slug = cast.reading(KEY), self.base.slug
        artifacts = {slot: _artifact(self.coordinator, slot, run.input_version) for slot in _slots(slug)}
        payload = None if slug == "refund" else {"artifacts": {slot: named for slot, (_, named) in artifacts.items()}}
        request = FreezeRequest(
            "freeze", ACTIONS[slug], "It is complete.", {slot: id for slot, (id, _) in artifacts.items()}, payload
        )
        assert authorization.freeze_snapshot(self.coordinator, KEY, run.version, request).state == "committed"

    def decide(self, verdict: Verdict) -> None:
        """Decide on the candidate as a reviewer; a report is authorized by its coordinator then."""
        ben, run = self.reviewer, cast.reading(KEY)
        row = Snapshot.objects.get(pk=run.state.active_snapshot)
        record_shown(ben.id, row.pk, row.manifest_sha256)
        epoch = authority.current_epoch()
        decision = DecisionRequest("decide", verdict, row.manifest_sha256, run.version, epoch, "I looked at it.")
        authorization.decide(ben, row.pk, decision)
        if verdict is Verdict.APPROVE and self.base.slug == "report":
            request = AuthorizationRequest("authorize", row.pk, row.manifest_sha256, "It is approved.")
            authorization.authorize(self.coordinator, KEY, run.version, request)

    # ---- the proposal ----------------------------------------------------------------------------------------

    def propose(self, row: str, tag: str) -> str:
        """Send the stale proposal, and tell what became of it as a cell of the tables."""
        move = self.base.proposals[row]
        before = cast.reading(KEY)
        if move.name == "expire":
            cell = _cell_of(_expire(int(tag.strip('"')[2:]), "proposal").answer)
        elif move.name.startswith("freeze:"):
            cell = _cell(self._freeze_as_proposer(move.name.removeprefix("freeze:"), tag))
        else:
            cell = _cell(_send(self._proposer_of(move.name), move, tag, "c-9"))
        after = cast.reading(KEY)
        assert after.version == before.version + (cell == "merge")
        assert cell == "merge" or after.state == before.state
        return cell

    def _freeze_as_proposer(self, action: str, tag: str) -> Response:
        body = {
            "id": "c-9",
            "action": action,
            "artifacts": {slot: f"{KEY}:{slot}:1:a" for slot in _slots(self.base.slug)},
            "reason": "It is complete.",
        }
        if action == "recall":
            body["of"] = cast.reading(KEY).effect or ""
        if self.base.slug == "report":
            body["payload"] = {}
        return self.proposer.post(f"/runs/{KEY}/snapshots/", body, tag=tag)

    def _proposer_of(self, name: str) -> Caller:
        return {"reopen": self.operator, "move-to-revision": self.admin}.get(name, self.proposer)


def _send(caller: Caller, move: Move, tag: str, id: str) -> Response:
    body = {"id": id, "name": move.name, "params": move.params, "reason": "because the test says so"}
    return caller.post(f"/runs/{KEY}/commands/", body, tag=tag)


def _slots(slug: str) -> tuple[str, ...]:
    return () if slug == "refund" else ("research", "calculation")


def _artifact(who: Principal, slot: str, input_version: int) -> tuple[str, JSON]:
    """A submitted artifact: its id, and how a payload names it."""
    content = f'{{"slot": "{slot}"}}'.encode()
    sha256 = f"sha256:{hashlib.sha256(content).hexdigest()}"
    sent = Submission(slot, slot, input_version, "application/json", content, sha256)
    number = submit_artifact(who, KEY, sent).artifact.pk
    return number, {"id": number, "sha256": sha256}


def _expire(version: int, id: str) -> Outcome:
    """End the run as the clock does, which has no place in the API."""
    return actions.apply_command(CLOCK, KEY, version, CommandRequest(id, "expire", {}, "Its time is over."))


# ---- answers as cells ------------------------------------------------------------------------------------

WORDS = {"already-so": "so", "not-legal": "illegal", "unsafe-merge": "unsafe"}


def _cell(response: Response) -> str:
    body = response.json()
    match response.status_code:
        case 201:
            assert body.get("outcome", "merged") == "merged"  # a frozen candidate says nothing of its outcome
            return "merge"
        case 200:
            return str(body["outcome"])
        case 422:
            return {"item-id-reused": "reused"}[body["code"]]
        case status:
            assert (status, body["code"]) == (412, "version-conflict"), body
            return _cell_of(body)


def _cell_of(problem: Mapping[str, JSON]) -> str:
    rule: str = problem["rule"]["name"]
    disposition: str = problem["disposition"]
    if rule.startswith("on_conflict"):
        return disposition + rule.removeprefix("on_conflict")
    return WORDS.get(rule, disposition)


# ---- the tables ------------------------------------------------------------------------------------------


@contextmanager
def taken_back() -> Iterator[None]:
    """What is done meanwhile is undone at the end."""
    before = transaction.savepoint()
    yield
    transaction.savepoint_rollback(before)


def _can_be_sent(base: Base, row: str) -> bool:
    """Whether there is a request for this proposal: a recall names what was paid."""
    return row != "recall" or base.status == "sent"


@pytest.mark.parametrize("name", BASES)
def test_every_stale_command_meets_through_the_api_what_the_tables_say(name: str) -> None:
    base = BASES[name]
    expected = {
        column: {row: cell for row, cell in cells.items() if _can_be_sent(base, row)}
        for column, cells in base.table.items()
    }
    stage = Stage.set(base)
    tag = stage.operator.tag(KEY)

    answered: Table = {}
    for column, cells in expected.items():
        with taken_back():
            stage.compete(base.competitors[column])
            answered[column] = {}
            for row in cells:
                with taken_back():
                    answered[column][row] = stage.propose(row, tag)

    assert answered == expected
