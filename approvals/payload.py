"""Rendering what is sent: the payload from its template, and the one sentence that tells people what will happen.

Pure. The payload's bytes are canonical JSON; they are stored, shown, hashed and sent as they are.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from approvals.errors import PayloadIncomplete
from runs.definitions import Action
from runs.digest import canonical
from runs.errors import Fault

JSON = Any

MEDIA_TYPE = "application/json"
_PLACEHOLDER = re.compile(r"\{([a-z_.]+[a-z0-9_.]*)\}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Sources:
    """What the placeholders of a payload or a sentence may name."""

    run_key: str
    fields: Mapping[str, JSON]
    effect: Mapping[str, JSON] = field(
        default_factory=dict
    )  # {"operation_id": …, "payload": {…}} of what is compensated

    def value(self, path: str) -> JSON:
        """The value a placeholder such as `fields.refund_amount` stands for; None where there is none."""
        root, *rest = path.split(".")
        value: JSON = {"run": {"key": self.run_key}, "fields": self.fields, "effect": self.effect}.get(root)
        for name in rest:
            value = value.get(name) if isinstance(value, Mapping) else None
        return value


def render(action: Action, sources: Sources) -> bytes:
    """The payload of an action with a template.

    Raises `PayloadIncomplete`, naming each member whose fact is not set.
    """
    members = filled(action, sources)
    faults = [
        Fault(f"/payload/{name}", "not-set", f"{name} needs a value that is not set yet.")
        for name, value in members.items()
        if value is None
    ]
    if faults:
        raise PayloadIncomplete("Something that the payload shows is not set.", errors=faults)
    return canonical(members)


def filled(action: Action, sources: Sources) -> dict[str, JSON]:
    """The members of a payload from its template; None where a fact is not set."""
    return {name: _fill(template, sources) for name, template in (action.payload or {}).items()}


def _fill(template: str, sources: Sources) -> JSON:
    whole = _PLACEHOLDER.fullmatch(template)
    return sources.value(whole.group(1)) if whole else template


def supplied(payload: Mapping[str, JSON], artifacts: Mapping[str, Mapping[str, str]]) -> bytes:
    """The payload that a request supplies, which must name exactly the artifacts that are frozen.

    Raises `PayloadIncomplete`.
    """
    if payload.get("artifacts") != artifacts:
        words = "The payload's member artifacts must name each slot's id and sha256 exactly as frozen."
        fault = Fault("/payload/artifacts", "differs", words)
        raise PayloadIncomplete(words, errors=[fault], expected=artifacts, actual=payload.get("artifacts"))
    return canonical(dict(payload))


@dataclass(frozen=True, slots=True)
class Said:
    """A stretch of a sentence: words of the definition, or a value that was frozen."""

    text: str
    is_value: bool


def sentence(template: str, run_key: str, facts: Mapping[str, JSON], payload: JSON) -> str:
    """What will happen, in one sentence, from the frozen facts and the frozen payload alone."""
    return "".join(said.text for said in sentence_parts(template, run_key, facts, payload))


def sentence_parts(template: str, run_key: str, facts: Mapping[str, JSON], payload: JSON) -> list[Said]:
    """The same sentence with the values told apart from the words, so that no value can pass for our words."""
    roots = {"run": {"key": run_key}, "fields": facts, "payload": payload}
    parts = [Said(text, is_value=False) for text in _PLACEHOLDER.split(template)]
    for index in range(1, len(parts), 2):
        found: JSON = roots
        for name in parts[index].text.split("."):
            found = found.get(name) if isinstance(found, Mapping) else None
        parts[index] = Said("(not set)" if found is None else str(found), is_value=True)
    return [said for said in parts if said.text]
