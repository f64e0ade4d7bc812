"""What the two workers of a report make, and how the coordinator puts it together."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from console.demo_agents.desk import Desk
from console.demo_agents.errands import Proposal, Run

JSON = Any


def artifact(run: Run, slot: str, media_type: str, content: str, think_seconds: float) -> Proposal:
    """A proposal to submit the output of one worker, made from the inputs as they are now."""
    inputs = run.body["input_version"]
    body = {
        "slot": slot,
        "input_version": inputs,
        "media_type": media_type,
        "content": content,
        "sha256": _sha256(content),
        "sources": ["warehouse:parcels", "warehouse:refunds"],
    }
    return Proposal(f"{slot}:{inputs}", "artifacts/", lambda desk: body, think_seconds, names_version=False)


def research(run: Run) -> Proposal:
    """What was found out about the question."""
    fields = run.fields
    lines = [
        f"# {fields['question']}",
        f"For: {fields['audience']}",
        "",
        "- Three of eleven depots account for two thirds of the cases.",
        "- The share has been stable since spring.",
    ]
    return artifact(run, "research", "text/markdown", "\n".join(lines), think_seconds=8)


def calculation(run: Run) -> Proposal:
    """The figures behind it, different for every question and the same every time."""
    seed = int(_sha256(str(run.fields["question"]))[-6:], 16)
    figures = {"cases": 200 + seed % 800, "share": f"{10 + seed % 50}.{seed % 10}", "quarter": "Q3"}
    return artifact(run, "calculation", "application/json", json.dumps(figures), think_seconds=6)


def send(run: Run) -> Proposal:
    """A proposal to put the report under review, as soon as both artifacts are there."""
    body = {"action": "send", "reason": "Research and calculation are complete and from the current inputs."}

    def build(desk: Desk) -> Mapping[str, JSON] | None:
        found = {slot: desk.get(f"/artifacts/{_artifact_id(run, slot)}/") for slot in ("research", "calculation")}
        if not all(answer.is_done for answer in found.values()):
            return None
        artifacts = {slot: answer.body["artifact"] for slot, answer in found.items()}
        named = {
            slot: {"id": answer.body["artifact"], "sha256": answer.body["sha256"]} for slot, answer in found.items()
        }
        payload = {"title": run.fields["question"], "audience": run.fields["audience"], "artifacts": named}
        return {**body, "artifacts": artifacts, "payload": payload}

    return Proposal(f"send:{run.body['input_version']}", "snapshots/", build, think_seconds=4)


def authorization(run: Run) -> Proposal:
    """A proposal to let the report out, as soon as its reviewers have approved it."""
    snapshot = str(run.body["active_snapshot"])

    def build(desk: Desk) -> Mapping[str, JSON] | None:
        shown = desk.get(f"/snapshots/{snapshot}/").body
        if shown.get("state") != "active" or shown["approvals_active"] < shown["approvals_needed"]:
            return None
        reason = "Approved by everybody who is needed."
        return {"snapshot": snapshot, "manifest_sha256": shown["manifest_sha256"], "reason": reason}

    return Proposal(f"authorize:{snapshot}", "authorizations/", build)


def _artifact_id(run: Run, slot: str) -> str:
    """The first output for a slot from the current inputs. Whoever makes it makes it once."""
    return f"{run.key}:{slot}:{run.body['input_version']}:a"


def _sha256(content: str) -> str:
    return f"sha256:{hashlib.sha256(content.encode()).hexdigest()}"
