"""Repeats of requests that belong to no run: what an id of a principal stands for, for ever.

Needs an open transaction and never opens one. A run's own requests are recorded with the run, in `store`.
"""

import json
from collections.abc import Mapping
from typing import Any

from runs.attempts import request_sha256
from runs.errors import CommandIdReused
from runs.locks import claim_id
from runs.models import Request

JSON = Any

#: What stands for the run where there is none.
_SCOPE = "installation"


def recorded_answer(principal: str, request_id: str, identity: Mapping[str, JSON]) -> JSON:
    """The answer recorded for this very request; None when the id was never used. Holds the id until the end.

    `identity` is what must be equal for a repeat to be the same request; its member `name` says what it is.
    Raises `CommandInProgress` while the first delivery still runs, and `CommandIdReused`.
    """
    claim_id(_SCOPE, principal, request_id)
    row = Request.objects.filter(principal=principal, request_id=request_id).first()
    if row is None:
        return None
    if row.request_sha256 != request_sha256(identity):
        raise CommandIdReused(f"{request_id} was already used for another request, {row.name}.")
    return json.loads(row.answer)


def record_answer(principal: str, request_id: str, identity: Mapping[str, JSON], answer: JSON) -> None:
    """Record what an id stands for, which `recorded_answer` found unused and holds."""
    Request.objects.create(
        principal=principal,
        request_id=request_id,
        name=identity["name"],
        request_sha256=request_sha256(identity),
        answer=json.dumps(answer, ensure_ascii=False, separators=(",", ":")),
    )
