"""How an endpoint of the API documents itself: tag, body, answers, and the refusals that its kind always has.

Bodies are documented from the shapes that judge them; answers refer to the schemas in `components.py`.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from drf_spectacular.utils import OpenApiParameter, extend_schema

from console.rules import Schema
from console.shapes import schema_of

F = TypeVar("F", bound=Callable[..., Any])

JSON_TYPE = "application/json"
PROBLEM_TYPE = "application/problem+json"

ALWAYS_REFUSED = (400, 401, 403, 404, 429, 503)
REFUSED_WITH_BODY = (409, 413, 415, 422)
REFUSED_WITH_PRECONDITION = (412, 428)


def ref(name: str) -> Schema:
    """A schema of `components.py` by its name."""
    return {"$ref": f"#/components/schemas/{name}"}


def listed(name: str) -> Schema:
    """A page of a list."""
    return {
        "type": "object",
        "properties": {"items": {"type": "array", "items": ref(name)}, "next": {"type": ["string", "null"]}},
        "required": ["items", "next"],
        "additionalProperties": False,
    }


def documented(
    tag: str,
    *,
    answers: Mapping[int, Schema | None],
    body: type | None = None,
    precondition: bool = False,
    query: Mapping[str, str] | None = None,
    is_list: bool = False,
) -> Callable[[F], F]:
    """Document a method of a view. `answers` maps a status to its schema, `query` a parameter to what it means."""
    refusals = [*ALWAYS_REFUSED]
    refusals += (422,) if is_list else ()
    refusals += REFUSED_WITH_BODY if body else ()
    refusals += REFUSED_WITH_PRECONDITION if precondition else ()

    def decorate(method: F) -> F:
        decorator: Callable[[F], F] = extend_schema(
            operation_id=_operation_id(method),
            tags=[tag],
            request={JSON_TYPE: schema_of(body)} if body else None,
            responses={(status, JSON_TYPE): schema for status, schema in answers.items()}
            | {(status, PROBLEM_TYPE): ref("Problem") for status in refusals},
            parameters=[*_query(query or {}), *(_PAGE if is_list else ()), *((_IF_MATCH,) if precondition else ())],
        )
        return decorator(method)

    return decorate


def _operation_id(method: Callable[..., Any]) -> str:
    """`getRuns` for the method `get` of `RunsView`."""
    view, verb = method.__qualname__.split(".")[-2:]
    return verb + view.removesuffix("View")


def _query(meanings: Mapping[str, str]) -> list[OpenApiParameter]:
    return [OpenApiParameter(name, str, OpenApiParameter.QUERY, description=text) for name, text in meanings.items()]


_PAGE = (
    OpenApiParameter("cursor", str, OpenApiParameter.QUERY, description="`next` of the page before"),
    OpenApiParameter(
        "limit",
        {"type": "integer", "minimum": 1, "maximum": 200, "default": 50},
        OpenApiParameter.QUERY,
        description="Items of a page",
    ),
)
_IF_MATCH = OpenApiParameter(
    "If-Match",
    {"type": "string", "pattern": '^"[0-9]+\\.[0-9]+"$'},
    OpenApiParameter.HEADER,
    required=True,
    description="The ETag of the version that this was computed from",
)
