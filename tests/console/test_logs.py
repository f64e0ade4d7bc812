"""Log lines are JSON, carry the request's path and no content."""

import json
import logging
from collections.abc import Callable

import pytest
import structlog
from django.test import RequestFactory

from console import logs


@pytest.fixture
def line() -> Callable[..., dict[str, object]]:
    """Formats one record as a process in production would."""
    formatter = structlog.stdlib.ProcessorFormatter(
        **{key: value for key, value in logs.config(json=True)["formatters"]["line"].items() if key != "()"}
    )

    def formatted(**record: object) -> dict[str, object]:
        made = logging.makeLogRecord({"name": "tests", "levelname": "ERROR", "msg": "it failed"} | record)
        return dict(json.loads(formatter.format(made)))

    return formatted


def raised(message: str) -> object:
    """What `sys.exc_info` gives after a failure in a function that had a secret."""
    secret_local = "card 4111"
    try:
        raise ValueError(f"{message}\nDETAIL: failing row contains ({secret_local})")
    except ValueError as error:
        return (type(error), error, error.__traceback__)


def test_a_line_is_an_object_with_level_logger_and_time(line: Callable[..., dict[str, object]]) -> None:
    found = line()

    assert (found["event"], found["level"], found["logger"]) == ("it failed", "error", "tests")
    assert str(found["timestamp"]).endswith("Z")


def test_an_exception_has_its_type_and_place_but_no_values(line: Callable[..., dict[str, object]]) -> None:
    found = line(exc_info=raised("the row is refused"))

    text = json.dumps(found)
    assert "ValueError" in text
    assert "the row is refused" in text
    assert "test_logs.py" in text
    assert "4111" not in text


def test_a_request_is_told_without_its_query() -> None:
    request = RequestFactory().get("/runs/?q=what+somebody+typed")

    assert logs.RequestLog.format_request(request) == "GET /runs/"
