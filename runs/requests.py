"""Requests of admins that belong to no run: done once, recorded for ever under the id that the caller chose.

Needs an open transaction and never opens one. A run's own requests are recorded with the run, in `store`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runs import authority
from runs.attempts import request_sha256
from runs.errors import CommandIdReused
from runs.models import Request
from runs.permissions import require_admin
from runs.values import Principal

JSON = Any


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a request: what it made, or the step that waits for a second admin, and why."""

    made: Mapping[str, JSON]
    waiting: str | None = None
    because: str = ""
    shown_once: str = ""  # a password or token: in the first answer only, and never recorded
    is_replay: bool = False


def once(
    principal: Principal, request_id: str, identity: Mapping[str, JSON], act: Callable[[Principal], Answer]
) -> Answer:
    """Let an admin do `act`, or tell what this id stands for already.

    `identity` is what must be equal for a repeat to be the same request. Raises `CommandIdReused`,
    `AgentsCannotDecide`, `Forbidden`, and what `act` raises.
    """
    admin = authority.current(principal)
    if recorded := recorded_answer(admin.actor, request_id, identity):
        return Answer(**recorded, is_replay=True)
    require_admin(admin)
    answer = act(admin)
    told = {"made": answer.made, "waiting": answer.waiting, "because": answer.because}
    record_answer(admin.actor, request_id, identity, told)
    return answer


def recorded_answer(principal: str, request_id: str, identity: Mapping[str, JSON]) -> JSON:
    """The answer recorded for this very request; None when the id was never used. Raises `CommandIdReused`."""
    row = Request.objects.filter(principal=principal, request_id=request_id).first()
    if row is None:
        return None
    if row.request_sha256 != request_sha256(identity):
        raise CommandIdReused(f"{request_id} was already used for another request, {row.name}.")
    return json.loads(row.answer)


def record_answer(principal: str, request_id: str, identity: Mapping[str, JSON], answer: JSON) -> None:
    """Record what an id stands for; the members `name` and `evidence` of its identity say what it is, and on what
    it rests.
    """
    Request.objects.create(
        principal=principal,
        request_id=request_id,
        name=identity["name"],
        request_sha256=request_sha256(identity),
        evidence=identity.get("evidence", []),
        answer=json.dumps(answer, ensure_ascii=False, separators=(",", ":")),
    )
