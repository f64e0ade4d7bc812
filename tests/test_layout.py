"""The layout's own rules: migrations are linear and complete, files are small, actions and modules say what they do."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db.migrations.loader import MigrationLoader

PROJECT = Path(__file__).resolve().parent.parent
APPS = ("console", "outbox", "approvals", "runs")
ACTIONS = ("actions", "authorization", "leases", "dispatch", "reconcile", "repairs", "escalations")
LONGEST_MODULE = 400
LONGEST_FUNCTION = 50


def modules(*folders: str) -> Iterator[Path]:
    """Every Python file of these folders, without migrations."""
    for folder in folders:
        yield from (file for file in sorted((PROJECT / folder).rglob("*.py")) if "migrations" not in file.parts)


def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


@pytest.mark.django_db
def test_the_models_have_all_their_migrations() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


@pytest.mark.parametrize("app", APPS)
def test_migrations_of_an_app_are_one_line(app: str) -> None:
    graph = MigrationLoader(None).graph
    ours = sorted(node for node in graph.nodes if node[0] == app)

    for earlier, later in zip(ours, ours[1:], strict=False):
        assert earlier in graph.node_map[later].parents, f"{later} does not follow {earlier}"


def test_no_module_is_longer_than_a_person_reads_at_once() -> None:
    long = {
        str(file.relative_to(PROJECT)): lines
        for file in modules(*APPS)
        if (lines := len(file.read_text(encoding="utf-8").splitlines())) > LONGEST_MODULE
    }

    assert not long


def test_no_function_is_longer_than_a_screen() -> None:
    long = {
        f"{file.relative_to(PROJECT)}:{node.name}"
        for file in modules(*APPS, "tests")
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno + 1 > LONGEST_FUNCTION
    }

    assert not long


def test_every_module_says_what_lives_in_it() -> None:
    silent = [str(file) for file in modules(*APPS) if file.stat().st_size and not ast.get_docstring(parsed(file))]

    assert not silent


@pytest.mark.parametrize("name", ACTIONS)
def test_every_public_action_is_documented(name: str) -> None:
    undocumented = [
        f"{file.relative_to(PROJECT)}:{node.name}"
        for app in APPS
        for file in (PROJECT / app).glob(f"{name}.py")
        for node in parsed(file).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not ast.get_docstring(node)
    ]

    assert not undocumented


def test_there_is_no_drawer() -> None:
    drawers = {"utils.py", "helpers.py", "common.py", "services.py", "manager.py"}

    assert not [file for file in modules(*APPS) if file.name in drawers]


def test_no_file_holds_unfinished_business() -> None:
    mark = re.compile(r"#.*\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")

    assert not [file for file in modules(*APPS, "tests") if mark.search(file.read_text(encoding="utf-8"))]
