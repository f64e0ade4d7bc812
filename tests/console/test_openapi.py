"""The document says what the API does: every address is in it, and what comes back is as it says."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.contrib.staticfiles import finders
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from hypothesis import HealthCheck, settings
from schemathesis.checks import (
    CheckFunction,
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)

from runs.models import Conflict, Escalation
from runs.refusals import conflict_ref, escalation_ref
from tests import cast

METHODS = ("get", "post", "put", "patch", "delete")


def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Client().get("/api/v1/schema/").content)
    return found


# ---- the document ----------------------------------------------------------------------------------------


def test_the_document_is_openapi_3_1_and_needs_no_credential() -> None:
    response = Client().get("/api/v1/schema/")

    assert response.headers["Content-Type"] == "application/json"
    assert json.loads(response.content)["openapi"].startswith("3.1")
    again = Client().get("/api/v1/schema/", headers={"If-None-Match": response.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_every_address_and_method_is_documented_and_nothing_else() -> None:
    documented = {(path, method) for path, item in document()["paths"].items() for method in METHODS if method in item}

    assert documented == set(served())


def served() -> Iterator[tuple[str, str]]:
    """Every address of the API with its methods, as the URL table has them."""
    for route, view in _routes(get_resolver().url_patterns, "/"):
        if route.startswith("/api/v1/") and route != "/api/v1/schema/":
            handlers = getattr(view, "cls", None)
            methods = [method for method in METHODS if hasattr(handlers, method)] if handlers else ["post"]
            yield from ((re.sub(r"<\w+:(\w+)>", r"{\1}", route), method) for method in methods)


def _routes(patterns: list[URLPattern | URLResolver], prefix: str) -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, prefix + str(pattern.pattern))
        else:
            yield prefix + str(pattern.pattern), pattern.callback


def test_every_schema_that_is_referred_to_is_there() -> None:
    found = document()

    referred = set(re.findall(r'"\$ref": "#/components/schemas/(\w+)"', json.dumps(found)))
    assert referred == set(found["components"]["schemas"])


def test_every_operation_has_a_name_of_its_own_a_subject_and_words() -> None:
    operations = [item[method] for item in document()["paths"].values() for method in METHODS if method in item]

    names = [operation["operationId"] for operation in operations]
    assert len(names) == len(set(names))
    assert all(operation["tags"] and operation["description"] for operation in operations)


def test_the_two_credentials_are_alternatives() -> None:
    found = document()

    assert set(found["components"]["securitySchemes"]) == {"token", "session"}
    assert found["paths"]["/api/v1/runs/"]["get"]["security"] == [{"token": []}, {"session": []}]


def test_a_body_is_documented_by_the_rules_that_judge_it() -> None:
    command = document()["paths"]["/api/v1/runs/{key}/commands/"]["post"]

    body = command["requestBody"]["content"]["application/json"]["schema"]
    assert body["required"] == ["id", "name", "reason"]
    assert body["additionalProperties"] is False
    assert body["properties"]["id"] == {"type": "string", "pattern": "^[!-~]{1,200}$"}
    (precondition,) = [item for item in command["parameters"] if item["name"] == "If-Match"]
    assert precondition["required"] is True


#: What changes nothing that is kept has no id and no reason.
_NO_MUTATION = ("/session/", "/session/reauthentication/", "/workflows/{slug}/dry-runs/")


def mutations() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every change that can be asked for, with the schema of its body."""
    for path, item in document()["paths"].items():
        for method in ("post", "patch"):
            if method in item and path.removeprefix("/api/v1") not in _NO_MUTATION:
                schema = item[method]["requestBody"]["content"]["application/json"]["schema"]
                yield f"{method} {path}", schema


def test_every_change_has_an_id_a_reason_and_may_name_references() -> None:
    lacking = {
        name: {"id", "reason", "evidence"} - body["properties"].keys() for name, body in mutations()
    }  # fmt: skip

    assert lacking and not {name: members for name, members in lacking.items() if members}


# ---- the page --------------------------------------------------------------------------------------------


def test_the_page_brings_everything_from_here_and_nothing_inline() -> None:
    page = Client().get("/api/docs/").content.decode()

    assert "style=" not in page and "<style" not in page
    for attributes, content in re.findall(r"<script([^>]*)>(.*?)</script>", page, re.DOTALL):
        assert 'src="' in attributes and content == ""
    links = re.findall(r'(?:src|href)="(/static/[^"]+)"', page)
    assert len(links) == 5
    assert all(finders.find(link.removeprefix("/static/")) for link in links)
    assert not re.search(r'(?:src|href)="(?!/)', page)


# ---- what comes back -------------------------------------------------------------------------------------

CHECKS: list[CheckFunction] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]

api = schemathesis.openapi.from_wsgi("/api/v1/schema/", WSGIHandler())
# A made-up session beside the token would be two credentials: 400, and nothing of the endpoint would be seen.
api.config.generation.update(with_security_parameters=False)


@pytest.fixture
def _one_transaction() -> Iterator[None]:
    """Requests keep the connection, and with it the test's transaction, as those of Django's own client do."""
    request_started.disconnect(close_old_connections)
    request_finished.disconnect(close_old_connections)
    yield
    request_started.connect(close_old_connections)
    request_finished.connect(close_old_connections)


@pytest.fixture
def known(db: None, _one_transaction: None) -> dict[str, str]:
    """An agent's credential, and ids of what there is to find."""
    agent = cast.agent()
    cast.run_with_open_case(who=agent.principal)
    return {
        "Authorization": f"Bearer {agent.token}",
        "key": "R-42",
        "slug": "refund",
        "command_id": "c-stale",
        "conflict": conflict_ref(Conflict.objects.get().pk),
        "escalation": escalation_ref(Escalation.objects.get().pk),
    }


@api.parametrize()
@settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_whatever_is_sent_the_answer_is_as_documented(case: "schemathesis.Case[Any]", known: dict[str, str]) -> None:
    for name in case.path_parameters:
        case.path_parameters[name] = known.get(name, case.path_parameters[name])
    if "If-Match" in case.headers:
        case.headers["If-Match"] = '"1.2"'

    case.call_and_validate(headers={"Authorization": known["Authorization"]}, checks=CHECKS)
