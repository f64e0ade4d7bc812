"""Repeats of mutations that belong to no run: what an id of a principal already stands for.

Needs an open transaction and never opens one.
"""

import json
from collections.abc import Mapping
from typing import Any

from runs.attempts import request_sha256
from runs.errors import CommandIdReused
from runs.locks import claim_id
from runs.models import Request

JSON = Any

_SCOPE = "installation"


def claim(principal: str, request_id: str, identity: Mapping[str, JSON]) -> dict[str, JSON] | None:
    """Hold an id until the transaction ends, and give the recorded answer if it was used for this request before.

    Raises `CommandInProgress` while its first delivery still runs and `CommandIdReused` for another request.
    """
    claim_id(_SCOPE, principal, request_id)
    row = Request.objects.filter(principal=principal, request_id=request_id).first()
    if row is None:
        return None
    if row.request_sha256 != request_sha256(identity):
        raise CommandIdReused(f"{request_id} was already used for another request, {row.name}.")
    answer: dict[str, JSON] = json.loads(row.answer)
    return answer


def record(principal: str, request_id: str, identity: Mapping[str, JSON], answer: Mapping[str, JSON]) -> None:
    """Record the answer of an id that `claim` found unused. `identity` names the request by its member `name`."""
    Request.objects.create(
        principal=principal,
        request_id=request_id,
        name=identity["name"],
        request_sha256=request_sha256(identity),
        answer=json.dumps(answer, ensure_ascii=False),
    )
