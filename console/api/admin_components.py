"""The schemas of what the API answers to admins, by name, for the OpenAPI document."""

from console.api.components import FLAG, MAYBE_TEXT, MAYBE_TIME, NUMBER, OPEN, TEXT, TIME, Schema


def _object(members: Schema, optional: Schema | None = None) -> Schema:
    return {
        "type": "object",
        "properties": {**members, **(optional or {})},
        "required": list(members),
        "additionalProperties": False,
    }


_TEXTS: Schema = {"type": "array", "items": TEXT}
_SECONDS: Schema = {"type": "object", "additionalProperties": NUMBER}
_PERSON: Schema = {"username": TEXT, "role": _TEXTS, "group": _TEXTS, "suspended": FLAG, "created_at": TIME}
_AGENT: Schema = {
    "name": TEXT,
    "owner": TEXT,
    "workflow": _TEXTS,
    "scope": _TEXTS,
    "on_behalf_of": _TEXTS,
    "expires_at": MAYBE_TIME,
    "suspended": FLAG,
    "token_prefix": TEXT,
    "created_at": TIME,
}

ADMIN_COMPONENTS: dict[str, Schema] = {
    "Policy": _object(
        {
            "workflow": TEXT,
            "version": NUMBER,
            "authority_version": NUMBER,
            "suspended": FLAG,
            "operators": _TEXTS,
            "reviewers": _TEXTS,
            "quorum": NUMBER,
            "separation": {"type": "string", "enum": ["strict", "relaxed"]},
            "decision_expires_after": NUMBER,
            "run_expires_after": NUMBER,
            "budget": _object({"attempts": NUMBER, "elapsed": NUMBER}),
            "limits": {"type": "object", "additionalProperties": TEXT},
            "retention": _SECONDS,
            "reauthenticate_within": {"type": ["integer", "null"]},
        }
    ),
    "Waiting": _object({"waiting": TEXT, "because": TEXT}, {"password": TEXT, "state": TEXT}),
    "WaitingStep": _object(
        {
            "waiting": TEXT,
            "kind": TEXT,
            "title": TEXT,
            "subject": TEXT,
            "state": {"type": "string", "enum": ["open", "confirmed", "withdrawn", "void"]},
            "because": TEXT,
            "arguments": OPEN,
            "based_on": TEXT,
            "reason": TEXT,
            "proposed_by": TEXT,
            "proposed_at": TIME,
            "settled_by": MAYBE_TEXT,
            "settled_reason": MAYBE_TEXT,
            "settled_at": MAYBE_TIME,
            "without_second_person": FLAG,
        }
    ),
    "Confirmed": _object({"waiting": TEXT, "state": TEXT, "result": OPEN}),
    "HaltState": _object(
        {
            "on": FLAG,
            "in_force": FLAG,
            "since": MAYBE_TIME,
            "by": MAYBE_TEXT,
            "reason": MAYBE_TEXT,
            "in_flight": NUMBER,
        }
    ),
    "HaltAnswer": _object({"on": FLAG, "in_force": FLAG, "in_flight": NUMBER}),
    "Person": _object(_PERSON),
    "NewPerson": _object(_PERSON, {"password": TEXT}),
    "Agent": _object(_AGENT),
    "NewAgent": _object(_AGENT, {"token": TEXT}),
    "Destination": _object(
        {
            "name": TEXT,
            "revision": NUMBER,
            "adapter": TEXT,
            "url": TEXT,
            "lookup_url": MAYBE_TEXT,
            "cancel_url": MAYBE_TEXT,
            "idempotency_key": FLAG,
            "key_retention": MAYBE_TEXT,
            "matches_payload": FLAG,
            "settle_after": TEXT,
            "unavailable_means_throttled": FLAG,
            "max_in_flight": NUMBER,
            "signing_secret_env": MAYBE_TEXT,
            "without_second_person": FLAG,
            "registered_by": TEXT,
            "registered_at": TIME,
        }
    ),
}
