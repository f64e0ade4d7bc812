"""The walk of a report from its question to what was sent, by scripts that know the API and nothing else of us."""

import base64
import hashlib
import json
from itertools import count
from typing import Any

import pytest
from django.test import Client

from outbox.recording import record
from tests import cast, review
from tests.outbox.settling import ACCEPTED, claimed

pytestmark = pytest.mark.django_db

JSON = Any
ROOT = "/api/v1"
RESEARCH, CALCULATION = '{"sources":4}', '{"churn":"1.9"}'

_numbers = count(1)


def sha256(body: bytes) -> str:
    return "sha256:" + hashlib.sha256(body).hexdigest()


def canonical(value: JSON) -> bytes:
    """RFC 8785 of what holds neither floats nor keys beyond ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


class Script:
    """A program with a credential, the tag it read last, and the JSON of each answer."""

    def __init__(self, token: str | None = None) -> None:
        self.http = Client(headers={"Authorization": f"Bearer {token}"} if token else {})
        self.headers: dict[str, str] = {}

    def sign_in(self, username: str, password: str) -> None:
        told = self.post("/session/", {"username": username, "password": password}, status=200, id=None)
        self.headers["X-CSRFToken"] = told["csrf_token"]

    def get(self, path: str) -> JSON:
        answer = self.http.get(ROOT + path)
        assert answer.status_code == 200, answer.content
        self.tag = answer.headers.get("ETag", "")
        return json.loads(answer.content)

    def post(self, path: str, body: dict[str, JSON], *, status: int = 201, tag: str = "", id: str | None = "") -> JSON:
        if id is not None:
            body = {"id": id or f"id-{next(_numbers)}", "reason": "The walk says so.", **body}
        headers = self.headers | ({"If-Match": tag} if tag else {})
        answer = self.http.post(ROOT + path, body, content_type="application/json", headers=headers)
        assert answer.status_code == status, answer.content
        self.tag = answer.headers.get("ETag", "")
        return json.loads(answer.content)

    def command(self, name: str, **params: JSON) -> int:
        """A command on the version that was read last; the version it made."""
        body = {"name": name, "params": params}
        made: int = self.post("/runs/R-42/commands/", body, tag=self.tag)["version"]
        return made

    def artifact(self, slot: str, content: str) -> dict[str, str]:
        body = {"slot": slot, "input_version": 6, "media_type": "application/json", "content": content}
        tag = self.tag
        told = self.post("/runs/R-42/artifacts/", body | {"sha256": sha256(content.encode())})
        self.tag = tag
        return {"id": told["artifact"], "sha256": told["sha256"]}


@pytest.fixture
def coordinator() -> Script:
    """The script of an agent that prepares reports."""
    cast.workflow("report")
    review.destination("customer-reports")
    return Script(cast.agent("coordinator", cast.REPORT_SCOPES, ("report",)).token)


@pytest.fixture
def reviewer(coordinator: Script) -> Script:
    """The script of a person who reviews reports and signs in with a password."""
    cast.ben()
    script = Script()
    script.sign_in("ben", cast.PASSWORD)
    return script


def prepared(script: Script) -> dict[str, JSON]:
    """The report at version 6 with both artifacts; what is to be frozen."""
    fields = {"question": "Q3 churn?", "audience": "team"}
    script.post("/runs/", {"workflow": "report", "key": "R-42", "fields": fields})
    assert script.command("start") == 2
    assert script.command("add-tag", tag="q3") == 3
    assert script.command("add-tag", tag="churn") == 4
    assert script.command("add-note", note={"id": "n1", "text": "Use the warehouse."}) == 5
    assert script.command("set-audience", audience="board") == 6
    artifacts = {
        "research": script.artifact("research", RESEARCH),
        "calculation": script.artifact("calculation", CALCULATION),
    }
    payload = {"title": "Q3", "artifacts": artifacts}
    named = {slot: one["id"] for slot, one in artifacts.items()}
    return {"action": "send", "artifacts": named, "payload": payload}


def approval(seen: dict[str, JSON]) -> dict[str, JSON]:
    return {
        "verdict": "approve",
        "manifest_sha256": seen["manifest_sha256"],
        "run_version": seen["manifest"]["run_version"],
        "authority_epoch": seen["authority_epoch"],
    }


def test_version_seven_is_frozen_and_approved_and_version_eight_is_committed_once(
    coordinator: Script, reviewer: Script
) -> None:
    candidate = prepared(coordinator)
    assert candidate["artifacts"] == {"research": "R-42:research:6:a", "calculation": "R-42:calculation:6:a"}
    assert coordinator.get("/runs/R-42/")["input_version"] == 6

    frozen = coordinator.post("/runs/R-42/snapshots/", candidate, tag=coordinator.tag)
    tag_of_seven = coordinator.tag
    assert frozen["snapshot"] == "R-42:review:v7:c1"
    assert (frozen["run"]["version"], frozen["run"]["status"]) == (7, "ready_for_review")
    assert frozen["payload_sha256"] == sha256(canonical(candidate["payload"]))

    seen = reviewer.get("/snapshots/R-42:review:v7:c1/")
    manifest = base64.b64decode(seen["manifest_base64"])
    assert sha256(manifest) == seen["manifest_sha256"] == frozen["manifest_sha256"]
    assert manifest == canonical(seen["manifest"])
    assert base64.b64decode(seen["payload_base64"]) == canonical(candidate["payload"])
    assert (seen["state"], seen["boundary"], seen["approvals_active"]) == ("active", "before-authorization", 0)

    decided = reviewer.post("/snapshots/R-42:review:v7:c1/decisions/", approval(seen))
    assert (decided["approvals_active"], decided["approvals_needed"], decided["effect"]) == (1, 1, None)
    assert coordinator.get("/runs/R-42/")["version"] == 7

    spending = {"snapshot": "R-42:review:v7:c1", "manifest_sha256": frozen["manifest_sha256"]}
    receipt = coordinator.post("/runs/R-42/authorizations/", spending, tag=tag_of_seven)
    assert (receipt["effect"], receipt["effect_state"]) == ("R-42:send:v8", "pending")
    assert (receipt["run"]["version"], receipt["run"]["status"]) == (8, "approved")
    assert (receipt["run"]["active_snapshot"], receipt["run"]["effect"]) == (None, "R-42:send:v8")
    again = coordinator.post("/runs/R-42/authorizations/", spending, tag=tag_of_seven, status=200)
    assert again == {"effect": "R-42:send:v8", "effect_state": "pending"}
    assert len(coordinator.get("/effects/")["items"]) == 1


def test_what_is_sent_are_the_bytes_that_were_approved(coordinator: Script, reviewer: Script) -> None:
    candidate = prepared(coordinator)
    frozen = coordinator.post("/runs/R-42/snapshots/", candidate, tag=coordinator.tag)
    tag = coordinator.tag
    reviewer.post("/snapshots/R-42:review:v7:c1/decisions/", approval(reviewer.get("/snapshots/R-42:review:v7:c1/")))
    spending = {"snapshot": frozen["snapshot"], "manifest_sha256": frozen["manifest_sha256"]}
    coordinator.post("/runs/R-42/authorizations/", spending, tag=tag)

    held = claimed(review.effect_of("R-42"))
    assert (coordinator.get("/runs/R-42/")["version"], coordinator.get("/runs/R-42/")["status"]) == (9, "dispatching")
    record(held, ACCEPTED)

    effect = coordinator.get("/effects/R-42:send:v8/")
    assert base64.b64decode(effect["payload_base64"]) == canonical(candidate["payload"])
    assert (effect["state"], effect["snapshot"]) == ("succeeded", "R-42:review:v7:c1")
    run = coordinator.get("/runs/R-42/")
    assert (run["version"], run["status"]) == (10, "sent")


def test_what_was_replaced_is_refused_at_once_without_any_worker(coordinator: Script, reviewer: Script) -> None:
    """Nothing but the requests themselves runs here: no sweep, no task, no wait."""
    candidate = prepared(coordinator)
    first = coordinator.post("/runs/R-42/snapshots/", candidate, tag=coordinator.tag)
    tag_of_seven = coordinator.tag
    reviewer.post(
        f"/snapshots/{first['snapshot']}/decisions/", approval(reviewer.get(f"/snapshots/{first['snapshot']}/"))
    )
    second = coordinator.post("/runs/R-42/snapshots/", candidate, tag=tag_of_seven)
    spending = {"snapshot": first["snapshot"], "manifest_sha256": first["manifest_sha256"]}

    refused = coordinator.post("/runs/R-42/authorizations/", spending, tag=coordinator.tag, status=409)

    assert (refused["code"], refused["expected"], refused["actual"]) == (
        "snapshot-not-active", first["snapshot"], second["snapshot"],
    )  # fmt: skip
    assert coordinator.get("/effects/")["items"] == []
    assert reviewer.get(f"/snapshots/{first['snapshot']}/")["state"] == "superseded"
