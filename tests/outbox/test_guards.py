"""What the database refuses about effects, attempts and what people found out, attacked with plain SQL."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection
from pytest_django import DjangoDbBlocker

import outbox
from outbox.following import MOVING
from outbox.lookups import Question, record_lookup
from outbox.plans import PlanRequest, make_plan
from outbox.privileges import PRIVILEGES
from outbox.remediations import RemediationStepKind
from outbox.states import LEGAL_STEPS, Finding, RepairKind
from runs import authority, catalog
from tests import attacking, cast, review
from tests.attacking import CHECK, attacks, refusal_of
from tests.outbox.attacks import BEHIND_ANOTHER, BY_APPLICATION, BY_OWNER, HELD, NOT_ALLOWED, RISEN, SQLSTATES
from tests.outbox.settling import UNKNOWN, attempt, claimed, let_pass, succeed
from tests.outbox.test_findings import confirmed, judge, order
from tests.outbox.test_leases import now
from tests.outbox.test_lookups import NOT_FOUND
from tests.outbox.test_remediations import step

pytestmark = pytest.mark.django_db

FILES = [Path(outbox.__file__).parent / "sql" / f"effect_guard_{version}.sql" for version in ("v1", "v2")]


@pytest.fixture(scope="module")
def scene(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Committed: what `attacks` says, and one row of everything else."""
    authority.forget()
    catalog.forget()
    with django_db_blocker.unblock():
        sent_and_recalled()
        found_out()
        review.deny(cast.ben(), review.refund_ready_for_review("R-7"))
        review.freeze(review.cashier(), "R-7", "pay")
        review.approve(cast.ben(), "R-7:review:v5:c2")
        claimed(review.effect_of("R-7"))
        review.refund_ready_for_review("R-9")
        yield
        call_command("flush", interactive=False, verbosity=0)
        authority.forget()
        catalog.forget()


def sent_and_recalled() -> None:
    """R-8 was sent and its approval revoked; the task that opened is done, and a recall is authorized."""
    review.destination("payments-recall", url="https://provider.example.com/recall")
    review.deny(cast.ben(), review.refund_ready_for_review("R-8"))
    review.freeze(review.cashier(), "R-8", "pay")
    review.approve(cast.ben(), "R-8:review:v5:c2")
    effect = succeed(review.effect_of("R-8"))
    remediation = review.revoke(cast.ben(), review.approval_of(effect)).answer["remediation"]
    step(remediation, RemediationStepKind.CLOSED)
    review.freeze(review.cashier(), "R-8", "recall", of=effect.pk)
    review.approve(review.bea(), "R-8:review:v9:c3")


def found_out() -> None:
    """Somebody looked into R-6, found that it did not happen, and ordered it to be sent again."""
    review.destination("payments", recognises_repeats=False, key_retention_seconds=None)
    effect = let_pass(attempt(review.refund_approved("R-6"), UNKNOWN), hours=1)
    record_lookup(Question(effect.pk, "R-6", effect.fence, now()), NOT_FOUND, "user:dora")
    judge(effect, Finding.DID_NOT_HAPPEN)
    make_plan(cast.dora(), PlanRequest("p-1", (effect.pk,), RepairKind.RESEND, "All of last night's."))
    confirmed(effect, order(effect, RepairKind.RESEND))


@pytest.fixture
def owner_connection(owner_dsn: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(owner_dsn, autocommit=True) as opened:
        yield opened


@pytest.mark.parametrize(("rule", "statement"), attacks(BY_APPLICATION))
def test_the_application_is_refused(scene: None, app_connection: psycopg.Connection, rule: str, statement: str) -> None:
    assert refusal_of(app_connection, statement) == (SQLSTATES.get(rule, CHECK), rule)


@pytest.mark.parametrize(("rule", "statement"), attacks(BY_OWNER))
def test_the_owner_is_refused(scene: None, owner_connection: psycopg.Connection, rule: str, statement: str) -> None:
    assert refusal_of(owner_connection, statement) == (SQLSTATES.get(rule, CHECK), rule)


#: Another value of a column, by its type.
OTHERWISE = {
    "text": "'x'",
    "character varying": "'x'",
    "integer": "{0} + 1",
    "bigint": "{0} + 1",
    "boolean": "NOT {0}",
    "timestamp with time zone": "{0} + interval '1 s'",
    "ARRAY": "'{{}}'",
}


def test_no_column_of_an_effect_moves_but_those_that_its_movement_writes(
    scene: None, owner_connection: psycopg.Connection
) -> None:
    columns = owner_connection.execute(
        "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'outbox_effect'"
    ).fetchall()
    kept = {name: kind for name, kind in columns if name not in MOVING}

    for name, kind in kept.items():
        change = f"{name} = {OTHERWISE[kind].format(name)}"
        statement = f"UPDATE outbox_effect SET {change}, {RISEN} WHERE {HELD}"
        assert refusal_of(owner_connection, statement) == (CHECK, "outbox_effect_frozen"), name

    assert len(kept) + len(MOVING) == len(columns) > 30


@pytest.mark.parametrize("statement", NOT_ALLOWED)
def test_the_application_has_not_even_the_right(app_connection: psycopg.Connection, statement: str) -> None:
    assert refusal_of(app_connection, statement)[0] == attacking.NOT_ALLOWED


# ---- nothing forgotten -----------------------------------------------------------------------------------

#: Table -> the triggers that guard it.
TRIGGERS = {
    "outbox_effect": {"outbox_effect_guard"},
    "outbox_attempt": {"outbox_attempt_guard"},
    "outbox_lookup": {"outbox_lookup_frozen"},
    "outbox_verdict": {"outbox_verdict_frozen"},
    "outbox_repair": {"outbox_repair_frozen"},
    "outbox_remediation": {"outbox_remediation_guard"},
    "outbox_remediationstep": {"outbox_remediation_step_frozen"},
    "outbox_destinationpause": set(),
    "outbox_repairplan": {"outbox_repair_plan_frozen"},
}


def test_every_table_of_the_app_is_looked_at() -> None:
    assert TRIGGERS.keys() == PRIVILEGES.keys()


def test_every_rule_of_the_guards_is_attacked() -> None:
    assert set().union(*map(attacking.rules_in, FILES)) <= BY_APPLICATION.keys() | BY_OWNER.keys()


def test_every_named_constraint_is_attacked_or_stands_behind_one_that_is() -> None:
    named = attacking.named_constraints(list(TRIGGERS))

    assert named <= BY_APPLICATION.keys() | BEHIND_ANOTHER.keys()
    assert BEHIND_ANOTHER.keys() <= named


def test_the_live_triggers_are_these_and_all_are_on() -> None:
    assert attacking.live_triggers(list(TRIGGERS)) == TRIGGERS


def test_the_database_and_the_code_know_the_same_steps_of_an_effect() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM outbox_effect_steps()")
        live = set(cursor.fetchall())

    assert live == {(start.value, stop.value) for start, stop in LEGAL_STEPS}
