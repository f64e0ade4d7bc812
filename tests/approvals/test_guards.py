"""What the database refuses about artifacts, snapshots, decisions and standing approvals, attacked with plain SQL."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.core.management import call_command
from pytest_django import DjangoDbBlocker

import approvals
from approvals.privileges import PRIVILEGES
from runs import authority, catalog
from tests import attacking, cast
from tests.approvals.attacks import BEHIND_ANOTHER, BY_APPLICATION, BY_OWNER, NOT_ALLOWED, SQLSTATES
from tests.approvals.scene import scene_of_review
from tests.attacking import CHECK, attacks, refusal_of

pytestmark = pytest.mark.django_db

FILE = Path(approvals.__file__).parent / "sql" / "review_guards_v1.sql"


@pytest.fixture(scope="module")
def scene(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Committed: what `attacks` says, one effect, a standing approval in use and one that was revoked."""
    authority.forget()
    catalog.forget()
    with django_db_blocker.unblock():
        cast.workflow("refund")
        scene_of_review()
        yield
        call_command("flush", interactive=False, verbosity=0)
        authority.forget()
        catalog.forget()


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


@pytest.mark.parametrize("statement", NOT_ALLOWED)
def test_the_application_has_not_even_the_right(app_connection: psycopg.Connection, statement: str) -> None:
    assert refusal_of(app_connection, statement)[0] == attacking.NOT_ALLOWED


# ---- nothing forgotten -----------------------------------------------------------------------------------

#: Table -> the triggers that guard it, those of other apps included.
TRIGGERS = {
    "approvals_content": {"approvals_content_guard"},
    "approvals_artifact": {"approvals_artifact_frozen"},
    "approvals_destinationrevision": {"approvals_destination_frozen"},
    "approvals_snapshot": {"approvals_snapshot_guard", "outbox_payload_guard"},
    "approvals_decision": {"approvals_decision_guard"},
    "approvals_standingapproval": {"approvals_standing_guard"},
    "approvals_shown": set(),
}


def test_every_table_of_the_app_is_looked_at() -> None:
    assert TRIGGERS.keys() == PRIVILEGES.keys()


def test_every_rule_of_the_guards_is_attacked() -> None:
    assert attacking.rules_in(FILE) <= BY_APPLICATION.keys() | BY_OWNER.keys()


def test_every_named_constraint_is_attacked_or_stands_behind_one_that_is() -> None:
    named = attacking.named_constraints(list(TRIGGERS))

    assert named <= BY_APPLICATION.keys() | BEHIND_ANOTHER.keys()
    assert BEHIND_ANOTHER.keys() <= named


def test_the_live_triggers_are_these_and_all_are_on() -> None:
    assert attacking.live_triggers(list(TRIGGERS)) == TRIGGERS
