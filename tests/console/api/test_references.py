"""References given with a request of an admin: kept with it for ever, and part of what its id stands for."""

from typing import Any

import pytest

from runs.models import Request
from tests import cast
from tests.console.api.caller import as_person, problem, told

pytestmark = pytest.mark.django_db

JSON = Any

GIVEN = ["ticket:4711", "mail:12"]
REQUESTS: dict[str, dict[str, JSON]] = {
    "/halt/": {"on": True},
    "/agents/": {"name": "pricing", "owner": "ada", "workflow": ["refund"], "scope": ["refund:classify"]},
    "/people/": {"username": "gil", "role": ["auditor"]},
    "/destinations/": {"name": "payments", "adapter": "http", "url": "https://provider.example.com/deliver"},
}


@pytest.mark.parametrize("path", REQUESTS)
def test_references_are_kept_and_a_repeat_has_the_same(path: str) -> None:
    cast.workflow()
    cast.ada()
    dora = as_person(cast.dora())
    body = {"id": "q-1", "reason": "It is needed.", **REQUESTS[path]}

    first = dora.post(path, body | {"evidence": GIVEN})
    again = dora.post(path, body | {"evidence": GIVEN})

    assert first.status_code in (200, 201, 202), first.content
    assert again.headers["Idempotent-Replayed"] == "true"
    problem(dora.post(path, body), 422, "command-id-reused")
    assert Request.objects.get().evidence == GIVEN


def test_a_claim_with_other_references_is_another_request() -> None:
    cast.run_with_open_case("R-1")
    ada = as_person(cast.ada())
    (case,) = told(ada.get("/escalations/"))["items"]
    path = f"/escalations/{case['id']}/claims/"
    body = {"id": "k-1", "reason": "Mine.", "evidence": GIVEN}

    told(ada.post(path, body), 201)

    told(ada.post(path, body), 200)
    problem(ada.post(path, body | {"evidence": []}), 422, "command-id-reused")
