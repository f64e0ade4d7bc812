"""Pages that explain the problem codes, and what a screen shows when something is refused.

A refusal is drawn without context processors: it must appear when the database does not, and when the request
was turned away before anybody knew who asked.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import path
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_GET

from console.context import appearance
from console.correlation import correlation_id
from console.problems import PROBLEMS, Problem, meaning, problem_of, retry_after
from console.rendering import render_screen, wants_fragment
from runs.errors import ClearanceError, NotFound

#: Statuses that have a page of their own; every other refusal is told by its row and its detail.
_OWN_PAGES = {400, 403, 404, 429, 500}

#: Refusals that say nothing about what was sent: they stand in a corner and leave the form and what was typed alone.
_SAYS_NOTHING = {401, 429, 500, 503}


@dataclass(frozen=True, slots=True)
class Explained:
    """A problem as its page tells it."""

    code: str
    meaning: str
    problem: Problem


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """Every problem there is."""
    explained = [_explained(code) for code in sorted(PROBLEMS)]
    return render_screen(request, "problems/list.html", {"explained": explained})


@require_GET
def detail(request: HttpRequest, code: str) -> HttpResponse:
    """One problem in plain words, with the next legal step. Raises `NotFound` for an unknown code."""
    if code not in PROBLEMS:
        raise NotFound
    return render_screen(request, "problems/detail.html", {"explained": _explained(code)})


def refusal(request: HttpRequest, error: ClearanceError) -> HttpResponse:
    """What somebody at a screen sees of a refusal: a page, or the fragment that its row names."""
    row = problem_of(error)
    template = _fragment(error, row) if wants_fragment(request) else _page(error, row)
    response = HttpResponse(render_to_string(template, _context(request, error)), status=row.status)
    patch_vary_headers(response, ["HX-Request"])
    if wants_fragment(request) and (row.fragment == "sign_in_again" or row.status in _SAYS_NOTHING):
        response.headers["HX-Retarget"], response.headers["HX-Reswap"] = "#toasts", "innerHTML"
    if (seconds := retry_after(error)) is not None:
        response.headers["Retry-After"] = str(seconds)
    return response


def _explained(code: str) -> Explained:
    return Explained(code, meaning(code), PROBLEMS[code])


def _page(error: ClearanceError, row: Problem) -> str:
    if error.code == "form-expired":
        return "errors/403_csrf.html"
    return f"errors/{row.status}.html" if row.status in _OWN_PAGES else "problems/refusal.html"


def _fragment(error: ClearanceError, row: Problem) -> str:
    nothing_to_show = row.fragment == "moved" and "changed_fields" not in error.members
    return f"components/_{'refusal' if nothing_to_show else row.fragment}.html"


def _context(request: HttpRequest, error: ClearanceError) -> dict[str, Any]:
    row, told = problem_of(error), error.members.get("detail", error.detail)
    return {
        **appearance(request),
        "problem": row,
        "detail": told,
        "code": error.code,
        "is_erased": "erased" in error.members,
        "request_id": correlation_id(request),
        "retry_after": retry_after(error),
        "refusal": {"title": row.title, "detail": told, "code": error.code},
        "moved": _moved(error.members, _address_shown(request)),
        "back": _address_shown(request),
    }


def _moved(facts: Mapping[str, Any], url: str) -> dict[str, Any]:
    changes = [
        {
            "field": change["field"],
            "old": change["base"],
            "new": change["current"],
            "restored": change["restored"],
            "actor": change["changed_by"],
        }
        for change in facts.get("changed_fields", ())
    ]
    return {"version": facts.get("current_version"), "url": url, "changes": changes}


def _address_shown(request: HttpRequest) -> str:
    """The page the person is looking at: the one that sent a fragment's request, or the one asked for."""
    shown = urlsplit(request.headers.get("HX-Current-URL", ""))
    path = shown.path if shown.path.startswith("/") else request.path
    return f"{path}?{shown.query}" if shown.query else path


app_name = "problems"
urlpatterns = [
    path("", index, name="list"),
    path("<str:code>", detail, name="detail"),
]
