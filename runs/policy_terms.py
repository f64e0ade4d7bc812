"""The terms of a policy as people read and write them: members named and written as in a workflow's `[policy]`.

Pure. What is acceptable is judged by the very reader of definitions, so a policy edited by people and one that came
with a workflow obey the same rules.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from runs.definitions import Policy, Workflow
from runs.errors import InvalidParams
from runs.loading.faults import Findings
from runs.loading.fields import Fields
from runs.loading.policy import RETAINED, read_policy
from runs.loading.tables import Table

JSON = Any

#: The part of a policy that approvals rest on: a change of it outdates decisions that were drawn up before.
CONSENT = ("suspended", "quorum", "separation", "operators", "reviewers", "limits")
TERMS = ("reauthenticate_within", "decision_expires_after", "run_expires_after", "budget", "retention")
MEMBERS = (*CONSENT, *TERMS)

_UNITS = (("d", 24 * 60 * 60), ("h", 60 * 60), ("m", 60))
_DURATIONS = frozenset({"decision_expires_after", "run_expires_after", "reauthenticate_within", "elapsed", *RETAINED})


def write_duration(seconds: int) -> str:
    """Seconds as definitions write them, such as `36h`, in the largest unit that divides them."""
    return next((f"{seconds // size}{unit}" for unit, size in _UNITS if seconds % size == 0), f"{seconds}s")


def write_terms(policy: Policy) -> dict[str, JSON]:
    """Every term of a policy; what is not asked for at all is None."""
    step_up = policy.reauthenticate_within
    return {
        "suspended": policy.suspended,
        "quorum": policy.quorum,
        "separation": policy.separation,
        "operators": sorted(policy.operators),
        "reviewers": sorted(policy.reviewers),
        "limits": dict(policy.limits),
        "reauthenticate_within": None if step_up is None else write_duration(step_up),
        "decision_expires_after": write_duration(policy.decision_expires_after),
        "run_expires_after": write_duration(policy.run_expires_after),
        "budget": {
            "attempts": policy.budget.attempts,
            "elapsed": write_duration(policy.budget.elapsed_seconds),
        },
        "retention": {kind: write_duration(seconds) for kind, seconds in policy.retention.items()},
    }


def read_terms(policy: Policy, changes: Mapping[str, JSON], workflow: Workflow) -> Policy:
    """`policy` with the members of `changes` replaced. Version numbers stay as they are.

    Raises `InvalidParams` with every fault of `changes` and its JSON pointer. What the policy says already stays, even
    when a later revision of the workflow has lost the field it is about: a suspension must never wait for that.
    """
    findings = Findings()
    terms = {name: value for name, value in {**write_terms(policy), **_in_text(changes)}.items() if value is not None}
    table = Table(terms, "", findings)
    suspended = table.flag("suspended")
    read = read_policy(table, Fields(workflow.fields, findings))
    faults = [replace(fault, pointer=_pointer(fault.pointer)) for fault in findings.faults]
    if faults := [fault for fault in faults if fault.pointer.split("/")[1] in changes]:
        raise InvalidParams("The policy is not acceptable.", errors=faults)
    return replace(read, suspended=suspended, version=policy.version, authority_version=policy.authority_version)


def _in_text(changes: Mapping[str, JSON]) -> dict[str, JSON]:
    """Durations may also be given in seconds, as the API tells them."""
    return {name: _durations_in_text(name, value) for name, value in changes.items()}


def _durations_in_text(name: str, value: JSON) -> JSON:
    if isinstance(value, Mapping) and name in ("budget", "retention"):
        return {below: _durations_in_text(below, item) for below, item in value.items()}
    return write_duration(value) if name in _DURATIONS and type(value) is int else value


def _pointer(place: str) -> str:
    """A place such as `reviewers[0]` as a JSON pointer."""
    return "/" + re.sub(r"[.\[]", "/", place.replace("]", ""))


def changed_members(before: Policy, after: Policy) -> dict[str, dict[str, JSON]]:
    """What differs between two policies: by member, from what to what."""
    old, new = write_terms(before), write_terms(after)
    return {name: {"from": old[name], "to": new[name]} for name in MEMBERS if old[name] != new[name]}


def touches_consent(changed: Mapping[str, JSON]) -> bool:
    """Whether what changed is part of what approvals rest on."""
    return any(name in CONSENT for name in changed)
