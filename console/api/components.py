"""The schemas of what the API answers, by name, for the OpenAPI document.

What a workflow defines itself (fields, parameters, what changed) is described there and is an open object here.
"""

from typing import Any

from runs.states import Disposition, RunStatus

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
MAYBE_TEXT: Schema = {"type": ["string", "null"]}
NUMBER: Schema = {"type": "integer"}
MAYBE_NUMBER: Schema = {"type": ["integer", "null"]}
FLAG: Schema = {"type": "boolean"}
TIME: Schema = {"type": "string", "format": "date-time"}
MAYBE_TIME: Schema = {"type": ["string", "null"], "format": "date-time"}
OPEN: Schema = {"type": "object", "additionalProperties": True}
MAYBE_OPEN: Schema = {"type": ["object", "null"], "additionalProperties": True}
HASH: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
TAGGED_HASH: Schema = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
STATUS: Schema = {"type": "string", "enum": [status.value for status in RunStatus]}
DISPOSITION: Schema = {"type": "string", "enum": [item.value for item in Disposition]}


def _list_of(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def _object(required: Schema, optional: Schema | None = None, *, is_open: bool = False) -> Schema:
    """An object with these members; an open one may have more."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": is_open,
    }


_SUMMARY: Schema = {
    "key": TEXT,
    "workflow": TEXT,
    "workflow_revision": NUMBER,
    "status": STATUS,
    "label": TEXT,
    "version": NUMBER,
    "input_version": NUMBER,
    "active_snapshot": MAYBE_TEXT,
    "effect": MAYBE_TEXT,
    "created_at": TIME,
    "updated_at": TIME,
}
_ENTRY: Schema = {
    "seq": NUMBER,
    "version": NUMBER,
    "kind": TEXT,
    "actor": TEXT,
    "command_id": MAYBE_TEXT,
    "at": TIME,
    "body": MAYBE_OPEN,
    "body_sha256": TAGGED_HASH,
    "prev_hash": HASH,
    "hash": HASH,
}
_CHANGED_FIELD: Schema = _object(
    {
        "field": TEXT,
        "base": {},
        "current": {},
        "restored": FLAG,
        "version": NUMBER,
        "changed_by": TEXT,
        "command_id": MAYBE_TEXT,
    }
)
_SIDE: Schema = {"anyOf": [_object({"version": NUMBER, "fields": OPEN}), {"type": "null"}]}
_RULE: Schema = _object({"command": TEXT, "name": TEXT, "because": TEXT})
_ESCALATION_REF: Schema = {"anyOf": [_object({"id": TEXT, "url": TEXT}, is_open=True), {"type": "null"}]}
_JUDGED: Schema = {
    "detail": TEXT,
    "current_etag": TEXT,
    "changed_fields": _list_of(_CHANGED_FIELD),
    "rule": _RULE,
    "attempts": NUMBER,
    "attempts_left": NUMBER,
    "seconds_left": NUMBER,
    "retry_after_ms": NUMBER,
    "escalation": _ESCALATION_REF,
}
_CONFLICT: Schema = {
    "id": TEXT,
    "conflict": TEXT,
    "run": TEXT,
    "workflow": TEXT,
    "principal": TEXT,
    "command_id": TEXT,
    "name": TEXT,
    "intent": TEXT,
    "base_version": NUMBER,
    "current_version": NUMBER,
    "disposition": DISPOSITION,
    "at": TIME,
}
_CASE: Schema = {
    "id": TEXT,
    "url": TEXT,
    "run": TEXT,
    "workflow": TEXT,
    "state": {"type": "string", "enum": ["open", "settled"]},
    "version": NUMBER,
    "principal": TEXT,
    "intent": TEXT,
    "command_id": TEXT,
    "conflict": TEXT,
    "is_material": FLAG,
    "because": MAYBE_TEXT,
    "rule": {"anyOf": [_RULE, {"type": "null"}]},
    "opened_at": TIME,
    "settled_at": MAYBE_TIME,
    "held_by": MAYBE_TEXT,
    "held_until": MAYBE_TIME,
    "resolution": MAYBE_OPEN,
}
_WORKFLOW: Schema = {"slug": TEXT, "title": TEXT, "revision": NUMBER, "sha256": TAGGED_HASH, "suspended": FLAG}

COMPONENTS: dict[str, Schema] = {
    "Problem": _object(
        {"type": TEXT, "title": TEXT, "status": NUMBER, "detail": TEXT, "code": TEXT, "correlation_id": TEXT},
        {"errors": _list_of(_object({"pointer": TEXT, "code": TEXT, "detail": TEXT}))},
        is_open=True,
    ),
    "Session": _object({"username": TEXT, "roles": _list_of(TEXT), "groups": _list_of(TEXT), "csrf_token": TEXT}),
    "WorkflowSummary": _object(_WORKFLOW),
    "Workflow": _object(
        {
            **_WORKFLOW,
            "labels": OPEN,
            "create": _object({"scope": TEXT, "fields": _list_of(TEXT)}),
            "fields": _list_of(OPEN),
            "slots": _list_of(OPEN),
            "commands": _list_of(OPEN),
            "actions": _list_of(OPEN),
            "policy": OPEN,
        }
    ),
    "DryRun": _object(
        {
            "disposition": {"type": "string", "enum": [*DISPOSITION["enum"], "commit", "unchanged"]},
            "rule": MAYBE_TEXT,
            "because": TEXT,
        }
    ),
    "RunSummary": _object(_SUMMARY),
    "Run": _object({**_SUMMARY, "fields": OPEN}),
    "NextSteps": _object(
        {
            "version": NUMBER,
            "steps": _list_of(_object({"step": TEXT, "title": TEXT, "legal": FLAG, "by": TEXT}, {"because": TEXT})),
            "held": _list_of(TEXT),
            "expires_at": MAYBE_TIME,
        }
    ),
    "LedgerEntry": _object(_ENTRY),
    "Event": _object({"run": TEXT, **_ENTRY}),
    "Outcome": _object(
        {
            "id": TEXT,
            "outcome": {"type": "string", "enum": ["committed", "merged", "unchanged", "superseded"]},
            "base_version": NUMBER,
            "version": MAYBE_NUMBER,
        },
        {
            "changed": OPEN,
            "consent": {"anyOf": [_object({"stands": FLAG, "because": TEXT}), {"type": "null"}]},
            "merged_onto": NUMBER,
            "conflict": TEXT,
            "changed_since_base": _list_of(_CHANGED_FIELD),
            "escalation": _ESCALATION_REF,
            "resolution": OPEN,
            "run": {"$ref": "#/components/schemas/Run"},
        },
    ),
    "CommandRecord": _object(
        {
            "id": TEXT,
            "principal": TEXT,
            "state": {
                "type": "string",
                "enum": ["committed", "merged", "unchanged", "rejected", "retry", "escalated", "superseded"],
            },
            "outcome": OPEN,
            "resolution": MAYBE_OPEN,
        }
    ),
    "Conflict": _object(_CONFLICT, _JUDGED),
    "ConflictDetail": _object({**_CONFLICT, "base": _SIDE, "proposal": MAYBE_OPEN}, _JUDGED),
    "Escalation": _object(_CASE),
    "EscalationDetail": _object(
        {
            **_CASE,
            "base": _SIDE,
            "current": _object({"version": NUMBER, "etag": TEXT, "status": STATUS, "fields": OPEN}),
            "proposal": OPEN,
            "earlier_proposals": _list_of(OPEN),
            "changed_fields": _list_of(_CHANGED_FIELD),
            "evidence": _list_of(TEXT),
            "verbs": _list_of(_object({"verb": TEXT, "legal": FLAG}, {"preview": OPEN, "because": TEXT})),
        }
    ),
}

#: Review: what is frozen, decided and authorized.
COMPONENTS |= {
    "Resolution": _object({"verb": TEXT, "command": OPEN}, {"run": {"$ref": "#/components/schemas/Run"}}),
    "Artifact": _object(
        {
            "artifact": TEXT,
            "run": TEXT,
            "slot": TEXT,
            "input_version": NUMBER,
            "media_type": TEXT,
            "sha256": TAGGED_HASH,
            "bytes": NUMBER,
            "author": TEXT,
            "sources": _list_of(TEXT),
            "created_at": TIME,
        }
    ),
    "Frozen": _object(
        {
            "snapshot": TEXT,
            "manifest_sha256": TAGGED_HASH,
            "payload_sha256": TAGGED_HASH,
            "standing": MAYBE_OPEN,
            "effect": MAYBE_TEXT,
        },
        {"run": {"$ref": "#/components/schemas/Run"}},
    ),
    "Snapshot": _object(
        {
            "snapshot": TEXT,
            "run": TEXT,
            "run_version": NUMBER,
            "action": TEXT,
            "state": {"type": "string", "enum": ["active", "authorized", "denied", "superseded"]},
            "sentence": TEXT,
            "manifest": OPEN,
            "manifest_base64": TEXT,
            "manifest_sha256": TAGGED_HASH,
            "payload_base64": MAYBE_TEXT,
            "payload_sha256": TAGGED_HASH,
            "decisions": _list_of(OPEN),
            "consent": _object({"stands": FLAG, "because": TEXT}),
            "approvals_needed": NUMBER,
            "approvals_active": NUMBER,
            "approvals_possible": NUMBER,
            "authority_epoch": NUMBER,
            "boundary": {"type": "string", "enum": ["before-authorization", "revocable", "in-flight", "sent", "none"]},
            "effect": MAYBE_TEXT,
            "frozen_at": TIME,
            "expires_at": TIME,
        }
    ),
    "Decided": _object(
        {
            "decision": TEXT,
            "approvals_active": NUMBER,
            "approvals_needed": NUMBER,
            "effect": MAYBE_TEXT,
            "authorization_refused": MAYBE_OPEN,
        }
    ),
    "Revoked": _object({"boundary": TEXT, "result": TEXT, "effect": MAYBE_TEXT, "remediation": MAYBE_TEXT}),
    "Authorized": _object({"effect": TEXT, "effect_state": TEXT}, {"run": {"$ref": "#/components/schemas/Run"}}),
    "StandingApproval": _object(
        {
            "id": TEXT,
            "by": TEXT,
            "workflow": TEXT,
            "action": TEXT,
            "currency": TEXT,
            "limit": TEXT,
            "total": TEXT,
            "spent": TEXT,
            "uses": NUMBER,
            "used": NUMBER,
            "reason": TEXT,
            "given_at": TIME,
            "expires_at": TIME,
            "revoked_at": MAYBE_TIME,
            "revoked_by": MAYBE_TEXT,
        }
    ),
}

_EFFECT_ROW: Schema = {
    "operation_id": TEXT,
    "run": TEXT,
    "workflow": TEXT,
    "action": TEXT,
    "state": TEXT,
    "version": NUMBER,
    "destination": TEXT,
    "destination_revision": NUMBER,
    "may_have_left": FLAG,
    "next_step": _object({"step": TEXT, "at": MAYBE_TIME, "because": TEXT}),
    "quarantined": FLAG,
    "authorized_at": TIME,
    "ended_at": MAYBE_TIME,
}

_OUTCOMES = ("accepted", "refused", "throttled", "never-left", "unknown")
_ROW_OUTCOME: Schema = {
    "state": {"type": "string", "enum": ["settled", "refused", "still-unknown"]},
    "because": TEXT,
}
_ACT: Schema = {"reason": TEXT, "by": TEXT, "confirmed_by": MAYBE_TEXT, "without_second_person": FLAG, "at": TIME}
_VERDICT: Schema = {"verdict": TEXT, "evidence": TEXT, "provider_request_id": MAYBE_TEXT, **_ACT}

#: Effects: what was sent, what came of it, what people found out and ordered.
COMPONENTS |= {
    "EffectSummary": _object(_EFFECT_ROW),
    "Effect": _object(
        {
            **_EFFECT_ROW,
            "snapshot": TEXT,
            "payload_sha256": TAGGED_HASH,
            "payload_base64": MAYBE_TEXT,
            "idempotency_key": TEXT,
            "compensates": MAYBE_TEXT,
            "fence": NUMBER,
            "lease": {"anyOf": [_object({"owner": TEXT, "expires_at": TIME}), {"type": "null"}]},
            "attempts": _list_of({"$ref": "#/components/schemas/Attempt"}),
            "lookups": _list_of({"$ref": "#/components/schemas/Lookup"}),
            "verdicts": _list_of(_object(_VERDICT)),
            "repairs": _list_of(_object({"repair": TEXT, **_ACT})),
            "key_clock": _object({"replayable_until": MAYBE_TIME, "because": TEXT}),
            "boundary": TEXT,
            "remediations": _list_of(TEXT),
        }
    ),
    "Attempt": _object(
        {
            "number": NUMBER,
            "fence": NUMBER,
            "started_at": TIME,
            "send_started_at": MAYBE_TIME,
            "finished_at": MAYBE_TIME,
            "outcome": {"type": ["string", "null"], "enum": [*_OUTCOMES, None]},
            "provider_request_id": MAYBE_TEXT,
            "http_status": MAYBE_NUMBER,
            "detail": TEXT,
            "late": MAYBE_OPEN,
        }
    ),
    "Lookup": _object(
        {
            "at": TIME,
            "answer": {"type": "string", "enum": ["found", "not-found", "cannot-tell"]},
            "proves": FLAG,
            "by": TEXT,
            "provider_request_id": MAYBE_TEXT,
            "detail": TEXT,
        }
    ),
    "Ordered": _object({"effect": {"$ref": "#/components/schemas/Effect"}}),
    "RepairPlan": _object(
        {
            "id": TEXT,
            "repair": TEXT,
            "reason": TEXT,
            "evidence": _list_of(TEXT),
            "by": TEXT,
            "at": TIME,
            "rows": _list_of(_object({"effect": TEXT, "version": NUMBER, **_ROW_OUTCOME})),
        }
    ),
    "RepairsApplied": _object(
        {
            "plan": TEXT,
            "rows": _list_of(_object({"effect": TEXT, "waiting": MAYBE_TEXT, **_ROW_OUTCOME})),
        }
    ),
    "Remediation": _object(
        {
            "id": TEXT,
            "effect": TEXT,
            "run": TEXT,
            "because": TEXT,
            "state": {"type": "string", "enum": ["open", "done"]},
            "opened_by": TEXT,
            "opened_at": TIME,
            "done_at": MAYBE_TIME,
            "steps": _list_of(OPEN),
        }
    ),
}
