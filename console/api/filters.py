"""What several lists of the API let a client choose."""

from collections.abc import Iterable

from console.access import visible_workflows
from console.cursors import PageRequest
from runs.errors import Fault, Malformed
from runs.values import Principal


def chosen_word(wanted: PageRequest, name: str, words: Iterable[str]) -> str | None:
    """The value of a filter that knows only these words. Raises `Malformed` for another one."""
    value, known = wanted.filters.get(name), list(words)
    if value is None or value in known:
        return value
    raise Malformed(errors=[Fault(f"/{name}", "choice", f"One of {', '.join(known)}.")])


def chosen_workflows(principal: Principal, wanted: PageRequest) -> tuple[str, ...]:
    """The workflows that the principal sees, or the one of them that the filter names."""
    name = wanted.filters.get("workflow")
    return tuple(slug for slug in visible_workflows(principal) if name in (None, slug))
