"""`docs/concurrency.md` says what the code, the tests and the live database say."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from console.management.commands.verify import CHECKS
from runs.states import LEGAL_STEPS

PROJECT = Path(__file__).resolve().parent.parent
DOCUMENT = (PROJECT / "docs" / "concurrency.md").read_text(encoding="utf-8")


def table(heading: str) -> list[tuple[str, ...]]:
    """The cells of all tables under a heading of the second level, heads left out."""
    section = DOCUMENT.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [tuple(cell.strip().strip("`") for cell in line.strip("|").split(" | ")) for line in section.splitlines()
            if line.startswith("| ")]  # fmt: skip
    heads = {row for row, rule in zip(rows, rows[1:], strict=False) if set("".join(rule)) == {"-"}}
    return [row for row in rows if row not in heads and set("".join(row)) != {"-"}]


def test_the_states_of_a_run_are_those_of_the_code() -> None:
    expected = [(start.value, to.value, owner) for (start, to), owner in LEGAL_STEPS.items()]

    assert table("States of a run") == expected


def test_the_invariants_are_those_that_are_checked() -> None:
    expected = [(name, rule) for check in CHECKS for name, rule in check.rules.items()]

    assert table("What `manage.py verify` checks") == expected


# ---- repeats -------------------------------------------------------------------------------------------------


def test_each_case_of_a_repeat_is_shown_by_exactly_one_test() -> None:
    shown = sorted(int(number) for text in docstrings() for number in re.findall(r"\bCase (\d+): ", text))

    assert shown == [int(row[0]) for row in table("Repeats")]


def docstrings() -> Iterator[str]:
    """What the tests say about themselves."""
    for file in sorted((PROJECT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield ast.get_docstring(node) or ""


# ---- guards --------------------------------------------------------------------------------------------------

CONSTRAINTS = """
SELECT conname FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
WHERE c.connamespace = 'public'::regnamespace AND contype IN ('c', 'f', 'u') AND t.relname ~ '^(runs|approvals|outbox)_'
UNION SELECT i.relname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
WHERE indisunique AND NOT indisprimary AND t.relname ~ '^(runs|approvals|outbox)_'
"""
NAMED_BY_DJANGO = re.compile(r"_[0-9a-f]{8}_fk|_key$")
REFUSALS = re.compile(r"(?:runs_refuse|runs_frozen)\(\s*'([a-z_]+)'")


@pytest.mark.django_db
def test_every_rule_of_the_database_is_listed_once_and_no_other() -> None:
    with connection.cursor() as cursor:
        cursor.execute(CONSTRAINTS)
        constraints = {name for (name,) in cursor.fetchall() if not NAMED_BY_DJANGO.search(name)}
        cursor.execute("SELECT prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace")
        sources = [source for (source,) in cursor.fetchall()]
        cursor.execute("SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal")
        sources += [source for (source,) in cursor.fetchall()]

    refusals = {name for source in sources for name in REFUSALS.findall(source)}
    assert sorted(name for name, _ in table("What the database refuses")) == sorted(constraints | refusals)
