"""Checking every invariant of every app within a test."""

from collections import Counter
from collections.abc import Iterable

from django.db import connection

from console.management.commands.verify import CHECKS
from runs.verify.checks import Check


def broken(checks: Iterable[Check] = CHECKS, seen: Counter[str] | None = None) -> dict[str, list[str]]:
    """Where each broken invariant is broken, by name. Needs an open transaction."""
    by_name: dict[str, list[str]] = {}
    for check in checks:
        for violation in check.find(Counter() if seen is None else seen):
            by_name.setdefault(violation.invariant, []).append(violation.where)
    return by_name


def do(statement: str) -> None:
    """Run a statement as it is."""
    with connection.cursor() as cursor:
        cursor.execute(statement)
