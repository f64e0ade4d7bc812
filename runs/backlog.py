"""What waits for operators, and who they are. Writes nothing and takes no locks."""

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from django.db.models import Count

from runs.definitions import Policy
from runs.models import Escalation, Person
from runs.states import Role
from runs.transactions import execute

JSON = Any

#: Counts stop here: beyond it a number says no more, and counting costs.
COUNTED_AT_MOST = 100

#: A conflict that waits longer than this is overdue.
DUE_AFTER_SECONDS = 60 * 60


def count_open_cases(workflows: Collection[str]) -> int:
    """How many cases of `workflows` are open; `COUNTED_AT_MOST` stands for as many or more."""
    return Escalation.objects.filter(workflow__in=workflows, state="open")[:COUNTED_AT_MOST].count()


def open_cases_by_run(run_ids: Collection[int]) -> Mapping[int, int]:
    """The number of open cases of each of these runs that has any."""
    rows = Escalation.objects.filter(run_id__in=run_ids, state="open").values_list("run_id")
    return dict(rows.annotate(number=Count("id")))


def open_cases_of_run(run_id: int) -> list[Escalation]:
    """The open cases of one run, the oldest first."""
    cases = (
        Escalation.objects.select_related("conflict", "run")
        .defer("conflict__base", "run__fields")
        .filter(run_id=run_id, state="open")
    )
    return list(cases.order_by("opened_at", "id"))


_SHORT_BASES = """
SELECT c.id, (SELECT json_object_agg(f.key, f.value) FROM json_each(c.base::json) f WHERE length(f.value::text) <= %s)
FROM runs_conflict c WHERE c.id = ANY(%s) AND c.base IS NOT NULL
"""


def read_short_bases(conflicts: Collection[UUID], longest: int) -> Mapping[UUID, Mapping[str, JSON]]:
    """The fields that each conflict was computed from, without the long ones: enough to say what a case is about."""
    return dict(execute(_SHORT_BASES, [longest, list(conflicts)]).fetchall())


def operators_of(policy: Policy) -> list[str]:
    """The people who settle conflicts under this policy, by name."""
    people = Person.objects.filter(is_active=True, roles__contains=[Role.OPERATOR.value])
    people = people.filter(workflow_groups__overlap=sorted(policy.operators))
    return list(people.order_by("username").values_list("username", flat=True))


def admins() -> list[str]:
    """The people who give roles, by name."""
    people = Person.objects.filter(is_active=True, roles__contains=[Role.ADMIN.value])
    return list(people.order_by("username").values_list("username", flat=True))
