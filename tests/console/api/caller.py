"""Calling the API as somebody, in process."""

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from django.test import Client

from runs.models import Person
from runs.values import Principal
from tests import cast

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse

Response: TypeAlias = "_MonkeyPatchedWSGIResponse"

ROOT = "/api/v1"

JSON = Any


class Caller:
    """One caller with their credential."""

    def __init__(self, headers: dict[str, str] | None = None, person: Principal | None = None) -> None:
        self.client = Client(headers=headers or {})
        if person is not None:
            self.client.force_login(Person.objects.get(pk=person.id), "django.contrib.auth.backends.ModelBackend")

    def get(self, path: str, query: dict[str, Any] | None = None, headers: dict[str, str] | None = None) -> Response:
        return self.client.get(ROOT + path, query or {}, headers=headers or {})

    def post(self, path: str, body: JSON, *, tag: str | None = None, headers: dict[str, str] | None = None) -> Response:
        given = headers or {}
        if tag is not None:
            given = {**given, "If-Match": tag}
        return self.client.post(ROOT + path, body, content_type="application/json", headers=given)

    def patch(self, path: str, body: JSON, *, tag: str | None = None) -> Response:
        given = {} if tag is None else {"If-Match": tag}
        return self.client.patch(ROOT + path, body, content_type="application/json", headers=given)

    def command(self, key: str, name: str, *, tag: str | None, id: str = "c-1", **params: JSON) -> Response:
        """Send a command with a reason."""
        body = {"id": id, "name": name, "params": params, "reason": "because the test says so"}
        return self.post(f"/runs/{key}/commands/", body, tag=tag)

    def tag(self, key: str) -> str:
        """The tag of a run as it is now."""
        return self.get(f"/runs/{key}/").headers["ETag"]


def as_agent(agent: cast.Agent) -> Caller:
    return Caller({"Authorization": f"Bearer {agent.token}"})


def as_person(person: Principal) -> Caller:
    return Caller(person=person)


def as_nobody() -> Caller:
    return Caller()


def problem(response: Response, status: int, code: str) -> dict[str, JSON]:
    """The members of a refusal, which is one of this status and code."""
    assert response.headers["Content-Type"] == "application/problem+json", response.content
    body: dict[str, JSON] = json.loads(response.content)
    assert (response.status_code, body["code"]) == (status, code), body
    assert body["type"] == f"/problems/{code}" and body["status"] == status
    assert body["correlation_id"] == response.headers["X-Correlation-Id"]
    return body


def told(response: Response, status: int = 200) -> JSON:
    """The JSON of an answer with this status."""
    assert response.status_code == status, response.content
    return json.loads(response.content)
