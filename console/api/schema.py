"""The OpenAPI document at `/api/v1/schema/`, and a page to browse it at `/api/docs/`. Both need no credential.

The page loads its script and style from this server alone, under the same content security policy as every page.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator

from console.answers import to_json
from console.api.admin_components import ADMIN_COMPONENTS
from console.api.components import COMPONENTS
from console.inputs import is_not_modified
from runs.digest import sha256_hex

PREFIX = "/api/v1/"

Endpoint = tuple[str, str, str, Callable[..., Any]]


@require_safe
def schema(request: HttpRequest) -> HttpResponse:
    """The OpenAPI document."""
    document, tag = _document()
    if is_not_modified(request.META.get("HTTP_IF_NONE_MATCH"), tag):
        return HttpResponse(status=304, headers={"ETag": tag})
    return HttpResponse(document, content_type="application/json", headers={"ETag": tag})


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """The document as a page."""
    return render(request, "api/docs.html", {"schema_url": f"{PREFIX}schema/"})


@cache
def _document() -> tuple[bytes, str]:
    """The document and its tag, made once a process: it depends on the code alone."""
    generator: Any = SchemaGenerator  # drf-spectacular's functions have no annotations
    document = to_json(generator().get_schema(request=None, public=True))
    return document, f'"{sha256_hex(document)[:32]}"'


# ---- what drf-spectacular asks for -----------------------------------------------------------------------


def choose_endpoints(endpoints: list[Endpoint]) -> list[Endpoint]:
    """PREPROCESSING_HOOKS: the API alone, with the one endpoint that is no DRF view."""
    from console.api.commands import CommandsView  # noqa: PLC0415  # settings name this function

    path = f"{PREFIX}runs/{{key}}/commands/"
    regex = f"{PREFIX.removeprefix('/')}runs/<run:key>/commands/"
    ours = [endpoint for endpoint in endpoints if endpoint[0].startswith(PREFIX)]
    return sorted([*ours, (path, regex, "POST", CommandsView.as_view())], key=lambda endpoint: endpoint[0])


def add_components(
    result: dict[str, Any], generator: SchemaGenerator, request: HttpRequest | None, public: bool
) -> dict[str, Any]:
    """POSTPROCESSING_HOOKS: the schemas that the endpoints refer to."""
    schemas = result.setdefault("components", {}).setdefault("schemas", {})
    schemas.update(COMPONENTS | ADMIN_COMPONENTS)
    return result


class Credentials(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # registers itself, unannotated
    """Names the two credentials in the document."""

    target_class = "console.api.authentication.PrincipalAuthentication"
    name = ["token", "session"]

    def get_security_requirement(self, auto_schema: object) -> list[dict[str, list[str]]]:
        return [{name: []} for name in self.name]

    def get_security_definition(self, auto_schema: object) -> list[dict[str, str]]:
        return [
            {"type": "http", "scheme": "bearer", "description": "The token of an agent"},
            {
                "type": "apiKey",
                "in": "cookie",
                "name": settings.SESSION_COOKIE_NAME,
                "description": "The session of a person; unsafe requests also need X-CSRFToken",
            },
        ]
