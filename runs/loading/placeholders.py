"""Placeholders: `{param}` in commands; `{fields.x}`, `{run.key}`, `{payload.x}`, `{effect.…}` in actions.

Pure.
"""

import re
from typing import Any

JSON = Any

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def whole_placeholder(value: JSON) -> str | None:
    """The name between the braces when the whole value is one placeholder."""
    matched = _PLACEHOLDER.fullmatch(value) if isinstance(value, str) else None
    return None if matched is None else matched[1]


def placeholders_in(text: str) -> list[str]:
    """The names of all placeholders inside a text."""
    return _PLACEHOLDER.findall(text)


def has_stray_brace(text: str) -> bool:
    """Whether a text has a brace that belongs to no placeholder."""
    return has_braces(_PLACEHOLDER.sub("", text))


def has_braces(value: JSON) -> bool:
    """Whether any text inside a value has a brace."""
    match value:
        case str():
            return "{" in value or "}" in value
        case list():
            return any(has_braces(item) for item in value)
        case dict():
            return any(has_braces(item) for item in value.values())
        case _:
            return False
