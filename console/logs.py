"""How the processes log: one JSON object per line, or coloured lines for a person at a terminal.

Lines carry ids, versions and outcomes, never payloads, parameters or query strings.
"""

import logging.config
from typing import Any

import structlog
from django.http import HttpRequest
from django_structlog.middlewares import RequestMiddleware
from structlog.typing import EventDict, Processor

SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
]


class RequestLog(RequestMiddleware):
    """One line per request, with its id; without the query string, which may hold what people typed."""

    @staticmethod
    def format_request(request: HttpRequest) -> str:
        return f"{request.method} {request.path}"


def config(*, json: bool) -> dict[str, Any]:
    """Settings for the standard library's logging: everything to stderr, through one formatter."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *_renderers(json)],
                "foreign_pre_chain": SHARED,
            },
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {
            "django": {"level": "INFO"},
            "django.request": {"level": "ERROR"},  # the request log has the refusals already
            "httpx": {"level": "WARNING"},
        },
    }


def configure(settings: dict[str, Any]) -> None:
    """Set up both logging systems; Django calls this once, as LOGGING_CONFIG."""
    logging.config.dictConfig(settings)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def first_line_of_exceptions(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """Cut what a database adds to its message: it quotes the row."""
    for exception in event.get("exception") or ():
        exception["exc_value"] = exception["exc_value"].partition("\n")[0]
    return event


def _renderers(json: bool) -> list[Processor]:
    if json:
        # Without the values of local variables, which are what people and agents sent.
        tracebacks = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
        return [
            structlog.processors.ExceptionRenderer(tracebacks),
            first_line_of_exceptions,
            structlog.processors.JSONRenderer(),
        ]
    return [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
