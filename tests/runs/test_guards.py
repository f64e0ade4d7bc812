"""What the database refuses by name, attacked with plain SQL: as the application, then as the owner of the tables."""

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations import RunSQL
from django.db.migrations.executor import MigrationExecutor
from pytest_django import DjangoDbBlocker

import runs.sql
from runs import authority, catalog
from runs.escalations import ResolutionRequest, resolve
from runs.models import Escalation
from runs.refusals import escalation_ref
from runs.states import LEGAL_STEPS, Role
from runs.verbs import Verb
from tests import cast
from tests.runs.attacks import (
    BEHIND_ANOTHER,
    BY_APPLICATION,
    BY_OWNER,
    CHECK,
    EPOCH,
    HEAD,
    SQLSTATES,
    case,
    conflict,
    entry,
    person,
    policy,
    record,
    run_row,
    update,
)

pytestmark = pytest.mark.django_db

SQL = Path(runs.sql.__file__).parent
FILES = ("run_guard_v1", "ledger_guard_v1", "record_guards_v1", "authority_guards_v1")

#: What an answer to a command may become, as the guard has it.
COMMAND_STEPS = {
    "retry": {"retry", "committed", "merged", "unchanged", "rejected", "escalated", "superseded"},
    "escalated": {"committed", "superseded", "rejected", "retry"},
}

# ---- the scene -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scene(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Committed: R-1 is new, R-2 is at version 2 and has an open case, R-3 has a settled one, R-4 is cancelled."""
    with django_db_blocker.unblock():
        agent = cast.agent().principal
        cast.run_received("R-1")
        cast.run_with_open_case("R-3", agent)
        nia = cast.person("nia", Role.OPERATOR, groups=("refund-operators",))
        case = escalation_ref(Escalation.objects.get().pk)
        resolve(nia, case, ResolutionRequest("r-1", Verb.KEEP, "I looked", 2, 1))
        cast.run_with_open_case("R-2", agent)
        cast.run_cancelled("R-4")
        yield
        call_command("flush", interactive=False, verbosity=0)
        authority.forget()
        catalog.forget()


@pytest.fixture
def owner_connection(owner_dsn: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(owner_dsn, autocommit=True) as opened:
        yield opened


def refusal_of(connection: psycopg.Connection, statements: str) -> tuple[str | None, str | None]:
    """SQLSTATE and name of the rule by which the database refuses `statements` as one transaction."""
    with pytest.raises(psycopg.Error) as refusal, connection.transaction():
        connection.execute(statements)
    return refusal.value.sqlstate, refusal.value.diag.constraint_name


# ---- attacks -------------------------------------------------------------------------------------------------


def attacks(table: dict[str, list[str]]) -> list[object]:
    return [
        pytest.param(rule, statements, id=f"{rule}-{number}")
        for rule, listed in table.items()
        for number, statements in enumerate(listed, 1)
    ]


@pytest.mark.parametrize(("rule", "statements"), attacks(BY_APPLICATION))
def test_the_application_is_refused(
    scene: None, app_connection: psycopg.Connection, rule: str, statements: str
) -> None:
    assert refusal_of(app_connection, statements) == (SQLSTATES.get(rule, CHECK), rule)


@pytest.mark.parametrize(("rule", "statements"), attacks(BY_OWNER))
def test_the_owner_is_refused(scene: None, owner_connection: psycopg.Connection, rule: str, statements: str) -> None:
    assert refusal_of(owner_connection, statements) == (SQLSTATES.get(rule, CHECK), rule)


# ---- nothing forgotten ---------------------------------------------------------------------------------------

#: Table -> the triggers that guard it.
TRIGGERS = {
    "runs_run": {"runs_run_guard"},
    "runs_ledgerentry": {"runs_ledger_chain", "runs_ledger_guard"},
    "runs_command": {"runs_command_begins", "runs_command_guard"},
    "runs_request": {"runs_request_frozen"},
    "runs_conflict": {"runs_conflict_guard"},
    "runs_episode": set(),
    "runs_escalation": {"runs_escalation_guard"},
    "runs_workflowrevision": {"runs_workflow_revision_frozen", "runs_workflow_revision_step"},
    "runs_policyversion": {"runs_policy_version_frozen", "runs_policy_version_step", "runs_policy_authority"},
    "runs_authoritychange": {"runs_authority_change_frozen"},
    "runs_installation": {"runs_installation_guard", "runs_halt_authority"},
    "runs_person": {"runs_person_authority"},
    "runs_agent": {"runs_agent_authority"},
}

TRIGGERS_LIVE = """
SELECT tgrelid::regclass::text, tgname || tgenabled::text FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2
"""
NAMED = """
SELECT conrelid::regclass::text, conname FROM pg_constraint
WHERE connamespace = 'public'::regnamespace AND contype IN ('c', 'f', 'u')
UNION SELECT indrelid::regclass::text, indexrelid::regclass::text FROM pg_index
WHERE indisunique AND NOT indisprimary
"""
MADE_BY_DJANGO = re.compile(r"_[0-9a-f]{8}_fk_|_key$")


def rows(statement: str) -> list[tuple[str, str]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        found: list[tuple[str, str]] = cursor.fetchall()
        return found


def rules_written() -> set[str]:
    """The names by which our functions refuse."""
    text = "".join((SQL / f"{name}.sql").read_text() for name in FILES)
    return set(re.findall(r"(?:runs_refuse\(|runs_frozen\()\s*'([a-z_]+)'", text))


def test_every_rule_that_a_guard_names_is_attacked() -> None:
    assert rules_written() <= BY_APPLICATION.keys() | BY_OWNER.keys()


def test_every_named_constraint_of_these_tables_is_attacked_or_stands_behind_one_that_is() -> None:
    named = {name for table, name in rows(NAMED) if table in TRIGGERS and not MADE_BY_DJANGO.search(name)}

    assert named <= BY_APPLICATION.keys() | BY_OWNER.keys() | BEHIND_ANOTHER.keys()
    assert BEHIND_ANOTHER.keys() <= named


def test_the_live_triggers_are_these_and_all_are_on() -> None:
    live = rows(TRIGGERS_LIVE)

    expected = {(table, f"{name}O") for table, names in TRIGGERS.items() for name in names}
    assert {row for row in live if row[0] in TRIGGERS} == expected


def test_the_database_and_the_code_know_the_same_steps_of_a_run() -> None:
    assert set(rows("SELECT * FROM runs_status_steps()")) == {(start.value, to.value) for start, to in LEGAL_STEPS}


def test_an_answer_moves_only_while_it_may_still_be_given_again_or_waits_for_a_person() -> None:
    expected = {(start, to) for start, stops in COMMAND_STEPS.items() for to in stops}
    assert set(rows("SELECT * FROM runs_command_steps()")) == expected


def test_no_guard_looks_a_name_up_where_the_application_could_put_one() -> None:
    functions = rows(
        "SELECT proname, array_to_string(proconfig, ',') FROM pg_proc"
        " WHERE pronamespace = 'public'::regnamespace AND proname LIKE 'runs_%'"
    )

    assert functions
    assert {config for _, config in functions} == {"search_path=pg_catalog, pg_temp"}


def test_every_guard_of_every_app_can_be_taken_back_and_put_up_again() -> None:
    guards, before = guards_in_order(), rows(TRIGGERS_LIVE)

    with connection.cursor() as cursor:
        for guard in reversed(guards):
            cursor.execute(str(guard.reverse_sql))
        without = rows(TRIGGERS_LIVE)
        for guard in guards:
            cursor.execute(str(guard.sql))

    assert (without, rows(TRIGGERS_LIVE)) == ([], before)


def guards_in_order() -> list[RunSQL]:
    """Every piece of plain SQL in the migrations of our apps, in the order in which they are applied."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes(), clean_start=True)
    return [step for migration, _ in plan for step in migration.operations if isinstance(step, RunSQL)]


def test_what_the_same_forms_do_legally_is_not_refused(scene: None, owner_connection: psycopg.Connection) -> None:
    legal = update("R-1", f"{HEAD}, head_hash = 'b'") + entry("R-1") + record() + conflict() + case()
    legal += run_row() + entry("R-9") + person("mallory") + policy("2", "2") + EPOCH

    with owner_connection.transaction():
        owner_connection.execute(legal + "SET CONSTRAINTS ALL IMMEDIATE")
        raise psycopg.Rollback
