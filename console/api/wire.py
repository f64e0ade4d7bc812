"""How DRF reads and answers here: bodies through the strict door, JSON whatever is asked for, typed refusals.

DRF's settings name these, so this module must not import its views.
"""

from collections.abc import Iterable
from typing import Any

from django.http import HttpResponse
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from console.inputs import BODY_BYTES, read_body
from console.refusals import answer_to
from runs.values import JSON


class StrictJSONParser(BaseParser):
    """Reads a body through the strict door, for views that use DRF's `request.data`."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> dict[str, JSON]:
        return read_body(
            parser_context["request"]._request, max_bytes=getattr(parser_context["view"], "max_bytes", BODY_BYTES)
        )


class AlwaysJSON(BaseContentNegotiation):
    """Answers JSON whatever Accept says: a refusal must never turn into another refusal."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        return next(iter(parsers), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type or ""


def exception_handler(exception: Exception, context: dict[str, Any]) -> HttpResponse | None:
    """DRF's EXCEPTION_HANDLER: a typed refusal, or None for a mistake of ours, which Django then handles."""
    return answer_to(context["request"]._request, exception)
