"""What the application's role may do: exactly what is listed, with no switch to turn a guard off, and all it needs."""

import re

import psycopg
import pytest
from django.db import connection

from console.privileges import OURS
from runs import catalog
from runs.administration import By, set_agent_active, set_halt, set_person, set_workflow_suspended
from runs.errors import AuthorityRevoked, Halted, WorkflowSuspended
from runs.escalations import ResolutionRequest, resolve
from runs.models import Escalation, LedgerEntry
from runs.privileges import PRIVILEGES
from runs.refusals import escalation_ref
from runs.states import Role
from runs.verbs import Verb
from tests import cast
from tests.runs.attacks import HEAD, update

NOT_ALLOWED = "42501"

# ---- no way around -------------------------------------------------------------------------------------------

#: What somebody might try who got hold of the application's connection.
TRICKS = {
    "turn triggers off for the session": "SET session_replication_role = replica",
    "turn triggers off for ever": "ALTER ROLE CURRENT_USER SET session_replication_role = replica",
    "turn off a trigger": "ALTER TABLE runs_run DISABLE TRIGGER runs_run_guard",
    "turn off all triggers": "ALTER TABLE runs_ledgerentry DISABLE TRIGGER ALL",
    "drop a trigger": "DROP TRIGGER runs_run_guard ON runs_run",
    "drop a guard": "DROP FUNCTION runs_run_guard() CASCADE",
    "replace a guard": (
        "CREATE OR REPLACE FUNCTION runs_run_guard() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'"
    ),
    "replace the list of legal steps": (
        "CREATE OR REPLACE FUNCTION runs_status_steps() RETURNS TABLE (start text, stop text)"
        " LANGUAGE sql AS $$ VALUES ('cancelled', 'working') $$"
    ),
    "make a guard look elsewhere": "ALTER FUNCTION runs_run_guard() SET search_path = pg_temp",
    "silence a refusal": "CREATE FUNCTION public.runs_refuse(a text, b name) RETURNS void LANGUAGE sql AS ''",
    "undo a refusal with a trigger of one's own": (
        "CREATE TRIGGER zzz BEFORE UPDATE ON runs_run FOR EACH ROW"
        " EXECUTE FUNCTION suppress_redundant_updates_trigger()"
    ),
    "turn writes into something else by a rule": "CREATE RULE r AS ON UPDATE TO runs_run DO INSTEAD NOTHING",
    "drop a constraint": "ALTER TABLE runs_run DROP CONSTRAINT runs_run_head_in_ledger",
    "drop a table": "DROP TABLE runs_ledgerentry CASCADE",
    "empty a table": "TRUNCATE runs_ledgerentry CASCADE",
    "become the owner": "SET ROLE clearance_owner",
    "have always been the owner": "SET SESSION AUTHORIZATION clearance_owner",
    "take a table over": "ALTER TABLE runs_run OWNER TO CURRENT_USER",
    "make a table among ours": "CREATE TABLE public.runs_shadow (id int)",
    "make a schema": "CREATE SCHEMA elsewhere",
    "make an extension": "CREATE EXTENSION dblink",
    "change the server": "ALTER SYSTEM SET session_replication_role = replica",
    "run a program": "COPY runs_run TO PROGRAM 'true'",
    "read a file of the server": "SELECT pg_read_file('PG_VERSION')",
    "rewrite the record of migrations": "DELETE FROM django_migrations",
    "raise the epoch of the ledger": "UPDATE runs_installation SET ledger_epoch = ledger_epoch + 1",
    "change the key of a run": "UPDATE runs_run SET key = 'R-99'",
    "change an actor in the ledger": "UPDATE runs_ledgerentry SET actor = 'agent:other'",
    "change what an id stands for": "UPDATE runs_command SET request_sha256 = ''",
    "change a stored policy": "UPDATE runs_policyversion SET terms = '{}'",
    "change a stored revision": "UPDATE runs_workflowrevision SET text = ''",
    "change the record of a change": "UPDATE runs_authoritychange SET actor = 'agent:other'",
}


@pytest.mark.django_db
@pytest.mark.parametrize("statement", [pytest.param(sql, id=name) for name, sql in TRICKS.items()])
def test_a_trick_is_not_allowed(app_connection: psycopg.Connection, statement: str) -> None:
    with pytest.raises(psycopg.Error) as refusal:
        app_connection.execute(statement)

    assert refusal.value.sqlstate == NOT_ALLOWED


@pytest.mark.django_db
def test_a_right_that_the_application_grants_itself_is_not_there(app_connection: psycopg.Connection) -> None:
    app_connection.execute("GRANT DELETE ON runs_run TO CURRENT_USER")  # only warns that nothing was granted

    assert app_connection.execute("SELECT has_table_privilege('runs_run', 'DELETE')").fetchone() == (False,)


@pytest.mark.django_db
@pytest.mark.parametrize("table", sorted(OURS))
def test_nothing_of_ours_is_deleted_by_the_application(app_connection: psycopg.Connection, table: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        app_connection.execute(f"DELETE FROM {table}")


SHADOWS = """
CREATE TEMP TABLE runs_run AS SELECT * FROM public.runs_run WITH NO DATA;
CREATE TEMP TABLE runs_ledgerentry AS SELECT * FROM public.runs_ledgerentry WITH NO DATA;
CREATE FUNCTION pg_temp.runs_refuse(rule text, words text) RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION pg_temp.runs_status_steps() RETURNS TABLE (start text, stop text)
    LANGUAGE sql AS $$ VALUES ('received', 'sent') $$;
SET search_path = pg_temp, pg_catalog, public;
"""


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("rule", "statement"),
    [
        ("runs_status_legal", update("R-42", f"status = 'sent', version = version + 1, {HEAD}")),
        ("runs_version_step", update("R-42", f"version = version + 2, {HEAD}")),
        ("runs_ledger_in_use", "UPDATE public.runs_ledgerentry SET body = NULL"),
    ],
)
def test_names_put_in_front_of_ours_do_not_blind_a_guard(
    app_connection: psycopg.Connection, rule: str, statement: str
) -> None:
    cast.run_received("R-42")
    app_connection.execute(SHADOWS)

    with pytest.raises(psycopg.errors.CheckViolation) as refusal:
        app_connection.execute(statement.replace("UPDATE runs_run", "UPDATE public.runs_run"))

    assert refusal.value.diag.constraint_name == rule


# ---- what is listed is what is granted -----------------------------------------------------------------------

GRANTED = """
SELECT table_name::text, privilege_type::text, NULL FROM information_schema.role_table_grants
WHERE grantee = %(role)s AND table_schema = 'public'
UNION ALL
SELECT table_name::text, privilege_type::text, column_name::text FROM information_schema.column_privileges c
WHERE grantee = %(role)s AND table_schema = 'public' AND NOT EXISTS (
    SELECT FROM information_schema.role_table_grants t
    WHERE (t.grantee, t.table_schema, t.table_name, t.privilege_type)
        = (c.grantee, c.table_schema, c.table_name, c.privilege_type)
)
"""


def listed(rights: str) -> set[tuple[str, str | None]]:
    """`SELECT, UPDATE (a, b)` as pairs of right and column."""
    found: set[tuple[str, str | None]] = set()
    for right, columns in re.findall(r"(\w+)(?: \(([^)]*)\))?", rights):
        names = [name.strip() for name in columns.split(",")] if columns else [None]
        found |= {(right, name) for name in names}
    return found


@pytest.mark.django_db
def test_the_rights_in_the_database_are_those_that_are_listed(app_connection: psycopg.Connection) -> None:
    granted: dict[str, set[tuple[str, str | None]]] = {}
    for table, right, column in app_connection.execute(GRANTED, {"role": app_connection.info.user}):
        granted.setdefault(table, set()).add((right, column))

    assert {table: granted.get(table) for table in OURS} == {table: listed(rights) for table, rights in OURS.items()}


@pytest.mark.django_db
def test_every_table_of_runs_is_listed() -> None:
    tables = {name for name in connection.introspection.table_names() if name.startswith("runs_")}

    assert tables == PRIVILEGES.keys()


@pytest.mark.django_db
def test_no_function_of_ours_runs_with_the_rights_of_its_owner() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosecdef")
        assert cursor.fetchall() == []


# ---- and it is enough ----------------------------------------------------------------------------------------

BY = By("user:dora", "for a reason")


def test_every_action_on_runs_works_in_the_role_of_the_application(as_application: None) -> None:
    cast.run_received("R-42")
    agent = cast.agent("pricing").principal
    nia = cast.person("nia", Role.OPERATOR, groups=("refund-operators",))

    cast.command(cast.ada(), "R-42", "set-category", category="billing")
    cast.command(agent, "R-42", "add-tag", on=1, tag="vip")
    cast.command(agent, "R-42", "add-tag", on=1, tag="vip")
    cast.command(agent, "R-42", "set-category", on=1, category="damage")
    case = escalation_ref(Escalation.objects.get().pk)
    resolve(nia, case, ResolutionRequest("r-1", Verb.APPLY, "the photos are clear", cast.reading("R-42").version, 1))
    cast.command(nia, "R-42", "cancel")

    assert list(LedgerEntry.objects.order_by("seq").values_list("seq", "version", "kind")) == [
        (1, 1, "run.created"),
        (2, 2, "command.committed"),
        (3, 3, "command.merged"),
        (4, 3, "command.rejected"),
        (5, 3, "command.escalated"),
        (6, 4, "escalation.resolved"),
        (7, 5, "run.cancelled"),
    ]


def test_every_change_of_authority_works_in_the_role_of_the_application(as_application: None) -> None:
    cast.run_received("R-42")
    agent = cast.agent("pricing").principal
    set_person("ada", BY, roles=[Role.OPERATOR, Role.AUDITOR])

    for withdraw, refusal in (
        (lambda on: set_agent_active("pricing", not on, BY), AuthorityRevoked),
        (lambda on: set_workflow_suspended("refund", on, BY), WorkflowSuspended),
        (lambda on: set_halt(on, BY), Halted),
    ):
        withdraw(True)
        with pytest.raises(refusal):
            cast.command(agent, "R-42", "add-tag", tag="vip")
        withdraw(False)

    assert cast.command(agent, "R-42", "add-tag", tag="vip").state == "committed"
    assert catalog.latest("refund").revision == 1
